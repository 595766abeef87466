// The exact counter as a source, and the measurement of a sequence with a source that runs the
// regions itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/counters/source.h"
#include "harness/measure/measure.h"
#include "harness/report/json.h"
#include "harness/results/stage_record.h"
#include "tests/harness/far_return.h"

namespace topdnn {
namespace {

const SourceOffer* ExactOffer() {
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name == "exact") return &offer;
  }
  return nullptr;
}

std::unique_ptr<CounterSource> OpenExact() {
  const SourceOffer* offer = ExactOffer();
  return offer != nullptr && offer->probe().works ? offer->open() : nullptr;
}

volatile float float_sink = 1;

void Add(int times) {
  float x = float_sink;
  for (int i = 0; i < times; ++i) asm volatile("addss %0, %0" : "+x"(x));
  float_sink = x;
}

std::vector<EventCount> Count(CounterSource& source, void (*region)(void*)) {
  std::vector<std::uint64_t> before(source.slots());
  std::vector<std::uint64_t> after(source.slots());
  source.Read(before.data());
  source.Run(region, nullptr);
  source.Read(after.data());
  return source.Fold(before, after);
}

EventCount Find(const CounterSource& source, const std::vector<EventCount>& counts,
                std::string_view event) {
  const auto& events = source.events();
  const auto place = std::find(events.begin(), events.end(), event);
  return place == events.end() ? EventCount{}
                               : counts.at(static_cast<std::size_t>(place - events.begin()));
}

TEST(ExactSource, IsRegistered) {
  ASSERT_NE(ExactOffer(), nullptr);
#if defined(__x86_64__)
  EXPECT_TRUE(ExactOffer()->probe().works) << ExactOffer()->probe().reason;
#endif
}

#if defined(__x86_64__)

TEST(ExactSource, CountsWhatItRan) {
  const auto source = OpenExact();
  if (source == nullptr) GTEST_SKIP() << ExactOffer()->probe().reason;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto counts = Count(*source, [](void*) { Add(100); });
    EXPECT_EQ(Find(*source, counts, kFlopsEvent).value, 100.0);
    EXPECT_EQ(Find(*source, counts, "exact/FP_ARITH_INST_RETIRED.SCALAR_SINGLE").value, 100.0);
    EXPECT_GT(Find(*source, counts, "exact/instructions").value, 200.0);
  }
}

TEST(ExactSource, AnIncompleteCountIsAbsentWithItsReason) {
  const auto source = OpenExact();
  if (source == nullptr) GTEST_SKIP() << ExactOffer()->probe().reason;
  const auto counts = Count(*source, [](void*) {
    Add(10);
    FarReturn();
  });
  for (const EventCount& count : counts) {
    EXPECT_EQ(count.value, std::nullopt);
    EXPECT_EQ(count.running_fraction, 0.0);
    EXPECT_THAT(count.reason, testing::HasSubstr("cannot be translated"));
  }
  // The next region is counted completely again.
  EXPECT_EQ(Find(*source, Count(*source, [](void*) { Add(7); }), kFlopsEvent).value, 7.0);
}

TEST(ExactSource, AStageThatCannotBeTranslatedHasATimeButNoCount) {
  const auto source = OpenExact();
  if (source == nullptr) GTEST_SKIP() << ExactOffer()->probe().reason;
  auto whole = [] { Add(50); };
  auto broken = [] { FarReturn(); };
  const std::vector<TimedStage> stages = {{"whole", Action::Of(whole)},
                                          {"broken", Action::Of(broken)}};
  MeasureOptions options;
  options.iterations = 3;
  options.most_warmup_seconds = 0;
  options.sources = {source.get()};
  const SequenceSamples samples = MeasureSequence(stages, options);
  std::vector<Record> records;
  for (const StageSamples& stage : samples.stages) {
    records.push_back(RecordOf(stage, samples.events, {}, "in-network"));
    AddRunCounts(stage, samples.run_events, records.back());
    EXPECT_TRUE(records.back().seconds.has_value());
  }
  EXPECT_EQ(records[0].flops_counted, 50.0);
  EXPECT_EQ(records[0].counts_reason, "");
  EXPECT_EQ(records[1].flops_counted, std::nullopt);
  EXPECT_THAT(records[1].counts_reason, testing::HasSubstr("cannot be translated"));
  EXPECT_TRUE(ToJson(records[1])["flops_counted"].is_null());
  EXPECT_EQ(ToJson(records[0])["flops_counted"], 50);
  Record step = RecordOf(samples.step, samples.events, {}, "in-network");
  AddRunCounts(samples.step, samples.run_events, step);
  EXPECT_EQ(step.flops_counted, std::nullopt);
}

#endif

// Counts the regions that it ran, and reports 10 FLOPs for each.
class FakeRunner final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = flops_; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return {{.value = static_cast<double>(after[0] - before[0])}};
  }
  bool runs_region() const override { return true; }
  void Run(void (*region)(void*), void* context) override {
    region(context);
    flops_ += 10;
    ++runs;
  }

  int runs = 0;

 private:
  std::uint64_t flops_ = 0;
  std::vector<std::string> events_ = {std::string(kFlopsEvent)};
};

class FakeReader final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = ++readings_; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return {{.value = static_cast<double>(after[0] - before[0])}};
  }

 private:
  std::uint64_t readings_ = 0;
  std::vector<std::string> events_ = {"readings"};
};

TEST(MeasureWithARunner, CountsOneSeparateIteration) {
  int first = 0;
  int second = 0;
  auto a = [&] { ++first; };
  auto b = [&] { ++second; };
  const std::vector<TimedStage> stages = {{"a", Action::Of(a)}, {"b", Action::Of(b)}};
  FakeRunner runner;
  FakeReader reader;
  MeasureOptions options;
  options.iterations = 5;
  options.most_warmup_seconds = 0;
  options.sources = {&runner, &reader};
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(runner.runs, 2);
  EXPECT_EQ(samples.events, std::vector<std::string>{"readings"});
  EXPECT_EQ(samples.run_events, std::vector<std::string>{std::string(kFlopsEvent)});
  EXPECT_EQ(samples.stages[0].seconds.size(), 5U);
  EXPECT_EQ(samples.stages[0].counts.size(), 5U);
  ASSERT_EQ(samples.stages[1].run_counts.size(), 1U);
  EXPECT_EQ(samples.stages[1].run_counts[0].value, 10.0);
  EXPECT_EQ(samples.step.run_counts[0].value, 20.0);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, static_cast<int>(samples.warmup.iterations) + 5 + 5 + 1);
}

}  // namespace
}  // namespace topdnn
