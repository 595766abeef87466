// Verdicts on counters with known faults, and on the exact counter.

#include "harness/report/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace topdnn {
namespace {

ValidationCase CaseOf(double known, std::optional<double> exact, std::optional<double> pmu) {
  ValidationCase c;
  c.name = "case";
  c.quantity = "instructions";
  c.known = known;
  c.exact = exact;
  c.pmu = pmu;
  c.pmu_allowance = {0.01, 0, "interrupts"};
  Judge(c);
  return c;
}

TEST(Judge, OneInstructionTooManyIsWrong) {
  EXPECT_EQ(CaseOf(1000, 1000, std::nullopt).verdict, Status::kOk);
  const ValidationCase wrong = CaseOf(1000, 1001, std::nullopt);
  EXPECT_EQ(wrong.verdict, Status::kFailed);
  EXPECT_EQ(wrong.reason, "the exact count differs by +1");
}

TEST(Judge, ThePmuHasItsOwnAllowance) {
  EXPECT_EQ(CaseOf(1000, 1000, 1010).verdict, Status::kOk);
  EXPECT_EQ(CaseOf(1000, 1000, 989).verdict, Status::kFailed);
  EXPECT_EQ(CaseOf(1000, std::nullopt, 1010).verdict, Status::kOk);
}

TEST(Judge, WithoutACountThereIsNoAgreement) {
  const ValidationCase none = CaseOf(1000, std::nullopt, std::nullopt);
  EXPECT_EQ(none.verdict, Status::kSkipped);
  EXPECT_NE(none.reason, "");
}

TEST(Judge, AnIncompleteCountIsInvalidEvenIfThePmuAgrees) {
  ValidationCase c;
  c.known = 10;
  c.pmu = 10;
  c.verdict = Status::kInvalid;
  c.reason = "a worker left translation";
  Judge(c);
  EXPECT_EQ(c.verdict, Status::kInvalid);
  EXPECT_EQ(c.reason, "a worker left translation");
}

TEST(KnownCounts, OfABranchFollowTheData) {
  const Probe* probe = FindProbe("branch/random");
  if (probe == nullptr) GTEST_SKIP() << "this architecture has no probes";
  ProbeBuffers buffers(8192);
  std::memset(buffers.memory.get(), 0, 8192);
  buffers.memory[5] = std::byte{1};
  auto known = KnownCounts(*probe, buffers, 5, 1);
  EXPECT_EQ(known["exact/instructions"], 7);
  EXPECT_EQ(known["exact/conditional_taken"], 1);
  known = KnownCounts(*probe, buffers, 6, 10);
  EXPECT_EQ(known["exact/instructions"], 60);
  EXPECT_EQ(known["exact/conditional_taken"], 20);
}

// A source that runs the region and reports the same count for everything.
class Liar final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = runs_; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return std::vector<EventCount>(events_.size(),
                                   {.value = static_cast<double>(after[0] - before[0])});
  }
  bool runs_region() const override { return true; }
  void Run(void (*region)(void*), void* context) override {
    region(context);
    ++runs_;
  }

 private:
  std::uint64_t runs_ = 0;
  std::vector<std::string> events_ = {"exact/instructions", "exact/loads"};
};

TEST(ValidateProbe, CatchesASourceThatCountsNothing) {
  const Probe* probe = FindProbe("chase");
  if (probe == nullptr) GTEST_SKIP() << "this architecture has no probes";
  Liar liar;
  int failed = 0;
  for (const ValidationCase& c : ValidateProbe(*probe, {&liar, nullptr})) {
    if (c.quantity == "instructions" || c.quantity == "loads") {
      EXPECT_EQ(c.verdict, Status::kFailed) << c.quantity;
      ++failed;
    } else {
      EXPECT_EQ(c.verdict, Status::kSkipped) << c.quantity;
    }
  }
  EXPECT_EQ(failed, 2);
}

// A PMU that counts rightly, but in its second call only for a part of the time.
class PartOfTheTime final : public CounterSource {
 public:
  PartOfTheTime(double instructions, double part) : instructions_(instructions), part_(part) {}
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = 0; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t>,
                               std::span<const std::uint64_t>) const override {
    if (++calls_ == 1) return {{.value = 0.0}};
    return {{.value = part_ * instructions_, .running_fraction = part_}};
  }

 private:
  double instructions_, part_;
  mutable int calls_ = 0;
  std::vector<std::string> events_ = {"instructions:u"};
};

