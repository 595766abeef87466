#include "harness/counters/scaling.h"

#include <gtest/gtest.h>

#include <random>

namespace topdnn {
namespace {

TEST(Scaling, CountsAreDifferences) {
  const EventCount count = CountBetween({100, 50, 50}, {175, 90, 80});
  EXPECT_EQ(count.value, 75);
  EXPECT_EQ(count.running_fraction, 0.75);  // 30 of 40 ns
  EXPECT_EQ(Scaled(count), 100);
}

TEST(Scaling, ResetsAndCountersThatNeverRanAreAbsent) {
  EXPECT_FALSE(CountBetween({100, 0, 0}, {99, 10, 10}).value);  // the count went back
  EXPECT_FALSE(CountBetween({0, 10, 0}, {1, 9, 5}).value);      // the time did
  EXPECT_FALSE(CountBetween({0, 0, 10}, {1, 20, 9}).value);     // the running time did
  EXPECT_FALSE(CountBetween({0, 0, 0}, {0, 10, 0}).value);      // never on a counter
  EXPECT_FALSE(CountBetween({0, 0, 0}, {5, 10, 11}).value);     // longer than enabled
  EXPECT_FALSE(Scaled(CountBetween({0, 0, 0}, {0, 10, 0})));
}

TEST(Scaling, KeepsAllBitsOfLargeCounters) {
  const std::uint64_t large = 0xFFFFFFFFFFFF0000u;
  EXPECT_EQ(CountBetween({large, 0, 0}, {large + 3, 1, 1}).value, 3);
}

TEST(Scaling, UniformEventsScaleToTheirRate) {
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

}  // namespace
}  // namespace topdnn
