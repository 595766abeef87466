// `topdnn scale --predict`: what it predicts from measured steps, and what bounds it. The numbers
// are computed by hand.

#include "bench/studies/scale/scale_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/studies/scale/scale_prediction_report.h"
#include "harness/text/style.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ScalePrediction, IsComparedWithTheMeasuredSteps) {
  const auto step = [](double seconds) {
    StepTimes times{seconds, 8, 1, 0, 0.5, 0, {{0, 0, 0, 5}}, true};
    return times;
  };
  GroupRun one;
  one.buckets = {{{{"fc", nullptr, 250, 0}}, 250, 0}};
  one.samples = {{{step(8)}}};
  GroupRun two = one;
  two.ranks = 2;
  two.samples = {{{step(12)}}, {{step(10)}}};
  two.speeds = {{250, {4}}, {500, {7}}};  // 1 s, and 3 ms per byte
  const ScalePrediction prediction = PredictScaling({one, two}, Wire::kF32);
  EXPECT_FALSE(prediction.distinguished);
  EXPECT_THAT(prediction.assumptions, testing::Not(IsEmpty()));
  ASSERT_EQ(prediction.steps.size(), 12U);
  EXPECT_EQ(prediction.steps.back().ranks, 4096);
  // The sum takes 4 s from 5 s on; the backward pass ends at 7 s: 2 s are exposed, and 0.5 s of
  // packing.
  EXPECT_THAT(prediction.steps[0].exposed, DoubleNear(2.5, 1e-9));
  EXPECT_THAT(prediction.steps[0].step, DoubleNear(10.5, 1e-9));
  EXPECT_THAT(prediction.steps[0].efficiency, DoubleNear(8 / 10.5, 1e-9));
  EXPECT_EQ(prediction.steps[0].measured, 12);
  EXPECT_THAT(*prediction.steps[0].error, DoubleNear(-0.125, 1e-9));
  EXPECT_FALSE(prediction.steps[1].measured || prediction.steps[1].error);
  EXPECT_THAT(PredictScaling({one}, Wire::kF32).reason, HasSubstr("one rank and two or more"));
  GroupRun four = two;
  four.ranks = 4;
  EXPECT_THAT(PredictionTable(PredictScaling({one, four}, Wire::kF32), {.width = 400}),
              HasSubstr("one number of ranks does not distinguish"));

  // 4 ranks that share CPUs give a bound: they change neither the model nor its error.
  GroupRun shared = two;
  shared.ranks = 4;
  shared.shares_cpus = true;
  shared.samples = {{{step(80)}}, {{step(100)}}, {{step(90)}}, {{step(90)}}};
  shared.speeds = {{250, {400}}, {500, {700}}};
  const ScalePrediction bounded = PredictScaling({one, two, shared}, Wire::kF32);
  EXPECT_TRUE(bounded.on_own_cpus);
  EXPECT_FALSE(bounded.distinguished);
  ASSERT_EQ(bounded.steps.size(), 12U);
  EXPECT_EQ(bounded.steps[0].step, prediction.steps[0].step);
  EXPECT_EQ(bounded.steps[0].error, prediction.steps[0].error);
  EXPECT_EQ(bounded.steps[1].step, prediction.steps[1].step);
  EXPECT_EQ(bounded.steps[1].step_bound, 100);
  EXPECT_EQ(bounded.steps[1].efficiency_bound, 0.08);
  EXPECT_FALSE(bounded.steps[1].measured || bounded.steps[1].error);
  EXPECT_FALSE(bounded.steps[2].step_bound);
  // Without a larger group on its own CPUs, the error of the prediction is not known.
  const ScalePrediction alone = PredictScaling({one, shared}, Wire::kF32);
  EXPECT_FALSE(alone.on_own_cpus);
  EXPECT_EQ(alone.steps[1].step_bound, 100);
  for (const PredictedStep& each : alone.steps) EXPECT_FALSE(each.error);
  const Style style{.width = 400};
  EXPECT_THAT(PredictionTable(alone, style), HasSubstr("error: not known"));
  EXPECT_THAT(
      PredictionTable(bounded, style),
      HasSubstr("lower bounds of the efficiency: 8.0 % on 4; the predictions are not below"));
  ScalePrediction broken = bounded;
  broken.steps[1].step = 101;
  EXPECT_THAT(PredictionTable(broken, style), HasSubstr("the prediction on 4 ranks is below"));
}

}  // namespace
}  // namespace topdnn
