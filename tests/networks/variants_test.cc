// Plans whose convolutions are requested by variant.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "networks/graph/zoo.h"
#include "networks/plan/check.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

// Requests the variants for every layer and pass.
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
  std::string variant;
};

class WinogradTest : public testing::TestWithParam<Case> {};

TEST_P(WinogradTest, EveryStageAgreesWithTheReference) {
  const auto& [network, training, variant] = GetParam();
  const auto plan = MakeSmall(network, AskingFor(network, {variant, "onednn-blocked"}, training));
  if (StagesBy(*plan, variant) == 0) {
    GTEST_SKIP() << "there is no f32 Winograd for blocks of this CPU";
  }
  ExpectStagesAgree(*plan);
}

// Weights in an opaque layout (oneDNN's Winograd), with and without a folded batch normalization.
INSTANTIATE_TEST_SUITE_P(Networks, WinogradTest,
                         testing::Values(Case{"resnet18", false, "onednn-winograd"},
                                         Case{"resnet18", true, "onednn-winograd"},
                                         Case{"googlenet", false, "onednn-winograd"},
                                         Case{"googlenet", true, "onednn-winograd"},
                                         Case{"resnet18", false, "native-winograd"},
                                         Case{"resnet18", true, "native-winograd"},
                                         Case{"cnn", false, "native-winograd"},
                                         Case{"googlenet", true, "native-winograd"}),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return tested.param.network +
                                  (tested.param.training ? "_training" : "_inference") +
                                  (tested.param.variant == "native-winograd" ? "_tiles" : "");
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
  // The image may still need reorders.
  const auto reorders =
      std::count_if(plan->stages().begin(), plan->stages().end(),
                    [](const Stage& stage) { return stage.pass == StagePass::kReorder; });
  EXPECT_LE(reorders, 2);
}

// The stages of max pooling and LRN that have a workspace, and those that have none.
struct WorkspaceCount {
  int with = 0, without = 0;
};

bool IsPoolOrLrn(const Stage& stage) {
  return stage.op->kind() == "pool" || stage.op->kind() == "lrn";
}

// Also checks these stages.
WorkspaceCount CountWorkspaces(Plan& plan) {
  for (const StageCheck& check : CheckStages(plan, IsPoolOrLrn)) {
    EXPECT_TRUE(check.agrees) << check.reason;
  }
  WorkspaceCount count;
  for (const Stage& stage : plan.stages()) {
    if (!IsPoolOrLrn(stage)) continue;
    const bool bound = stage.buffers.contains(Arg::kWorkspace);
    EXPECT_EQ(bound, stage.kernel->Find(Arg::kWorkspace) != nullptr) << stage.name;
    EXPECT_EQ(bound, !stage.execution.recomputes) << stage.name;
    ++(bound ? count.with : count.without);
  }
  return count;
}

// AlexNet has 3 poolings and 2 normalizations, each forward and backward.
TEST(VariantsTest, EigenSavesNothingForItsGradientsAsInTensorFlow) {
  PlanRequest request;
  request.backend = "eigen";
  const auto plan = MakeSmall("alexnet", request);
  const WorkspaceCount count = CountWorkspaces(*plan);
  EXPECT_EQ(count.with, 0);
  EXPECT_EQ(count.without, 10);
}

TEST(VariantsTest, EigensRowsSaveAWorkspace) {
  PlanRequest request = AskingFor("alexnet", {"eigen-rows"}, true);
  request.backend = "eigen";
  const auto plan = MakeSmall("alexnet", request);
  const WorkspaceCount count = CountWorkspaces(*plan);
  EXPECT_EQ(count.with, 10);
  EXPECT_EQ(count.without, 0);
}

// The backward pass follows the forward pass: it reads a workspace if there is one, whichever
// variant is requested.
TEST(VariantsTest, ABackwardPassFollowsWhatForwardSaved) {
  for (const Pass asked : {Pass::kForward, Pass::kBackwardData}) {
    PlanRequest request = AskingFor("alexnet", {"eigen-rows"}, true);
    request.backend = "eigen";
    std::erase_if(request.variants, [&](const auto& one) { return one.first.second != asked; });
    const auto plan = MakeSmall("alexnet", request);
    const WorkspaceCount count = CountWorkspaces(*plan);
    EXPECT_EQ(count.with, asked == Pass::kForward ? 10 : 0);
  }
}

}  // namespace
}  // namespace topdnn
