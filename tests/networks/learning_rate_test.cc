#include "networks/parameters/learning_rate.h"

#include <gtest/gtest.h>

namespace topdnn {
namespace {

using Kind = LearningRateSchedule::Kind;

TEST(LearningRateTest, StepsDownAtHalfAndThreeQuarters) {
  const LearningRateSchedule schedule{.kind = Kind::kStep, .base = 0.1, .steps = 8};
  EXPECT_DOUBLE_EQ(schedule.At(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(3), 0.1);
  EXPECT_DOUBLE_EQ(schedule.At(4), 0.01);
  EXPECT_DOUBLE_EQ(schedule.At(5), 0.01);
  EXPECT_DOUBLE_EQ(schedule.At(6), 0.001);
  EXPECT_DOUBLE_EQ(schedule.At(800), 0.001) << "after the end the last rate stays";
}

TEST(LearningRateTest, CosineFallsFromTheBaseTowardsZero) {
  const LearningRateSchedule schedule{.kind = Kind::kCosine, .base = 2.0, .steps = 100};
  EXPECT_DOUBLE_EQ(schedule.At(0), 2.0);
  EXPECT_NEAR(schedule.At(50), 1.0, 1e-12);
  for (int step = 1; step < 100; ++step) EXPECT_LT(schedule.At(step), schedule.At(step - 1));
  EXPECT_GT(schedule.At(99), 0.0);
}

TEST(LearningRateTest, WarmupRisesLinearlyToTheSchedule) {
  const LearningRateSchedule schedule{.base = 1.0, .steps = 10, .warmup_steps = 3};
  EXPECT_DOUBLE_EQ(schedule.At(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.At(1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.At(2), 0.75);
  EXPECT_DOUBLE_EQ(schedule.At(3), 1.0);
  EXPECT_DOUBLE_EQ(schedule.At(9), 1.0);
}

TEST(LearningRateTest, ParsesItsNames) {
  EXPECT_EQ(ParseSchedule("cosine"), Kind::kCosine);
  EXPECT_EQ(ParseSchedule("step"), Kind::kStep);
  EXPECT_EQ(ParseSchedule("constant"), Kind::kConstant);
  EXPECT_EQ(ParseSchedule("linear"), std::nullopt);
}

}  // namespace
}  // namespace topdnn
