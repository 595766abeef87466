// The plans that mirror TensorFlow: the stages of cnn and ResNet-50, with the operations that they
// stand for, worked out by hand from TensorFlow's sources.
//
// Each source is named with the stored version that was read: a commit of tensorflow/tensorflow,
// the function. (These copies have no numbers of lines.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/builder.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/plan_rules.h"
#include "networks/planning/planner.h"
#include "tests/networks/small_network.h"

namespace topdnn {
namespace {

using Lines = std::vector<std::string>;

PlanRequest RequestOf(const std::string& plan, bool training) {
  PlanRequest request;
  request.rules = FindPlanRules(plan);
  request.backend = request.rules->backend;
  request.training = training;
  request.threads = 2;
  request.optimizer.momentum = 0.9F;
  return request;
}

std::unique_ptr<Plan> PlanOf(const std::string& network, const std::string& plan, bool training) {
  return MakeSmall(network, RequestOf(plan, training));
}

// "conv1 forward _FusedConv2D", without the reorders, which depend on the CPU.
Lines StagesOf(const Plan& plan) {
  Lines lines;
  for (const Stage& stage : plan.stages()) {
    if (stage.pass == StagePass::kReorder) continue;
    lines.push_back(stage.name + " " + std::string(NameOf(stage.pass)) + " " + stage.framework_op);
  }
  return lines;
}

// remapper.cc, 599ec864, makes _FusedConv2D and _FusedMatMul of a BiasAdd and a Relu:
// FindContractionWithBias for the last layer, FindContractionWithBiasAndActivation
// for the others. Its only condition on readers is that a fused value has one, and it
// has: nn_grad.py's _ReluGrad takes the result of the Relu. Both plans fuse alike
// (IsCpuCompatible). The tutorial's Flatten is a Reshape, which moves nothing.
const Lines& CnnForward() {
  static const Lines lines = {"conv1 forward _FusedConv2D", "pool1 forward MaxPool",
                              "conv2 forward _FusedConv2D", "pool2 forward MaxPool",
                              "conv3 forward _FusedConv2D", "dense1 forward _FusedMatMul",
                              "dense2 forward _FusedMatMul"};
  return lines;
}

// The gradients are those that TensorFlow's Python registers (nn_grad.py: _Conv2DGrad,
// _BiasAddGrad, _ReluGrad, _MaxPoolGrad; math_grad.py: _MatMulGrad); a BiasAddGrad beside a
// Conv2DBackpropFilter becomes one kernel with it on oneDNN (mkl_layout_pass.cc, 63044994,
// GetConv2DBackpropFilterOrBiasAddGrad), and is next to it otherwise. The image needs
// no gradient. The updates are Keras's (keras/optimizers/optimizer_v2/gradient_descent.py,
// _resource_apply_dense), for each variable; a stage updates the two of its layer.
const Lines& CnnBackward() {
  static const Lines lines = {"loss loss SparseSoftmaxCrossEntropyWithLogits",
                              "dense2 backward_weights MatMul+BiasAddGrad",
                              "dense2 backward_data MatMul",
                              "relu4 backward_data ReluGrad",
                              "dense1 backward_weights MatMul+BiasAddGrad",
                              "dense1 backward_data MatMul",
                              "relu3 backward_data ReluGrad",
                              "conv3 backward_weights Conv2DBackpropFilter+BiasAddGrad",
                              "conv3 backward_data Conv2DBackpropInput",
                              "pool2 backward_data MaxPoolGrad",
                              "relu2 backward_data ReluGrad",
                              "conv2 backward_weights Conv2DBackpropFilter+BiasAddGrad",
                              "conv2 backward_data Conv2DBackpropInput",
                              "pool1 backward_data MaxPoolGrad",
                              "relu1 backward_data ReluGrad",
                              "conv1 backward_weights Conv2DBackpropFilter+BiasAddGrad",
                              "conv1 update ResourceApplyKerasMomentum",
                              "conv2 update ResourceApplyKerasMomentum",
                              "conv3 update ResourceApplyKerasMomentum",
                              "dense1 update ResourceApplyKerasMomentum",
                              "dense2 update ResourceApplyKerasMomentum"};
  return lines;
}

class FrameworkPlanTest : public testing::TestWithParam<const char*> {};

TEST_P(FrameworkPlanTest, CnnTrainsByTheOperationsOfTensorflow) {
  Lines expected = CnnForward();
  expected.insert(expected.end(), CnnBackward().begin(), CnnBackward().end());
  EXPECT_EQ(StagesOf(*PlanOf("cnn", GetParam(), true)), expected);
}

TEST_P(FrameworkPlanTest, CnnInfersByTheOperationsOfTensorflow) {
  EXPECT_EQ(StagesOf(*PlanOf("cnn", GetParam(), false)), CnnForward());
}

// The operations of a ResNet-50 whose convolutions have no bias. What they become depends on the
// plan and on training.
class Resnet {
 public:
  Resnet(bool onednn, bool training) : onednn_(onednn), training_(training) {}

