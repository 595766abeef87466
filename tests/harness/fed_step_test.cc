#include "harness/results/fed_step.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace topdnn {
namespace {

// One step of ten waits for an hour: the mean and any interval around it would be useless. By order
// statistics, the interval of the median of ten is from the second to the ninth.
TEST(FedStepTest, TheIntervalIsThatOfTheMedianAndNeverNegative) {
  FedStep step;
  for (int i = 1; i <= 9; ++i) {
    step.times.push_back({.input_wait = 0, .compute = static_cast<double>(i), .other = 0});
  }
  step.times.push_back({.input_wait = 3600, .compute = 10, .other = 0});
  Summarize(step);
  ASSERT_TRUE(step.step.ci95);
  EXPECT_EQ(step.step.ci95->low, 2);
  EXPECT_EQ(step.step.ci95->high, 9);
  EXPECT_EQ(step.input_wait.ci95->low, 0);
  EXPECT_EQ(step.input_wait.ci95->high, 0);
  step.times.resize(5);
  Summarize(step);
  EXPECT_FALSE(step.step.ci95);
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
