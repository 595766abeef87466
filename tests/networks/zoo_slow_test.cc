// The large networks of the zoo with small images: stage by stage and as a whole step, on every
// backend.

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Zoo, LargeNetworkTest, testing::ValuesIn(NetworksOf(NetworkClass::kLarge)),
                         NameOfCase);

// bf16 kernels are compared with f32 arithmetic on the same rounded operands.
class Bf16NetworkTest : public testing::TestWithParam<std::string> {};

TEST_P(Bf16NetworkTest, EveryStageAgrees) {
  if (__builtin_cpu_supports("avx512bw") == 0) {
    GTEST_SKIP() << "oneDNN computes in bf16 on CPUs with AVX-512 alone";
  }
  PlanRequest request;
  request.type = DataType::kBF16;
  for (const bool training : {true, false}) {
    request.training = training;
    const auto plan = MakeSmall(GetParam(), request);
    ExpectStagesAgree(*plan);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Bf16NetworkTest,
                         testing::Values("alexnet", "googlenet", "resnet50", "mobilenet_v2",
                                         "densenet121", "shufflenet_v2", "regnet_y_400mf",
                                         "mobilenet_v3_small", "efficientnet_b0", "convnext_tiny",
                                         "unet", "yolov8n"),
                         NameOfCase);

using NetworkAndBackend = std::tuple<std::string, std::string>;

class StepOnBackendTest : public testing::TestWithParam<NetworkAndBackend> {
 protected:
  static void ExpectAgreement(bool training, double tolerance) {
    const auto& [network, backend] = GetParam();
    PlanRequest request;
    request.backend = backend;
    request.training = training;
    request.dropout = false;
    request.fallback = {"onednn", "openblas"};
    ExpectStepAgrees(network, request, tolerance);
  }
};

TEST_P(StepOnBackendTest, GivesTheReferencesLogits) { ExpectAgreement(false, 1e-4); }

std::string NameOfBackendCase(const testing::TestParamInfo<NetworkAndBackend>& tested) {
  return std::get<0>(tested.param) + "_" + std::get<1>(tested.param);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, StepOnBackendTest,
    testing::Combine(testing::Values("alexnet", "googlenet", "resnet50", "mobilenet_v2",
                                     "squeezenet", "densenet121", "inception_v3", "resnext50",
                                     "shufflenet_v2", "mnasnet", "regnet_y_400mf",
                                     "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
                                     "convnext_tiny", "unet", "yolov8n"),
                     testing::Values("onednn", "openblas", "eigen")),
    NameOfBackendCase);

// Without googlenet, squeezenet and unet: some windows of their poolings have two maxima that
// differ only by rounding. Rounding then decides where the gradient goes. Without densenet121: its
// first scale is before another normalization, so that its gradient is little more than rounding.
class StepGradientsTest : public StepOnBackendTest {};

TEST_P(StepGradientsTest, AgreeWithTheReference) { ExpectAgreement(true, 1e-3); }

INSTANTIATE_TEST_SUITE_P(Zoo, StepGradientsTest,
                         testing::Combine(testing::Values("alexnet", "resnet50", "mobilenet_v2",
                                                          "resnext50", "shufflenet_v2", "mnasnet",
                                                          "regnet_y_400mf", "mobilenet_v3_small",
                                                          "mobilenet_v3_large", "efficientnet_b0",
                                                          "convnext_tiny", "yolov8n"),
                                          testing::Values("onednn", "openblas", "eigen")),
                         NameOfBackendCase);

}  // namespace
}  // namespace topdnn
