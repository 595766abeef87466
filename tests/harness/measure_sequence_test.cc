#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "harness/measure/mark_overhead.h"
#include "harness/measure/measure.h"
#include "harness/results/stage_record.h"
#include "harness/text/errors.h"
#include "tests/harness/measure_fixture.h"

namespace {

std::atomic<std::int64_t> allocations = 0;

void* Allocate(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The program's allocation functions, counted.
void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
// std::stable_partition allocates its buffer with this function.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace topdnn {
namespace {

TEST_F(MeasureTest, TimesAndCountsAreThoseOfTheStages) {
  const SequenceSamples samples = MeasureSequence(stages, options);
  ASSERT_EQ(samples.stages.size(), 2u);
  ASSERT_EQ(samples.stages[0].seconds.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_DOUBLE_EQ(samples.stages[0].seconds[i], 100e-9);
    EXPECT_DOUBLE_EQ(samples.stages[1].seconds[i], 300e-9);
    EXPECT_DOUBLE_EQ(samples.step.seconds[i], 400e-9);
  }
  EXPECT_EQ(samples.events, (std::vector<std::string>{"work", "never"}));
  ASSERT_EQ(samples.stages[0].counts.size(), 40u);
  EXPECT_EQ(samples.stages[0].counts[0].value, 3.0);
  EXPECT_EQ(samples.stages[1].counts[38].value, 5.0);
  EXPECT_EQ(samples.step.counts[0].value, 8.0);
  EXPECT_TRUE(samples.warmup.steady);
  EXPECT_EQ(samples.warmup.iterations, kMinWarmup);
  EXPECT_NEAR(samples.warmup.seconds, kMinWarmup * 400e-9, 1e-15);
  EXPECT_EQ(a.runs, kMinWarmup + 20 + 20);
  EXPECT_FALSE(samples.cancelled);
  EXPECT_EQ(samples.clock, "fake");
}

TEST_F(MeasureTest, RecordsHaveMeansAndAbsentValues) {
  const SequenceSamples samples = MeasureSequence(stages, options);
  const Record record = RecordOf(samples.stages[1], samples.events, {}, "in-network");
  EXPECT_EQ(record.name, "b");
  EXPECT_EQ(record.regime, "in-network");
  // The fake source counts half of the time.
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_NE(record.reason.find("work was on a counter for 50 %"), std::string::npos);
  ASSERT_TRUE(record.seconds);
  EXPECT_DOUBLE_EQ(record.seconds->median, 300e-9);
  EXPECT_EQ(record.seconds->n, 20);
  EXPECT_EQ(record.samples, samples.stages[1].seconds);
  EXPECT_EQ(record.events.at("work"), 5.0);
  EXPECT_EQ(record.events.at("never"), std::nullopt);
  EXPECT_EQ(record.running_fraction, 0.5);
  const Record empty = RecordOf({.name = "b", .seconds = {}, .counts = {}}, {}, {}, "in-network");
  EXPECT_EQ(empty.status, Status::kSkipped);
  EXPECT_FALSE(empty.reason.empty());
  EXPECT_FALSE(empty.seconds);
}

TEST(RecordTest, KeepsAThousandSamples) {
  StageSamples samples;
  for (int i = 0; i < 2500; ++i) samples.seconds.push_back(1e-3 + 1e-9 * i);
  const Record record = RecordOf(samples, {}, {}, "in-network");
  ASSERT_EQ(record.samples.size(), kMostSamples);
  EXPECT_EQ(record.samples[2], samples.seconds[5]);
  EXPECT_EQ(record.samples.back(), samples.seconds[2497]);
  EXPECT_EQ(record.seconds->n, 2500);
}

TEST_F(MeasureTest, TheBudgetBoundsTheIterations) {
  options.iterations.reset();
  options.seconds = 10 * 400e-9;
  options.least_iterations = 3;
  EXPECT_EQ(MeasureSequence(stages, options).step.seconds.size(), 10u);
  options.least_iterations = 15;
  EXPECT_EQ(MeasureSequence(stages, options).step.seconds.size(), 15u);
  options.seconds = 1;
  options.most_iterations = 17;
  EXPECT_EQ(MeasureSequence(stages, options).step.seconds.size(), 17u);
}

TEST_F(MeasureTest, AWarmUpThatIsNeverSteadyIsBoundedAndMarked) {
  auto slower = [this] { fake_now += 100 * static_cast<std::uint64_t>(++a.runs); };
  const std::array<TimedStage, 1> rising = {{{"slower", Action::Of(slower)}}};
  options.most_warmup_iterations = 30;
  options.sources.clear();
  const SequenceSamples samples = MeasureSequence(rising, options);
  EXPECT_FALSE(samples.warmup.steady);
  EXPECT_EQ(samples.warmup.iterations, 30u);
  EXPECT_EQ(samples.step.seconds.size(), 20u);
}

TEST_F(MeasureTest, TheHookRunsOncePerIterationAndIsNotTimed) {
  std::int64_t hooks = 0;
  auto hook = [&] {
    ++hooks;
    fake_now += 1'000'000;
  };
  options.before_iteration = Action::Of(hook);
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(hooks, a.runs);
  EXPECT_NEAR(samples.step.seconds[0], 400e-9, 1e-15);
}

TEST_F(MeasureTest, CancellingKeepsCompleteIterations) {
  std::atomic<bool> cancel = false;
  auto stop = [&] {
    fake_now += 10;
    if (a.runs == kMinWarmup + 5) cancel = true;
  };
  stages.push_back({"stop", Action::Of(stop)});
  options.cancel = &cancel;
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_TRUE(samples.cancelled);
  EXPECT_EQ(samples.step.seconds.size(), 5u);
  EXPECT_EQ(samples.stages[2].seconds.size(), 5u);
  EXPECT_TRUE(samples.stages[0].counts.empty());
  cancel = true;
  EXPECT_TRUE(MeasureSequence(stages, options).step.seconds.empty());
  EXPECT_FALSE(MeasureMarkOverhead(stages, options));
}

TEST_F(MeasureTest, MeasuredIterationsAllocateNothing) {
  std::array<std::int64_t, 64> seen{};
  std::size_t hooks = 0;
  auto hook = [&] { seen.at(hooks++) = allocations.load(); };
  options.before_iteration = Action::Of(hook);
  options.most_warmup_iterations = 1;
  options.most_counted_iterations = 10;
  MeasureSequence(stages, options);
  ASSERT_EQ(hooks, 1u + 20 + 10);
  EXPECT_GT(seen[1], seen[0]);  // the counting works: the warm-up's checks allocate
  for (std::size_t i = 2; i <= 20; ++i) EXPECT_EQ(seen[i], seen[1]) << i;
  for (std::size_t i = 22; i <= 30; ++i) EXPECT_EQ(seen[i], seen[21]) << i;
}

TEST_F(MeasureTest, IsolatedRunsSetUpOnceAndFlushesEachTime) {
  std::int64_t setups = 0;
  std::int64_t flushes = 0;
  auto setup = [&] { ++setups; };
  auto flush = [&] {
    ++flushes;
    fake_now += 5000;
  };
  options.sources.clear();
  const SequenceSamples hot = MeasureIsolatedHot(stages[0], Action::Of(setup), options);
  EXPECT_EQ(setups, 1);
  EXPECT_EQ(hot.stages[0].seconds.size(), 20u);
  a.runs = 0;
  const SequenceSamples cold =
      MeasureIsolatedCold(stages[0], Action::Of(setup), Action::Of(flush), options);
  EXPECT_EQ(setups, 2);
  EXPECT_EQ(flushes, a.runs);
  EXPECT_NEAR(cold.stages[0].seconds[0], 100e-9, 1e-15);
}

TEST_F(MeasureTest, UsesTheCallersProbes) {
  double hertz = 3e9;
  double rate = 95e9;
  options.core_hertz = [&] { return std::optional(hertz -= 0.5e9); };
  options.speeds = [&](bool) { return QuietReading{rate -= 2e9, 50e9}; };
  options.best_speeds = {100e9, 80e9};
  const Disturbance seen = MeasureSequence(stages, options).disturbance;
  EXPECT_EQ(seen.core_hertz_before, 2.5e9);
  EXPECT_EQ(seen.core_hertz_after, 2.0e9);
  EXPECT_DOUBLE_EQ(*seen.arithmetic_ratio, 0.91);  // the lower of the two
  EXPECT_DOUBLE_EQ(*seen.memory_ratio, 0.625);
  EXPECT_EQ(seen.iterations, 20);
  EXPECT_NEAR(seen.seconds, 20 * 400e-9, 1e-12);
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
}

// The pace is read before and after each iteration, 40 times. In every fourth iteration the first
// reading is slow, in every fourth the second.
TEST_F(MeasureTest, TheSlowerPaceOfBothEndsBelongsToTheSample) {
  int readings = 0;
  options.pace = PaceReader{.instructions_per_second =
                                [&] {
                                  ++readings;
                                  return readings % 8 == 3 || readings % 8 == 0 ? 500.0 : 1000.0;
                                },
                            .cost_seconds = 1e-9};
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(readings, 40);
  ASSERT_EQ(samples.step.pace.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(samples.step.pace[i], i % 2 == 1 ? 500 : 1000) << i;
    EXPECT_EQ(samples.stages[1].pace[i], samples.step.pace[i]);
  }
  EXPECT_EQ(samples.step.selection.kept.size(), 10u);
  EXPECT_EQ(FullPace(samples), 1000);
}

TEST_F(MeasureTest, ProgressHasPhasesAndStaysInBounds) {
  std::vector<std::string> phases;
  options.progress = [&](const MeasureProgress& progress) {
    phases.emplace_back(progress.phase);
    EXPECT_GE(progress.share, 0);
    EXPECT_LE(progress.share, 1);
  };
  MeasureSequence(stages, options);
  EXPECT_EQ(phases, (std::vector<std::string>{"warm-up", "timing", "counting"}));
}

TEST_F(MeasureTest, RefusesInvalidSequencesAndOptions) {
  EXPECT_THROW(MeasureSequence({}, options), InputError);
  const std::array<TimedStage, 1> hollow = {{{"hollow", {}}}};
  EXPECT_THROW(MeasureSequence(hollow, options), InputError);
  options.iterations = 0;
  EXPECT_THROW(MeasureSequence(stages, options), InputError);
  options.iterations = std::int64_t{1} << 40;
  EXPECT_THROW(MeasureSequence(stages, options), InputError);
}

// Each reading of the clock takes 10 ns.
TEST_F(MeasureTest, TheOverheadIsThatOfTheInnerMarks) {
  options.clock->now = []() noexcept { return fake_now += 10; };
  const auto overhead = MeasureMarkOverhead(stages, options);
  ASSERT_TRUE(overhead);
  // without inner marks: 400 + the last mark; with them: one more mark
  EXPECT_NEAR(overhead->ratio, 10.0 / 410, 1e-12);
  ASSERT_TRUE(overhead->interval);
  EXPECT_NEAR(overhead->interval->low, 10.0 / 410, 1e-12);
  EXPECT_NEAR(overhead->interval->high, 10.0 / 410, 1e-12);
  EXPECT_EQ(overhead->pairs, 20);
  EXPECT_EQ(a.runs, 40);
}

TEST(OverheadTest, AnIntervalNeedsSixPairs) {
  const std::array<double, 6> with = {11, 12, 10, 11, 30, 13};
  const std::array<double, 6> without = {10, 10, 10, 10, 10, 10};
  const MarkOverhead overhead = OverheadOf(with, without);
  EXPECT_NEAR(overhead.ratio, 0.15, 1e-12);  // between 1.1 and 1.2
  ASSERT_TRUE(overhead.interval);
  EXPECT_NEAR(overhead.interval->low, 0, 1e-12);  // 6 pairs: the smallest and the largest
  EXPECT_NEAR(overhead.interval->high, 2, 1e-12);
  EXPECT_FALSE(OverheadOf(std::span(with).first(5), std::span(without).first(5)).interval);
  EXPECT_FALSE(OverheadOf(std::span(with).first(1), std::span(without).first(1)).interval);
  EXPECT_THROW(OverheadOf({}, {}), std::invalid_argument);
}

// Two threads that each count 500 in a region. A reading adds 1000 to the second thread, which
// waits for it, and 10 to the first.
class TwoThreads final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 3; }
  void Read(std::uint64_t* raw) noexcept override {
    raw[0] = first_ += 10;
    raw[1] = second_ += 1000;
    raw[2] = regions_;
  }
  // In every other region neither thread is on a counter.
  std::vector<ThreadCounts> FoldThreads(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after) const override {
    std::vector<ThreadCounts> threads;
    for (std::size_t t = 0; t < 2; ++t) {
      const bool counted = !starved || after[2] == before[2] || after[2] % 2 == 0;
      threads.push_back(
          {static_cast<int>(t),
           {counted ? EventCount{static_cast<double>(after[t] - before[t]), 1.0} : AbsentCount()}});
    }
    return threads;
  }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    const auto threads = FoldThreads(before, after);
    EventCount sum = threads[0].counts[0];
    if (sum.value) *sum.value += *threads[1].counts[0].value;
    return {sum};
  }
  void Work() {
    first_ += 500;
    second_ += 500;
    ++regions_;
  }
  bool starved = false;

