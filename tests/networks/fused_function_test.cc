// Inference of a convolution, its batch normalization and a function after it: one stage where
// oneDNN fuses them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
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
  ParameterValues values = DrawnParameters(graph, 7);
  // (a factor of each channel and a bias start as the same number)
  for (auto& [key, value] : values) {
    if (!key.ends_with("/constant") && !key.ends_with("/bias")) continue;
    const std::span<float> numbers = value.values<float>();
    for (std::size_t c = 0; c < numbers.size(); ++c) {
      numbers[c] = 0.25F * static_cast<float>(c) - 2;
    }
  }
  WriteParameters(*plan, values);
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

// A factor of each channel becomes part of the weights and the bias, and the addition after it part
// of the convolution.
TEST(FoldedFactorsTest, GiveTheResultOfSeparateStagesInInference) {
  for (const bool bias : {false, true}) {
    NetworkBuilder net("block", {.batch = 2, .image = {16, 12, 12}, .classes = 5});
    const ConvLayer layer{.outputs = 16, .kernel = 3, .padding = 1, .bias = bias};
    const ValueId first = net.Relu("relu", net.Conv("first", net.input(), layer));
    const ValueId second = net.Relu("relu2", net.Conv("second", first, layer));
    ValueId x = net.ScaleChannels("scale", net.Conv("conv", second, layer), 0.5);
    x = net.Add("add", x, first);
    net.Dense("fc", net.GlobalAveragePool("mean", x), 5);
    const Graph graph = std::move(net).Take();
    for (const char* backend : {"onednn", "openblas", "eigen"}) {
      PlanRequest request = RequestOn(backend, /*training=*/false);
      EXPECT_THAT(StagesWith(*MakePlan(graph, request), "scale"), testing::ElementsAre("conv"));
      const std::vector<double> result = OutputOf(graph, request);
      request.fuse = false;
      EXPECT_THAT(StagesWith(*MakePlan(graph, request), "scale"), testing::ElementsAre("scale"));
      const std::vector<double> expected = OutputOf(graph, request);
      ASSERT_EQ(result.size(), expected.size());
      for (std::size_t i = 0; i < result.size(); ++i) {
        EXPECT_NEAR(result[i], expected[i], 1e-4 * std::abs(expected[i]) + 1e-5) << backend << i;
      }
    }
    const auto fused = MakePlan(graph, RequestOn("onednn", /*training=*/false));
    EXPECT_THAT(StagesWith(*fused, "add"), testing::ElementsAre("conv"));
    // The factor is trained, so training has a stage for it.
    EXPECT_THAT(StagesWith(*MakePlan(graph, RequestOn("onednn", true)), "scale"),
                testing::Contains("scale"));
  }
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
