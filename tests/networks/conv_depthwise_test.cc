// Inference of a block of MobileNet: a convolution of single pixels and the depthwise convolution
// after it become one stage where oneDNN fuses them, with the batch normalizations of both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/parameters/parameter_values.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

constexpr std::int64_t kChannels = 96;

// The expanded tensor has 4.8 MB per image.
Graph Block(bool normalized, bool is_read_twice) {
  NetworkBuilder net("block", {.batch = 2, .image = {16, 112, 112}, .classes = 5});
  const ConvLayer expand{.outputs = kChannels, .kernel = 1};
  const ConvLayer depthwise{
      .outputs = kChannels, .kernel = 3, .stride = 2, .padding = 1, .groups = kChannels};
  ValueId expanded, x;
  if (normalized) {
    expanded = net.ConvNormRelu("expand", net.input(), expand);
    x = net.ConvNormRelu("depthwise", expanded, depthwise);
  } else {
    expanded = net.ConvRelu("expand", net.input(), expand);
    x = net.ConvRelu("depthwise", expanded, depthwise);
  }
  x = net.GlobalAveragePool("mean", x);
  if (is_read_twice) x = net.Add("both", x, net.GlobalAveragePool("other", expanded));
  net.Dense("fc", x, 5);
  return std::move(net).Take();
}

std::unique_ptr<Plan> MakeFilled(const Graph& graph, const PlanRequest& request) {
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  ParameterValues values = DrawnParameters(graph, 7);
  for (auto& [key, value] : values) {
    if (!key.ends_with("/variance") && !key.ends_with("/mean") && !key.ends_with("/bias")) continue;
    // (the two layers differ)
    const std::int64_t period = key.starts_with("depthwise") ? 5 : 3;
    for (std::int64_t i = 0; i < value.shape().elements(); ++i) {
      value.as<float>()[i] += 0.25F * static_cast<float>(i % period + 1);
    }
  }
  WriteParameters(*plan, values);
  WriteRamp(*plan);
  return plan;
}

const Stage* FindChained(const Plan& plan) {
  for (const Stage& stage : plan.stages()) {
    if (stage.op->kind() == "conv_depthwise") return &stage;
  }
  return nullptr;
}

std::vector<double> RunOnce(Plan& plan) {
  plan.Run();
  return plan.Read(plan.Find(BufferRole::kOutput));
}

class ChainedLayersTest : public testing::TestWithParam<bool> {};

TEST_P(ChainedLayersTest, GiveTheResultOfSeparateOnes) {
  const Graph graph = Block(GetParam(), /*is_read_twice=*/false);
  PlanRequest request = RequestOn("onednn", /*training=*/false);
  const auto plan = MakeFilled(graph, request);
  const Stage* chained = FindChained(*plan);
  if (chained == nullptr) GTEST_SKIP() << "oneDNN does not fuse these on this CPU";
  EXPECT_EQ(chained->name, "expand");
  EXPECT_THAT(chained->fused, testing::Contains("depthwise"));
  EXPECT_EQ(chained->fused.size(), GetParam() ? 5 : 3);
  request.fuse = false;
  const auto separate = MakeFilled(graph, request);
  EXPECT_EQ(FindChained(*separate), nullptr);
  const std::vector<double> expected = RunOnce(*separate);
  const std::vector<double> result = RunOnce(*plan);
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    EXPECT_NEAR(result[i], expected[i], 1e-4 * std::abs(expected[i]) + 1e-5) << i;
  }
  for (const StageCheck& check : CheckStages(*plan)) EXPECT_TRUE(check.agrees) << check.reason;
}

INSTANTIATE_TEST_SUITE_P(Normalized, ChainedLayersTest, testing::Bool());

TEST(ChainTest, IsNotPlannedInTrainingNorWhereTheFirstResultIsReadTwice) {
  for (const std::string backend : {"onednn", "reference"}) {
    EXPECT_EQ(FindChained(*MakePlan(Block(true, false), RequestOn(backend, true))), nullptr);
    EXPECT_EQ(FindChained(*MakePlan(Block(true, true), RequestOn(backend, false))), nullptr);
  }
}

}  // namespace
}  // namespace topdnn