 private:
  std::uint64_t first_ = 0, second_ = 0, regions_ = 0;
  std::vector<std::string> events_ = {"work"};
};

TEST_F(MeasureTest, EachThreadExcludesItsOwnReadings) {
  TwoThreads threads;
  auto work = [&] {
    fake_now += 100;
    threads.Work();
  };
  const std::array<TimedStage, 1> one = {{{"work", Action::Of(work)}}};
  options.sources = {&threads};
  const SequenceSamples samples = MeasureSequence(one, options);
  const Record record = RecordOf(samples.stages[0], samples.events, {}, "");
  EXPECT_EQ(record.events.at("work"), 1000);
  ASSERT_EQ(record.thread_events.size(), 2u);
  EXPECT_EQ(record.thread_events.at(0).at("work"), 500);
  EXPECT_EQ(record.thread_events.at(1).at("work"), 500);
}

TEST_F(MeasureTest, IterationsThatWereNeverCountedAreScaledOnce) {
  TwoThreads threads;
  threads.starved = true;
  auto work = [&] {
    fake_now += 100;
    threads.Work();
  };
  const std::array<TimedStage, 1> one = {{{"work", Action::Of(work)}}};
  options.sources = {&threads};
  SequenceSamples samples = MeasureSequence(one, options);
  const Record counted = RecordOf(samples.stages[0], samples.events, {}, "");
  EXPECT_EQ(counted.events.at("work"), 500);  // of half the time
  EXPECT_EQ(counted.running_fraction, 0.5);
  EXPECT_NE(counted.reason.find("50 % of the time and is not scaled"), std::string::npos);
  ScaleCounts(samples.stages[0]);
  const Record scaled = RecordOf(samples.stages[0], samples.events, {}, "");
  EXPECT_EQ(scaled.events.at("work"), 1000);
  EXPECT_EQ(scaled.thread_events.at(0).at("work"), 500);
  EXPECT_EQ(scaled.thread_events.at(1).at("work"), 500);
  EXPECT_NE(scaled.reason.find("50 % of the time and is scaled"), std::string::npos);
}

