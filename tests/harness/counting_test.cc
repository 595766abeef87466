// The comments compute each expected value by hand.

#include "harness/statistics/counting.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <stdexcept>
#include <vector>

namespace topdnn {
namespace {

TEST(CountingTest, CountsAreDifferences) {
  const EventCount count = CountBetween({100, 50, 50}, {175, 90, 80});
  EXPECT_EQ(count.value, 75);
  EXPECT_EQ(count.running_fraction, 0.75);  // 30 of 40 ns
  EXPECT_EQ(Scaled(count), 100);
}

TEST(CountingTest, ResetsAndCountersThatNeverRanAreAbsent) {
  EXPECT_FALSE(CountBetween({100, 0, 0}, {99, 10, 10}).value);  // the count decreased
  EXPECT_FALSE(CountBetween({0, 10, 0}, {1, 9, 5}).value);      // the time enabled decreased
  EXPECT_FALSE(CountBetween({0, 0, 10}, {1, 20, 9}).value);     // the time running decreased
  EXPECT_FALSE(CountBetween({0, 0, 0}, {0, 10, 0}).value);      // never on a counter
  EXPECT_FALSE(CountBetween({0, 0, 0}, {5, 10, 11}).value);     // longer than enabled
  EXPECT_FALSE(Scaled(CountBetween({0, 0, 0}, {0, 10, 0})));
  EXPECT_FALSE(Scaled({5.0, 0.0}));
}

TEST(CountingTest, KeepsAllBitsOfLargeCounters) {
  const std::uint64_t large = 0xFFFFFFFFFFFF0000u;
  EXPECT_EQ(CountBetween({large, 0, 0}, {large + 3, 1, 1}).value, 3);
}

TEST(CountingTest, UniformEventsScaleToTheirRate) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t running = 1 + random() % 1000000, waiting = random() % 1000000;
    const std::uint64_t rate = 1 + random() % 100, start = random() >> 1;
    const auto count =
        CountBetween({start, start, start},
                     {start + rate * running, start + running + waiting, start + running});
    const double expected = static_cast<double>(rate) * static_cast<double>(running + waiting);
    EXPECT_NEAR(Scaled(count).value(), expected, 1e-9 * expected);
  }
}

using Raw = std::vector<std::uint64_t>;

TEST(CountingFoldTest, CountsAreDifferences) {
  const auto counts = FoldCounts(Raw{10, 100}, Raw{15, 100});
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].value, 5.0);
  EXPECT_EQ(counts[1].value, 0.0);  // counted, and no event happened
  EXPECT_EQ(counts[1].running_fraction, 1.0);
}

TEST(CountingFoldTest, ABackwardCounterIsAbsent) {
  const auto counts = FoldCounts(Raw{10, 3}, Raw{9, 4});
  EXPECT_FALSE(counts[0].value);
  EXPECT_EQ(counts[0].running_fraction, 0.0);
  EXPECT_EQ(counts[1].value, 1.0);
}

TEST(CountingFoldTest, ReadingsOfDifferentLengthAreRefused) {
  EXPECT_THROW(FoldCounts(Raw{1}, Raw{1, 2}), std::invalid_argument);
}

TEST(CountingTest, AFractionIsOfTheThreadsTime) {
  const std::vector<CounterReading> before = {{0, 0, 0}, {0, 0, 0}, {5, 7, 7}};
  const std::vector<CounterReading> after = {{10, 100, 100}, {10, 300, 150}, {5, 7, 7}};
  const EventCount count = SumOverThreads(before, after);
  EXPECT_EQ(count.value, 20);
  EXPECT_DOUBLE_EQ(count.running_fraction, 250.0 / 400);
  const std::vector<CounterReading> starved = {{10, 100, 100}, {0, 300, 0}, {5, 7, 7}};
  EXPECT_FALSE(SumOverThreads(before, starved).value);
  const std::vector<CounterReading> reset = {{10, 100, 100}, {10, 300, 150}, {4, 8, 8}};
  EXPECT_FALSE(SumOverThreads(before, reset).value);
  // A count without any time does not mean that the thread was idle.
  const std::vector<CounterReading> timeless = {{10, 100, 100}, {10, 300, 150}, {6, 7, 7}};
  EXPECT_FALSE(SumOverThreads(before, timeless).value);
}

