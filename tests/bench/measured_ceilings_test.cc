#include "bench/machine/measured_ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "bench/profile/plan_profile.h"
#include "bench/workload/workload.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

Ceiling Made(const char* isa, const char* type, double value, Status status = Status::kOk) {
  Ceiling ceiling;
  ceiling.name = std::string("fma/") + isa + "/" + type + "/l1";
  ceiling.isa = isa;
  ceiling.type = type;
  ceiling.operands = "l1";
  ceiling.value = value;
  ceiling.verdict = {status, status == Status::kOk ? "" : "by hand"};
  return ceiling;
}

TEST(CeilingOfKernel, OfU8IsTheCeilingOfS8) {
  const std::vector<Ceiling> ceilings = {Made("avx512", "f32", 1), Made("avx512_vnni", "s8", 4)};
  for (const DataType type : {DataType::kU8, DataType::kS8}) {
    const Ceiling* ceiling = CeilingOfKernel(ceilings, "avx512", type, 1);
    ASSERT_NE(ceiling, nullptr);
    EXPECT_EQ(ceiling->value, 4);
  }
  EXPECT_EQ(CeilingOfKernel(ceilings, "avx512", DataType::kF32, 1)->value, 1);
  EXPECT_EQ(CeilingOfKernel(ceilings, "", DataType::kF32, 1), nullptr);
  EXPECT_EQ(CeilingOfKernel(ceilings, "avx512", DataType::kF32, 2), nullptr);
}

// What a report compares a stage with is measured, and nothing else but bandwidths.
TEST(NeedsCeiling, IncludesEveryCeilingThatAReportNames) {
  WorkloadOptions options;
  options.network = "lenet5";
  options.backend = "onednn";
  options.batch = 2;
  options.threads = 1;
  const Workload workload = MakeWorkload(options, /*training=*/false);
  const auto needed = [&](const Ceiling& ceiling) { return NeedsCeiling(*workload.plan, ceiling); };
  const std::vector<std::string> named = CeilingNamesOf(*workload.plan, MeasureCeilings(1, 0.02));
  for (const Ceiling& ceiling : MeasureCeilings(1, 0.02, needed)) {
    const bool bandwidth = ceiling.unit == "B/s";
    const bool arithmetic = ceiling.type == "f32" && ceiling.operands == "l1";
    EXPECT_TRUE(!ceiling.value || bandwidth || arithmetic) << ceiling.name;
    if (!ceiling.value) {
      EXPECT_EQ(ceiling.verdict.status, Status::kSkipped) << ceiling.name;
      EXPECT_NE(ceiling.verdict.reason, "") << ceiling.name;
    }
    if (std::find(named.begin(), named.end(), ceiling.name) != named.end()) {
      EXPECT_TRUE(ceiling.value) << ceiling.name;
    }
  }
}

TEST(HoldTo, GivesNoShareOfAnInvalidCeiling) {
  Record record;
  record.seconds = Summary{.median = 1, .min = 1, .p90 = 1, .n = 1};
  record.flops = 50;
  const Ceiling good = Made("avx2", "f32", 100, Status::kDegraded);
  HoldTo(&good, record);
  ASSERT_TRUE(record.PeakFraction());
  EXPECT_DOUBLE_EQ(*record.PeakFraction(), 0.5);
  EXPECT_EQ(record.ceiling_verdict, (Verdict{Status::kDegraded, "by hand"}));
  record.ceiling_flops_per_second.reset();
  const Ceiling bad = Made("avx2", "f32", 100, Status::kInvalid);
  HoldTo(&bad, record);
  EXPECT_FALSE(record.PeakFraction());
  EXPECT_EQ(record.ceiling_name, bad.name);
  EXPECT_EQ(record.ceiling_verdict.status, Status::kInvalid);
}

TEST(Forget, RemovesTheCachesAndListsThem) {
  const TestFolder home;
  ASSERT_EQ(setenv("XDG_CACHE_HOME", home.path().c_str(), 1), 0);
  const auto best = home.Write("topdnn/best.json", "{}");
  const auto selection = home.Write("topdnn/selection.json", "{}");
  const auto other = home.Write("topdnn/other", "");
  const Outcome first = RunProgram({"forget"});
  EXPECT_EQ(first.exit_status, 0);
  EXPECT_THAT(first.output, HasSubstr("removed " + best.string()));
  EXPECT_THAT(first.output, HasSubstr("removed " + selection.string()));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_THAT(RunProgram({"forget"}).output, HasSubstr("nothing to forget"));
}

}  // namespace
}  // namespace topdnn
