// Inference of a convolution, its batch normalization and a function after it: one stage where
// oneDNN fuses them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

Graph Block(Activation activation, bool normalized = true) {
  NetworkBuilder net("block", {.batch = 2, .image = {16, 12, 12}, .classes = 5});
  const ConvLayer layer{.outputs = 24, .kernel = 3, .padding = 1};
  ValueId x =
      normalized ? net.ConvNorm("conv", net.input(), layer) : net.Conv("conv", net.input(), layer);
  x = net.Activate("conv", x, activation);
  x = net.GlobalAveragePool("mean", x);
  net.Dense("fc", x, 5);
  return std::move(net).Take();
}

std::vector<double> OutputOf(const Graph& graph, const PlanRequest& request) {
  const auto plan = MakePlan(graph, request);
  plan->Allocate();
  WriteParameters(*plan, DrawnParameters(graph, 7));
  WriteRamp(*plan);
  plan->Run();
  for (const StageCheck& check : CheckStages(*plan)) EXPECT_TRUE(check.agrees) << check.reason;
  return plan->Read(plan->Find(BufferRole::kOutput));
}

// The stages that have the layer by themselves or fused.
std::vector<std::string> StagesWith(const Plan& plan, const std::string& layer) {
  std::vector<std::string> names;
  for (const Stage& stage : plan.stages()) {
    const auto& fused = stage.fused;
    if (stage.name == layer || std::find(fused.begin(), fused.end(), layer) != fused.end()) {
      names.push_back(stage.name);
    }
  }
  return names;
}

class FusedFunctionTest : public testing::TestWithParam<std::pair<Activation, std::string>> {};

TEST_P(FusedFunctionTest, GivesTheResultOfSeparateStagesInInference) {
  const auto& [activation, layer] = GetParam();
  const Graph graph = Block(activation);
  PlanRequest request = RequestOn("onednn", /*training=*/false);
  EXPECT_THAT(StagesWith(*MakePlan(graph, request), layer), testing::ElementsAre("conv"));
  const std::vector<double> result = OutputOf(graph, request);
  request.fuse = false;
  EXPECT_THAT(StagesWith(*MakePlan(graph, request), layer), testing::ElementsAre(layer));
  const std::vector<double> expected = OutputOf(graph, request);
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    EXPECT_NEAR(result[i], expected[i], 1e-4 * std::abs(expected[i]) + 1e-5) << i;
  }
}

// A gradient of the function reads the sums, which a fused stage does not keep.
TEST_P(FusedFunctionTest, HasAStageInTrainingAndOnOtherBackends) {
  const auto& [activation, layer] = GetParam();
  const Graph graph = Block(activation, /*normalized=*/false);
  EXPECT_THAT(StagesWith(*MakePlan(graph, RequestOn("onednn", true)), layer),
              testing::Contains(layer));
  EXPECT_THAT(StagesWith(*MakePlan(graph, RequestOn("onednn", true)), layer),
              testing::Not(testing::Contains("conv")));
  EXPECT_THAT(StagesWith(*MakePlan(graph, RequestOn("eigen", false)), layer),
              testing::ElementsAre(layer));
}

INSTANTIATE_TEST_SUITE_P(Functions, FusedFunctionTest,
                         testing::Values(std::pair(Activation::kSwish, "conv.swish"),
                                         std::pair(Activation::kHardSwish, "conv.hard_swish"),
                                         std::pair(Activation::kGelu, "conv.gelu")),
                         [](const auto& tested) {
                           return "Function" + std::to_string(tested.index);
                         });

}  // namespace
}  // namespace topdnn