// ---- Wrap.

TEST(CountingTest, ACounterOf48BitsContinuesWhenItWraps) {
  // 0xFFFFFFFFFFFE of 48 bits is -2, and 3 comes five counts later. With the page's offset at 1000
  // the two readings are 998 and 1003.
  const std::uint64_t offset = 1000;
  const std::uint64_t before = offset + SignedCounter(0xFFFFFFFE, 0xFFFF);
  const std::uint64_t after = offset + SignedCounter(3, 0);
  EXPECT_EQ(before, 998u);
  EXPECT_EQ(after, 1003u);
  EXPECT_EQ(CountBetween({before, 10, 10}, {after, 20, 20}).value, 5);
  // Bit 47 is the sign: 0x800000000000 is -2^47.
  EXPECT_EQ(SignedCounter(0, 0x8000), ~std::uint64_t{0} << 47);
  EXPECT_EQ(SignedCounter(0xFFFFFFFF, 0x7FFF), (std::uint64_t{1} << 47) - 1);
}

// ---- Several types of cores.

TEST(CountingTest, ThreadsOnTwoTypesOfCores) {
  // Thread 0 ran 60 of its 100 ns on the P cores that the event counts, thread 1 all its 200 ns.
  const std::vector<CounterReading> before = {{0, 0, 0}, {50, 500, 500}};
  const std::vector<CounterReading> on_p = {{600, 100, 60}, {2050, 700, 700}};
  const EventCount count = SumOverThreads(before, on_p);
  EXPECT_EQ(count.value, 2600);                           // 600 + 2000
  EXPECT_DOUBLE_EQ(count.running_fraction, 260.0 / 300);  // (60 + 200) of 300 ns
  EXPECT_NEAR(Scaled(count).value(), 2600 * 300.0 / 260, 1e-9);
  // The cycles on E cores: thread 0 for the other 40 ns, thread 1 for no time, which is not a count
  // of 0.
  const std::vector<CounterReading> on_e = {{80, 100, 40}, {50, 700, 500}};
  const EventCount elsewhere = SumOverThreadsThatRan(before, on_e);
  EXPECT_EQ(elsewhere.value, 80);
  EXPECT_DOUBLE_EQ(elsewhere.running_fraction, 40.0 / 300);
  // A thread that was never on a P core makes the sum absent, because its count is unknown.
  const std::vector<CounterReading> never = {{600, 100, 60}, {50, 700, 500}};
  EXPECT_FALSE(SumOverThreads(before, never).value);
  // No thread on an E core.
  const std::vector<CounterReading> nobody = {{0, 100, 0}, {50, 700, 500}};
  EXPECT_FALSE(SumOverThreadsThatRan(before, nobody).value);
  EXPECT_EQ(SumOverThreadsThatRan(before, nobody).reason, "");
}

TEST(CountingTest, AResetOnOtherCoresIsNotAThreadThatWasElsewhere) {
  const std::vector<CounterReading> before = {{0, 0, 0}, {50, 500, 500}};
  // The second thread's count decreased, its time running or enabled did, it ran for longer than it
  // was enabled, and it counted in no time. The first thread's 80 is not the sum.
  for (const CounterReading& second :
       {CounterReading{40, 700, 600}, CounterReading{60, 700, 400}, CounterReading{50, 400, 500},
        CounterReading{60, 510, 600}, CounterReading{60, 700, 500}}) {
    const EventCount count =
        SumOverThreadsThatRan(before, std::vector<CounterReading>{{80, 100, 40}, second});
    EXPECT_FALSE(count.value) << second.value << " " << second.enabled << " " << second.running;
    EXPECT_NE(count.reason, "");
  }
}

