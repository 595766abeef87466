#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "harness/measure.h"

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
// (std::stable_partition asks for its buffer this way)
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

// Time that only the stages move, in nanoseconds.
std::uint64_t fake_now = 0;
TickClock FakeClock() {
  return {.name = "fake", .now = []() noexcept { return fake_now; }, .seconds_per_tick = 1e-9};
}

// Counts what the stages add to it.
class FakeSource final : public CounterSource {
 public:
  std::string_view name() const override { return "fake"; }
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 2; }
  void Read(std::uint64_t* raw) noexcept override {
    raw[0] = work;
    raw[1] = 7;
  }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return {{.value = static_cast<double>(after[0] - before[0]), .running_fraction = 0.5},
            {.value = std::nullopt, .running_fraction = 0}};
  }
  std::uint64_t work = 0;

 private:
  std::vector<std::string> events_ = {"work", "never"};
};

struct Toy {
  FakeSource* source;
  std::uint64_t nanoseconds;
  std::uint64_t work;
  std::int64_t runs = 0;
  void operator()() {
    ++runs;
    fake_now += nanoseconds;
    source->work += work;
  }
};

class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() {
    options.clock = FakeClock();
    options.iterations = 20;
    options.sources = {&source};
  }
  FakeSource source;
  Toy a{&source, 100, 3};
  Toy b{&source, 300, 5};
  std::vector<TimedStage> stages = {{"a", Action::Of(a)}, {"b", Action::Of(b)}};
  MeasureOptions options;
};

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
  EXPECT_EQ(samples.warmup.iterations, 12u);
  EXPECT_NEAR(samples.warmup.seconds, 12 * 400e-9, 1e-15);
  EXPECT_EQ(a.runs, 12 + 20 + 20);
  EXPECT_FALSE(samples.cancelled);
  EXPECT_EQ(samples.clock, "fake");
}

TEST_F(MeasureTest, RecordsCarryMeansAndAbsence) {
  const SequenceSamples samples = MeasureSequence(stages, options);
  const Record record = RecordOf(samples.stages[1], samples.events, {}, "in-network");
  EXPECT_EQ(record.name, "b");
  EXPECT_EQ(record.regime, "in-network");
  // (the fake source counts half of the time)
  EXPECT_EQ(record.status, Status::kDegraded);
  EXPECT_NE(record.reason.find("work was on a counter for 50 %"), std::string::npos);
  ASSERT_TRUE(record.seconds);
  EXPECT_DOUBLE_EQ(record.seconds->median, 300e-9);
  EXPECT_EQ(record.seconds->n, 20);
  EXPECT_EQ(record.events.at("work"), 5.0);
  EXPECT_EQ(record.events.at("never"), std::nullopt);
  EXPECT_EQ(record.running_fraction, 0.5);
  const Record empty = RecordOf({.name = "b", .seconds = {}, .counts = {}}, {}, {}, "in-network");
  EXPECT_EQ(empty.status, Status::kSkipped);
  EXPECT_FALSE(empty.reason.empty());
  EXPECT_FALSE(empty.seconds);
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

TEST_F(MeasureTest, AWarmUpThatNeverSettlesIsBoundedAndSaysSo) {
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

TEST_F(MeasureTest, CancellingKeepsWholeIterations) {
  std::atomic<bool> cancel = false;
  auto stop = [&] {
    fake_now += 10;
    if (a.runs == 12 + 5) cancel = true;
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
  EXPECT_GT(seen[1], seen[0]);  // the count works: the warm-up's judgement allocates
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

TEST_F(MeasureTest, WatchesWhatTheCallerSupplies) {
  double hertz = 3e9;
  double ratio = 0.95;
  options.core_hertz = [&] { return std::optional(hertz -= 0.5e9); };
  options.quiet_ratio = [&] { return std::optional(ratio -= 0.02); };
  const Disturbance seen = MeasureSequence(stages, options).disturbance;
  EXPECT_EQ(seen.core_hertz_before, 2.5e9);
  EXPECT_EQ(seen.core_hertz_after, 2.0e9);
  EXPECT_DOUBLE_EQ(*seen.quiet_ratio, 0.91);  // the worse of the two
  EXPECT_EQ(seen.iterations, 20);
  EXPECT_NEAR(seen.seconds, 20 * 400e-9, 1e-12);
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
}

TEST_F(MeasureTest, ProgressNamesItsPhasesAndStaysInBounds) {
  std::vector<std::string> phases;
  options.progress = [&](const MeasureProgress& progress) {
    phases.emplace_back(progress.phase);
    EXPECT_GE(progress.share, 0);
    EXPECT_LE(progress.share, 1);
  };
  MeasureSequence(stages, options);
  EXPECT_EQ(phases, (std::vector<std::string>{"warm-up", "timing", "counting"}));
}

TEST_F(MeasureTest, RefusesWhatCannotBeMeasured) {
  EXPECT_THROW(MeasureSequence({}, options), MeasureError);
  const std::array<TimedStage, 1> hollow = {{{"hollow", {}}}};
  EXPECT_THROW(MeasureSequence(hollow, options), MeasureError);
  options.iterations = 0;
  EXPECT_THROW(MeasureSequence(stages, options), MeasureError);
  options.iterations = std::int64_t{1} << 40;
  EXPECT_THROW(MeasureSequence(stages, options), MeasureError);
}

// A clock whose reading costs 10 ns.
TEST_F(MeasureTest, OverheadIsThatOfTheInnerMarks) {
  options.clock->now = []() noexcept { return fake_now += 10; };
  const auto overhead = MeasureMarkOverhead(stages, options);
  ASSERT_TRUE(overhead);
  // bare: 400 + the last mark; marked: one inner mark more
  EXPECT_NEAR(overhead->ratio, 10.0 / 410, 1e-12);
  EXPECT_NEAR(overhead->low, 10.0 / 410, 1e-12);
  EXPECT_NEAR(overhead->high, 10.0 / 410, 1e-12);
  EXPECT_EQ(overhead->pairs, 20);
  EXPECT_EQ(a.runs, 40);
}

TEST(OverheadTest, SpreadIsThatOfThePairs) {
  const std::array<double, 5> with = {11, 12, 10, 11, 30};
  const std::array<double, 5> without = {10, 10, 10, 10, 10};
  const MarkOverhead overhead = OverheadOf(with, without);
  EXPECT_DOUBLE_EQ(overhead.ratio, 11.0 / 10 - 1);
  EXPECT_LE(overhead.low, overhead.ratio);
  EXPECT_GE(overhead.high, overhead.ratio);
  EXPECT_THROW(OverheadOf({}, {}), std::invalid_argument);
}

TEST(MeanCountTest, AnUncountedIterationLowersTheFractionNotTheEstimate) {
  const std::array<EventCount, 4> counts = {
      {{100.0, 1.0}, {50.0, 0.5}, {std::nullopt, 0.0}, {100.0, 1.0}}};
  const EventCount mean = MeanCount(counts);
  EXPECT_DOUBLE_EQ(*mean.value, 62.5);
  EXPECT_DOUBLE_EQ(mean.running_fraction, 0.625);  // 62.5 / 0.625 = 100, the true count
  EXPECT_FALSE(MeanCount({}).value);
  EXPECT_FALSE(MeanCount(std::array<EventCount, 1>{{{std::nullopt, 0.0}}}).value);
}

}  // namespace
}  // namespace topdnn
