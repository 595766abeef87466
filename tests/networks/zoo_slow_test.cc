// The large networks of the zoo at small sizes, stage by stage and a whole step, on every backend.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

class LargeNetworkTest : public testing::TestWithParam<std::string> {};

TEST_P(LargeNetworkTest, EveryStageOfATrainingStepAgrees) {
  const auto plan = MakeSmall(GetParam());
  ExpectStagesAgree(*plan);
}

TEST_P(LargeNetworkTest, EveryStageOfInferenceAgrees) {
  PlanRequest request;
  request.training = false;
  const auto plan = MakeSmall(GetParam(), request);
  ExpectStagesAgree(*plan);
}

INSTANTIATE_TEST_SUITE_P(Zoo, LargeNetworkTest,
                         testing::Values("alexnet", "alexnet:one-tower", "vgg16", "resnet50",
                                         "resnet50:v1"),
                         NameOfCase);

// bf16 kernels are held to f32 arithmetic on the same rounded operands.
class Bf16NetworkTest : public testing::TestWithParam<std::string> {};

TEST_P(Bf16NetworkTest, EveryStageAgrees) {
  PlanRequest request;
  request.type = DataType::kBF16;
  for (const bool training : {true, false}) {
    request.training = training;
    std::unique_ptr<Plan> plan;
    try {
      plan = MakeSmall(GetParam(), request);
    } catch (const PlanError& error) {
      GTEST_SKIP() << error.what();
    }
    ExpectStagesAgree(*plan);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Bf16NetworkTest,
                         testing::Values("alexnet", "googlenet", "resnet50", "mobilenet_v2"),
                         NameOfCase);

class StepOnBackendTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(StepOnBackendTest, GivesTheReferencesGradients) {
  const auto& [network, backend] = GetParam();
  PlanRequest request;
  request.backend = backend;
  request.dropout = false;
  request.fallback = {"onednn", "openblas"};
  ExpectStepAgrees(network, request, 1e-3);
}

TEST_P(StepOnBackendTest, GivesTheReferencesLogits) {
  const auto& [network, backend] = GetParam();
  PlanRequest request;
  request.backend = backend;
  request.training = false;
  request.fallback = {"onednn", "openblas"};
  ExpectStepAgrees(network, request, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, StepOnBackendTest,
    testing::Combine(testing::Values("alexnet", "googlenet", "resnet50", "mobilenet_v2"),
                     testing::Values("onednn", "openblas", "eigen")),
    [](const auto& tested) { return std::get<0>(tested.param) + "_" + std::get<1>(tested.param); });

}  // namespace
}  // namespace topdnn