// ---- The cost of a reading.

TEST(CountingTest, TheCostOfAReadingIsTheMedianOfScaledPairs) {
  // The first event: 10 for the whole time, 6 for half the time (12), 11, and one absent: the
  // median of 10, 11, 12. The second was never counted.
  const EventCount none = AbsentCount();
  const std::vector<std::vector<EventCount>> pairs = {
      {{10.0, 1.0}, none}, {{6.0, 0.5}, none}, {none, none}, {{11.0, 1.0}, none}};
  EXPECT_EQ(CostOfReading(pairs), (std::vector<double>{11, 0}));
  EXPECT_TRUE(CostOfReading({}).empty());
}

TEST(CountingTest, ReadingsAreSubtractedFromTheCountedShare) {
  EXPECT_EQ(WithoutReadings({130.0, 1.0}, 10, 3).value, 100);
  // Half the time: 65 counted, 15 of them by the readings; scaled it is 100 again.
  const EventCount half = WithoutReadings({65.0, 0.5}, 10, 3);
  EXPECT_EQ(half.value, 50);
  EXPECT_EQ(Scaled(half), 100);
  EXPECT_EQ(WithoutReadings({5.0, 1.0}, 10, 1).value, 0);
  EXPECT_FALSE(WithoutReadings(AbsentCount(), 10, 1).value);
}

// ---- Means over iterations.

TEST(CountingTest, AnIterationWithoutACountIsScaledOnce) {
  // 100 events per iteration, counted completely, half, not at all, and completely: 250 in 4
  // iterations, of which 2.5 were counted. Scaling each iteration and then dividing by 4 would
  // give 75.
  const std::array<EventCount, 4> counts = {
      {{100.0, 1.0}, {50.0, 0.5}, AbsentCount(), {100.0, 1.0}}};
  const EventCount mean = MeanCount(counts);
  EXPECT_DOUBLE_EQ(*mean.value, 62.5);
  EXPECT_DOUBLE_EQ(mean.running_fraction, 0.625);
  EXPECT_DOUBLE_EQ(Scaled(mean).value(), 100);
  // Only every other iteration is counted: 100 events are scaled to 100, not to 50.
  const std::array<EventCount, 2> every_other = {{{100.0, 1.0}, AbsentCount()}};
  EXPECT_DOUBLE_EQ(Scaled(MeanCount(every_other)).value(), 100);
  // Longer shares have more weight: 90 in 0.9 and 30 in 0.1 are 120, not the mean of 100 and 300.
  const std::array<EventCount, 2> unlike = {{{90.0, 0.9}, {30.0, 0.1}}};
  EXPECT_DOUBLE_EQ(Scaled(MeanCount(unlike)).value(), 120);
  EXPECT_FALSE(MeanCount({}).value);
  const EventCount never = MeanCount(std::array<EventCount, 1>{{AbsentCount()}});
  EXPECT_FALSE(never.value);
  EXPECT_EQ(never.running_fraction, 0);
}

TEST(CountingTest, SumsThatAreNotKeptGiveTheSameMean) {
  EventCount sum = AbsentCount();
  AddCount({100.0, 1.0}, sum);
  AddCount(AbsentCount(), sum);
  AddCount({50.0, 0.5}, sum);
  const EventCount mean = MeanOfSum(sum, 3);
  EXPECT_DOUBLE_EQ(*mean.value, 50);
  EXPECT_DOUBLE_EQ(mean.running_fraction, 0.5);
  EXPECT_FALSE(MeanOfSum(AbsentCount(), 3).value);
  EXPECT_FALSE(MeanOfSum(sum, 0).value);
}

}  // namespace
}  // namespace topdnn
