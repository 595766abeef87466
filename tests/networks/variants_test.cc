// Plans whose convolutions are requested by variant.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "networks/planner.h"
#include "networks/zoo/zoo.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

// Requests the variants for every layer of any kind.
PlanRequest AskingFor(const std::string& network, const std::vector<std::string>& variants,
                      bool training) {
  const NetworkOffer& offer = *FindNetwork(network);
  PlanRequest request;
  request.training = training;
  const Graph graph = offer.build({2, offer.small, 10});
  for (const GraphNode& node : graph.nodes()) {
    for (const Pass pass : kAllPasses) request.variants[{node.name, pass}] = variants;
  }
  return request;
}

std::ptrdiff_t StagesBy(const Plan& plan, const std::string& variant) {
  return std::count_if(plan.stages().begin(), plan.stages().end(),
                       [&](const Stage& stage) { return stage.variant == variant; });
}

struct Case {
  std::string network;
  bool training;
};

class WinogradTest : public testing::TestWithParam<Case> {};

TEST_P(WinogradTest, EveryStageAgreesWithTheReference) {
  const auto& [network, training] = GetParam();
  const auto plan =
      MakeSmall(network, AskingFor(network, {"onednn-winograd", "onednn-blocked"}, training));
  if (StagesBy(*plan, "onednn-winograd") == 0) {
    GTEST_SKIP() << "oneDNN has no f32 Winograd on this ISA";
  }
  ExpectStagesAgree(*plan);
}

// Weights in an opaque layout, with and without a folded batch normalization.
INSTANTIATE_TEST_SUITE_P(Networks, WinogradTest,
                         testing::Values(Case{"resnet18", false}, Case{"resnet18", true},
                                         Case{"googlenet", false}, Case{"googlenet", true}),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return tested.param.network +
                                  (tested.param.training ? "_training" : "_inference");
                         });

TEST(VariantsTest, ARefusedVariantIsSkipped) {
  // Neither exists for these layers: LeNet's kernels are 5x5.
  const auto plan = MakeSmall("lenet5", AskingFor("lenet5", {"onednn-winograd", "none"}, true));
  for (const Stage& stage : plan->stages()) EXPECT_EQ(stage.variant, "") << stage.name;
  ExpectStagesAgree(*plan);
}

TEST(VariantsTest, ABlockedPlanHasNoReordersBetweenConvolutions) {
  const auto plan = MakeSmall("resnet18", AskingFor("resnet18", {"onednn-blocked"}, false));
  EXPECT_GT(StagesBy(*plan, "onednn-blocked"), 0);
  // Except for the image.
  const auto reorders =
      std::count_if(plan->stages().begin(), plan->stages().end(),
                    [](const Stage& stage) { return stage.pass == StagePass::kReorder; });
  EXPECT_LE(reorders, 2);
}

}  // namespace
}  // namespace topdnn