  Lines Stages() {
    ConvNormRelu("conv1");
    Forward("pool1", "MaxPool");
    Backward({"pool1 backward_data MaxPoolGrad"});
    const int blocks[] = {3, 4, 6, 3};
    std::string input = "pool1";
    for (int stage = 1; stage <= 4; ++stage) {
      for (int i = 0; i < blocks[stage - 1]; ++i) {
        const std::string name = "layer" + std::to_string(stage) + "." + std::to_string(i);
        Block(name, input, i == 0);
        input = name + ".relu";
      }
    }
    // GlobalAveragePooling2D is a Mean, and its gradient is composed: math_grad.py, _MeanGrad and
    // the branch of _SumGrad for known shapes.
    Forward("pool2", "Mean");
    Backward({"pool2 backward_data Reshape+Tile+RealDiv"});
    Forward("fc", "_FusedMatMul");
    Backward({"fc backward_weights MatMul+BiasAddGrad", "fc backward_data MatMul"});
    updates_.push_back("fc update ResourceApplyKerasMomentum");
    if (!training_) return forward_;
    Lines all = forward_;
    all.push_back("loss loss SparseSoftmaxCrossEntropyWithLogits");
    all.insert(all.end(), backward_.rbegin(), backward_.rend());
    all.insert(all.end(), updates_.begin(), updates_.end());
    return all;
  }

 private:
  // The lines of the step that runs backwards are collected from its end.
  void Backward(const Lines& lines) {
    backward_.insert(backward_.end(), lines.rbegin(), lines.rend());
  }
  void Forward(const std::string& name, const std::string& op) {
    forward_.push_back(name + " forward " + op);
  }

  // Inference: FindConv2DWithBatchNorm (remapper.cc) makes one _FusedConv2D of a
  // convolution and its normalization, and FindConv2DWithBatchNormAndActivation takes the
  // Relu, too. Training: is_training forbids that. FindFusedBatchNormEx then takes the
  // Relu, but on a CPU only with oneDNN ("GPU or oneDNN CPU"). FindFusedBatchNormGradEx is
  // for GPUs alone, so ReluGrad and FusedBatchNormGradV3 stay two. The running averages are part of
  // FusedBatchNormV3 (keras/layers/normalization/batch_normalization.py, use_fused_avg_updates).
  void ConvNorm(const std::string& name, bool relu, bool first = false) {
    if (!training_) {
      Forward(name, "_FusedConv2D");
      return;
    }
    Forward(name, "Conv2D");
    const bool fused = relu && onednn_;
    const std::string norm = fused ? "_FusedBatchNormEx" : "FusedBatchNormV3";
    Forward(name + ".bn", norm);
    forward_.push_back(name + ".bn.running_mean update FusedBatchNormV3");
    forward_.push_back(name + ".bn.running_variance update FusedBatchNormV3");
    if (relu && !fused) Forward(name + ".relu", "Relu");
    Lines gradients;
    if (relu) gradients.push_back(name + ".relu backward_data ReluGrad");
    gradients.push_back(name + ".bn backward_data FusedBatchNormGradV3");
    gradients.push_back(name + " backward_weights Conv2DBackpropFilter");
    if (!first) gradients.push_back(name + " backward_data Conv2DBackpropInput");
    Backward(gradients);
    updates_.push_back(name + " update ResourceApplyKerasMomentum");
    updates_.push_back(name + ".bn update ResourceApplyKerasMomentum");
  }
  void ConvNormRelu(const std::string& name) { ConvNorm(name, true, true); }