TEST_F(MeasureTest, AnIterationWithABackwardClockIsOmitted) {
  options.sources.clear();
  options.most_warmup_iterations = 1;
  auto step_back = [&] {
    // the third and the eighth timed iteration
    if (b.runs == 1 + 3 || b.runs == 1 + 8) fake_now -= 1'000'000;
  };
  stages.push_back({"step back", Action::Of(step_back)});
  fake_now += 100'000'000;
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_EQ(samples.step.left_out, 2);
  ASSERT_EQ(samples.step.seconds.size(), 18u);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_NEAR(samples.step.seconds[i], 400e-9, 1e-15);
  const Record record = RecordOf(samples.stages[0], {}, {}, "");
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_EQ(record.reason, "the clock went backwards in 2 of 20 iterations, which are omitted");
}

TEST_F(MeasureTest, AClockThatAlwaysGoesBackGivesNoTime) {
  options.sources.clear();
  options.most_warmup_iterations = 1;
  auto step_back = [&] { fake_now -= 1000; };
  const std::array<TimedStage, 1> one = {{{"step back", Action::Of(step_back)}}};
  fake_now += 100'000'000;
  const Record record = RecordOf(MeasureSequence(one, options).step, {}, {}, "");
  EXPECT_EQ(record.status, Status::kInvalid);
  EXPECT_EQ(record.reason, "the clock went backwards in each of 20 iterations");
  EXPECT_FALSE(record.seconds);
  EXPECT_FALSE(MeasureMarkOverhead(one, options));
}

TEST_F(MeasureTest, TheQuietCheckRunsBeforeTheWarmUpAndAfterTheTiming) {
  options.sources.clear();
  std::vector<std::int64_t> runs;
  options.speeds = [&](bool) {
    runs.push_back(a.runs);
    return QuietReading{1, 1};
  };
  const SequenceSamples samples = MeasureSequence(stages, options);
  const auto warmup = static_cast<std::int64_t>(samples.warmup.iterations);
  EXPECT_EQ(runs, (std::vector<std::int64_t>{0, warmup + 20}));
}

TEST_F(MeasureTest, AWarmUpLastsItsMinimumTime) {
  options.sources.clear();
  options.least_warmup_seconds = 100 * 400e-9;
  const SequenceSamples samples = MeasureSequence(stages, options);
  EXPECT_TRUE(samples.warmup.steady);
  EXPECT_EQ(samples.warmup.iterations, 100u);
}

}  // namespace
}  // namespace topdnn
