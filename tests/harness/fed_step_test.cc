#include "harness/results/fed_step.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace topdnn {
namespace {

// Blocks of 2: means 1.5, 3.5, ..., 19.5, with a standard deviation of 6.05530. Student's t with 9
// degrees of freedom is 2.262157 (any table), so half of the interval is 4.33175.
TEST(FedStepTest, TheIntervalOfAMeanComesFromTenBlocks) {
  std::vector<double> samples(20);
  std::iota(samples.begin(), samples.end(), 1.0);
  const auto interval = MeanInterval(samples);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 10.5 - 4.33175, 1e-4);
  EXPECT_NEAR(interval->high, 10.5 + 4.33175, 1e-4);
}

// Blocks of 2: means 1.5, 3.5 and 5.5, with a standard deviation of 2; t with 2 degrees of freedom
// is 4.302653, so half of the interval is 4.968276.
TEST(FedStepTest, FewSamplesHaveAWideIntervalAndFiveNone) {
  const std::vector<double> six = {1, 2, 3, 4, 5, 6};
  const auto interval = MeanInterval(six);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->high, 3.5 + 4.968276, 1e-5);
  EXPECT_FALSE(MeanInterval(std::vector<double>{1, 2, 3, 4, 5}));
}

// Samples that repeat in pairs have the blocks of their neighbours: the interval is as wide as that
// of half as many samples, and not narrower.
TEST(FedStepTest, NeighboursThatAgreeDoNotNarrowTheInterval) {
  std::vector<double> once(20), twice(40);
  for (std::size_t i = 0; i < 20; ++i) once[i] = i % 3 == 0 ? 1.0 : 2.0;
  for (std::size_t i = 0; i < 40; ++i) twice[i] = once[i / 2];
  EXPECT_NEAR(MeanInterval(once)->low, MeanInterval(twice)->low, 1e-12);
}

TEST(FedStepTest, MeansOfThePartsSumToTheMeanOfTheStep) {
  FedStep step;
  step.times = {{.input_wait = 1, .compute = 2, .other = 0.5},
                {.input_wait = 0, .compute = 4, .other = 0.5}};
  Summarize(step);
  EXPECT_DOUBLE_EQ(step.step.mean, 4);
  EXPECT_DOUBLE_EQ(step.compute.mean, 3);
  EXPECT_DOUBLE_EQ(step.input_wait.mean, 0.5);
  EXPECT_DOUBLE_EQ(step.other.mean, 0.5);
  EXPECT_EQ(step.step.seconds.n, 2);
  step.times.clear();
  EXPECT_THROW(Summarize(step), std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