TEST(ValidateProbe, ACountOfAPartOfTheTimeIsInvalid) {
  const Probe* probe = FindProbe("branch/taken");
  if (probe == nullptr) GTEST_SKIP() << "this architecture has no probes";
  const auto judged = [probe](double part) {
    PartOfTheTime pmu(20'000 * 6, part);  // six instructions in each of 20,000 iterations
    for (const ValidationCase& c : ValidateProbe(*probe, {nullptr, &pmu})) {
      if (c.quantity == "instructions") return c;
    }
    return ValidationCase();
  };
  EXPECT_EQ(judged(1).verdict, Status::kOk);
  const ValidationCase half = judged(0.5);
  EXPECT_EQ(half.verdict, Status::kInvalid);
  EXPECT_FALSE(half.pmu);
  EXPECT_EQ(half.reason, "the PMU: not counted completely: on a counter for 50.0 % of the time");
}

TEST(ValidateProbe, WithoutASourceEveryCaseIsSkipped) {
  const Probe* probe = FindProbe("chase");
  if (probe == nullptr) GTEST_SKIP() << "this architecture has no probes";
  const auto cases = ValidateProbe(*probe, {});
  EXPECT_FALSE(cases.empty());
  for (const ValidationCase& c : cases) EXPECT_EQ(c.verdict, Status::kSkipped);
}

class ExactOnProbe : public testing::TestWithParam<std::string> {};

TEST_P(ExactOnProbe, AgreesToTheInstruction) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's own code runs other branches from call to call";
#endif
  const Probe* probe = FindProbe(GetParam());
  ASSERT_NE(probe, nullptr);
  const std::string absent = WhyAbsent(*probe, MachineIsas());
  if (!absent.empty()) GTEST_SKIP() << absent;
  std::unique_ptr<CounterSource> exact;
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name == "exact" && offer.probe().works) exact = offer.open();
  }
  if (exact == nullptr) GTEST_SKIP() << "the exact counter does not work on this machine";
  for (const ValidationCase& c : ValidateProbe(*probe, {exact.get(), nullptr})) {
    EXPECT_EQ(c.verdict, Status::kOk) << c.quantity << ": " << c.reason;
    EXPECT_EQ(c.exact, c.known) << c.quantity;
  }
}

std::vector<std::string> ProbeNames() {
  std::vector<std::string> names;
  for (const Probe& probe : Probes()) names.push_back(probe.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Probes, ExactOnProbe, testing::ValuesIn(ProbeNames()),
                         [](const testing::TestParamInfo<std::string>& probe) {
                           std::string name = probe.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExactOnProbe);

TEST(ValidationText, ShowsAbsentCountsWithTheReason) {
  ValidationCase skipped;
  skipped.name = "fma/amx";
  skipped.quantity = "all";
  skipped.reason = "no AMX";
  ValidationCase differs = CaseOf(1000, 999, std::nullopt);
  differs.name = "fma/avx2";
  differs.quantity = "fp64";
  EXPECT_EQ(ValidationText({skipped, differs}, {.unicode = false, .width = 80}),
            "case      quantity  known  exact  PMU   ratio  verdict\n"
            "fma/amx   all         n/a    n/a  n/a     n/a  SKIPPED (no AMX)\n"
            "fma/avx2  fp64       1000    999  n/a  0.9990  FAILED (the exact count differs\n"
            "                                               by -1)\n");
  const auto json = ToJson(skipped);
  EXPECT_TRUE(json["exact"].is_null());
  EXPECT_TRUE(json["ratio"].is_null());
  EXPECT_EQ(json["verdict"], "SKIPPED");
}

TEST(ValidationJson, IsReadBackAsItWasWritten) {
  for (ValidationCase c : {CaseOf(1000, 999, std::nullopt), CaseOf(5, 5, 5), CaseOf(1, {}, {})}) {
    c.exact_allowance = {0.25, 3, "edges"};
    const ValidationCase back = ValidationCaseOf(ToJson(c));
    EXPECT_EQ(back.name, c.name);
    EXPECT_EQ(back.quantity, c.quantity);
    EXPECT_EQ(back.known, c.known);
    EXPECT_EQ(back.exact, c.exact);
    EXPECT_EQ(back.pmu, c.pmu);
    EXPECT_EQ(back.exact_allowance.relative, 0.25);
    EXPECT_EQ(back.exact_allowance.absolute, 3);
    EXPECT_EQ(back.exact_allowance.reason, "edges");
    EXPECT_EQ(back.verdict, c.verdict);
    EXPECT_EQ(back.reason, c.reason);
  }
  EXPECT_ANY_THROW(ValidationCaseOf({{"case", "no more"}}));
}

}  // namespace
}  // namespace topdnn