  // An addition is fused only after a BiasAdd (FindContractionWithBiasAddAndAdd), and into a
  // normalization only on a GPU (FindFusedBatchNormEx). So AddV2 and Relu stay two. The two
  // gradients of the block's input are summed by AddN (gradients_util.py, _AggregatedGrads).
  void Block(const std::string& name, const std::string& input, bool shortcut) {
    Backward({input + ".gradient backward_data AddN"});
    if (shortcut) ConvNorm(name + ".shortcut", false);
    ConvNorm(name + ".conv1", true);
    ConvNorm(name + ".conv2", true);
    ConvNorm(name + ".conv3", false);
    Forward(name + ".add", "AddV2");
    Forward(name + ".relu", "Relu");
    Backward({name + ".relu backward_data ReluGrad"});
  }

  bool onednn_;
  bool training_;
  Lines forward_, backward_, updates_;
};

TEST_P(FrameworkPlanTest, ResnetTrainsByTheOperationsOfTensorflow) {
  const bool onednn = std::string(GetParam()) == "tensorflow";
  EXPECT_EQ(StagesOf(*PlanOf("resnet50", GetParam(), true)), Resnet(onednn, true).Stages());
}

TEST_P(FrameworkPlanTest, ResnetInfersByTheOperationsOfTensorflow) {
  const bool onednn = std::string(GetParam()) == "tensorflow";
  EXPECT_EQ(StagesOf(*PlanOf("resnet50", GetParam(), false)), Resnet(onednn, false).Stages());
}

// A depthwise convolution takes a BiasAdd and a ReLU only on oneDNN, and a normalization never
// (FindConv2DWithBatchNorm asks for IsConv2D).
TEST_P(FrameworkPlanTest, ADepthwiseConvolutionDoesNotTakeItsNormalization) {
  const auto plan = PlanOf("mobilenet_v1", GetParam(), false);
  int depthwise = 0;
  for (const Stage& stage : plan->stages()) {
    if (stage.framework_op != "DepthwiseConv2dNative") continue;
    ++depthwise;
    EXPECT_TRUE(stage.fused.empty()) << stage.name;
  }
  EXPECT_EQ(depthwise, 13);
}

TEST_P(FrameworkPlanTest, StagesAndStepsAgreeWithTheReference) {
  for (const bool training : {true, false}) {
    const PlanRequest request = RequestOf(GetParam(), training);
    ExpectStagesAgree(*MakeSmall("cnn", request));
    ExpectStepAgrees("cnn", request, 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, FrameworkPlanTest,
                         testing::Values("tensorflow", "tensorflow-eigen"),
                         [](const testing::TestParamInfo<const char*>& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// With normalizations whose ReLU is fused in the forward pass alone, and additions.
TEST(TensorflowStepTest, AResidualNetworkAgreesWithTheReference) {
  ExpectStepAgrees("resnet18", RequestOf("tensorflow", true), 1e-3);
}

// TFDataFormatToMklDnnDataFormat gives images as they are, NHWC; weights and their gradient are
// HWIO (mkl_conv_grad_filter_ops.cc, 0a251a06, GetOutputFormat), and each kernel reorders for
// itself.
TEST(TensorflowLayoutsTest, ImagesAreNhwcAndWeightsHwio) {
  const auto plan = PlanOf("cnn", "tensorflow", true);
  for (const Stage& stage : plan->stages()) {
    if (stage.op->kind() != "conv") continue;
    for (const KernelOperand& operand : stage.kernel->operands()) {
      const Arg::Role role = operand.arg.role;
      if (role == Arg::kSrc || role == Arg::kDst || role == Arg::kDiffSrc ||
          role == Arg::kDiffDst) {
        EXPECT_TRUE(operand.desc.layout.SameFor(operand.desc.shape, Layout::ChannelsLast(4)))
            << stage.name << " " << operand.desc.layout.tag();
      }
    }
  }
  for (const PlanParameter& parameter : plan->parameters()) {
    if (parameter.spec.name != "weights") continue;
    const TensorDesc& value = plan->buffers()[parameter.value].desc;
    const TensorDesc& gradient = plan->buffers()[parameter.gradient].desc;
    const Layout hwio = *Layout::Parse(value.shape.rank() == 4 ? "cdba" : "ba");
    EXPECT_TRUE(value.layout.SameFor(value.shape, hwio)) << parameter.layer;
    EXPECT_TRUE(gradient.layout.SameFor(value.shape, hwio)) << parameter.layer;
  }
}

// A convolution that reads its weights in another layout has its own reorder before it, also when
// another one reads the same; one that writes its gradient so has it after it.
TEST(TensorflowLayoutsTest, EveryKernelReordersForItself) {
  const auto plan = PlanOf("cnn", "tensorflow", true);
  const std::vector<Stage>& stages = plan->stages();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    if (stage.op->kind() != "conv") continue;
    if (const KernelOperand* weights = stage.kernel->Find(Arg::kWeights)) {
      const bool is_stored =
          weights->desc.layout.SameFor(weights->desc.shape, *Layout::Parse("cdba"));
      const bool reordered = i > 0 && stages[i - 1].pass == StagePass::kReorder;
      EXPECT_EQ(reordered, !is_stored) << stage.name << " " << NameOf(stage.pass);
      if (reordered) {
        EXPECT_EQ(stages[i - 1].framework_op, stage.framework_op);
      }
    }
    if (const KernelOperand* gradient = stage.kernel->Find(Arg::kDiffWeights)) {
      const bool is_stored =
          gradient->desc.layout.SameFor(gradient->desc.shape, *Layout::Parse("cdba"));
      const bool reordered =
          stages[i + 1].pass == StagePass::kReorder &&
          stages[i + 1].buffers.at(Arg::kSrc) == stage.buffers.at(Arg::kDiffWeights);
      EXPECT_EQ(reordered, !is_stored) << stage.name;
      if (reordered) {
        EXPECT_EQ(stages[i + 1].framework_op, stage.framework_op);
      }
    }
  }
}

// TensorFlow copies the parts of a concatenation also where one memory would do.
TEST(TensorflowLayoutsTest, AConcatenationCopies) {
  const auto plan = PlanOf("googlenet", "tensorflow", false);
  const auto is_concat = [](const Stage& stage) { return stage.framework_op == "ConcatV2"; };
  EXPECT_EQ(std::count_if(plan->stages().begin(), plan->stages().end(), is_concat), 9);
}

// Relu6 is TensorFlow's only ReLU with a bound (remapper.cc fuses no Minimum or Maximum).
TEST(PlanRulesTest, AReluWithAnotherBoundThanSixIsNoRelu6) {
  for (const float bound : {6.0F, 1.0F}) {
    NetworkBuilder net("bounded", {.batch = 1, .image = {3, 8, 8}, .classes = 2});
    const ValueId x = net.Conv("conv", net.input(), {.outputs = 4, .kernel = 3});
    net.Dense("dense", net.Relu("relu", x, bound), 2);
    const auto plan = MakePlan(std::move(net).Take(), RequestOf("tensorflow", false));
    Lines expected = {"conv forward _FusedConv2D", "dense forward _FusedMatMul"};
    if (bound != 6) expected.insert(expected.begin() + 1, "relu forward ");
    EXPECT_EQ(StagesOf(*plan), expected) << bound;
  }
}

TEST(PlanRulesTest, TheBestPlanHasNoRules) {
  EXPECT_EQ(FindPlanRules(kBestPlan), nullptr);
  EXPECT_EQ(FindPlanRules("torch"), nullptr);
  EXPECT_THAT(PlanNames(), testing::ElementsAre("best", "tensorflow", "tensorflow-eigen"));
}

}  // namespace
}  // namespace topdnn
