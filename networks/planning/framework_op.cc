#include "networks/planning/framework_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv.h"
#include "kernels/eltwise/add.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/sgd/sgd.h"

namespace topdnn {

namespace {

bool Has(const Stage& stage, Arg arg) { return stage.kernel->Find(arg) != nullptr; }

// A product of weights: the operations without and with fused layers, and the gradients.
struct ProductNames {
  const char* plain;
  const char* fused;
  const char* of_data;
  const char* of_weights;
};

constexpr ProductNames kConvNames = {"Conv2D", "_FusedConv2D", "Conv2DBackpropInput",
                                     "Conv2DBackpropFilter"};
constexpr ProductNames kDepthwiseNames = {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative",
                                          "DepthwiseConv2dNativeBackpropInput",
                                          "DepthwiseConv2dNativeBackpropFilter"};
constexpr ProductNames kMatMulNames = {"MatMul", "_FusedMatMul", "MatMul", "MatMul"};

// remapper.cc fuses a BiasAdd into each of these, but not into a depthwise convolution on Eigen.
std::string ProductOp(const Stage& stage, const PlanRules& rules, const ProductNames& names) {
  if (stage.pass == StagePass::kBackwardData) return names.of_data;
  if (stage.pass == StagePass::kBackwardWeights) {
    const bool has_bias = Has(stage, Arg::kDiffBias);
    return std::string(names.of_weights) + (has_bias ? "+BiasAddGrad" : "");
  }
  if (!stage.fused.empty()) return names.fused;
  if (!Has(stage, Arg::kBias)) return names.plain;
  const bool fuses_bias = RuleKindOf(*stage.op) != kDepthwise || rules.backend == "onednn";
  return fuses_bias ? names.fused : std::string(names.plain) + "+BiasAdd";
}

// The mean of a whole image is Mean (Keras's GlobalAveragePooling2D); its gradient is composed
// (tensorflow/python/ops/math_grad.py, _MeanGrad).
std::string PoolName(const PoolOp& pool, bool forward) {
  const PoolExtents& extents = pool.extents();
  if (pool.algorithm() == PoolAlgorithm::kMax) return forward ? "MaxPool" : "MaxPoolGrad";
  const bool global = extents.r == extents.h && extents.s == extents.w && extents.oh() == 1 &&
                      extents.ow() == 1 && extents.pad_top == 0 && extents.pad_left == 0;
  if (global) return forward ? "Mean" : "Reshape+Tile+RealDiv";
  return forward ? "AvgPool" : "AvgPoolGrad";
}

std::string NormName(const Stage& stage, bool forward) {
  if (!forward) return "FusedBatchNormGradV3";
  return stage.fused.empty() ? "FusedBatchNormV3" : "_FusedBatchNormEx";
}

std::string ResizeName(const InterpolateOp& op, bool forward) {
  static const char* const kNames[] = {"ResizeNearestNeighbor", "ResizeBilinear", "ResizeBicubic"};
  const char* name = kNames[static_cast<std::size_t>(op.settings().interpolation)];
  return fmt::format("{}{}", name, forward ? "" : "Grad");
}

// Operations with one name for each direction.
struct Names {
  const char* forward;
  const char* backward;
};

const std::map<std::string_view, Names>& SimpleNames() {
  static const std::map<std::string_view, Names> names = {
      {"relu", {"Relu", "ReluGrad"}},
      {"bounded_relu", {"Relu6", "Relu6Grad"}},
      {"sigmoid", {"Sigmoid", "SigmoidGrad"}},
      {"softmax", {"Softmax", ""}},
      {"lrn", {"LRN", "LRNGrad"}},
      {"concat", {"ConcatV2", "Slice"}},
      {"flatten", {"Reshape", "Reshape"}},
      {"bias", {"BiasAdd", "BiasAddGrad"}},
      {"transpose", {"Transpose", "Transpose"}},
      {"slice", {"Slice", "Pad"}},
      {"gemm", {"MatMul", "MatMul"}},
      {"matmul", {"BatchMatMulV2", "BatchMatMulV2"}},
      {"dropout", {"RandomUniform+GreaterEqual+Cast+Mul+Mul", "Mul+Mul"}},
      // (a part of the normalization's kernel, with exponential_avg_factor)
      {"moving_average", {"FusedBatchNormV3", ""}},
      {"softmax_cross_entropy", {"SparseSoftmaxCrossEntropyWithLogits", ""}},
      {"adam", {"ResourceApplyAdam", ""}},
  };
  return names;
}

}  // namespace

std::string TensorflowOpOf(const Stage& stage, const PlanRules& rules) {
  const Op& op = *stage.op;
  const std::string_view kind = RuleKindOf(op);
  const bool forward =
      stage.pass != StagePass::kBackwardData && stage.pass != StagePass::kBackwardWeights;
  if (kind == "conv") return ProductOp(stage, rules, kConvNames);
  if (kind == kDepthwise) return ProductOp(stage, rules, kDepthwiseNames);
  if (kind == "inner_product") return ProductOp(stage, rules, kMatMulNames);
  if (kind == "batchnorm") return NormName(stage, forward);
  if (const auto* pool = dynamic_cast<const PoolOp*>(&op)) return PoolName(*pool, forward);
  if (const auto* resize = dynamic_cast<const InterpolateOp*>(&op)) {
    return ResizeName(*resize, forward);
  }
  if (const auto* sgd = dynamic_cast<const SgdOp*>(&op)) {
    return sgd->settings().momentum != 0 ? "ResourceApplyKerasMomentum"
                                         : "ResourceApplyGradientDescent";
  }
  // The only additions of a backward pass sum the gradients of a value.
  if (const auto* add = dynamic_cast<const AddOp*>(&op)) {
    return forward && add->sources() == 2 ? "AddV2" : "AddN";
  }
  const auto found = SimpleNames().find(kind);
  if (found == SimpleNames().end()) return "";
  return forward ? found->second.forward : found->second.backward;
}

void NameFrameworkOps(std::vector<Stage>& stages, const PlanRules& rules) {
  for (Stage& stage : stages) {
    if (stage.pass != StagePass::kReorder) stage.framework_op = TensorflowOpOf(stage, rules);
  }
  const auto uses = [](const Stage& stage, BufferId buffer) {
    return stage.pass != StagePass::kReorder &&
           std::any_of(stage.buffers.begin(), stage.buffers.end(),
                       [buffer](const auto& bound) { return bound.second == buffer; });
  };
  for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
    if (stage->pass != StagePass::kReorder) continue;
    const BufferId dst = stage->buffers.at(Arg::kDst);
    const BufferId src = stage->buffers.at(Arg::kSrc);
    const auto reader = std::find_if(std::next(stage), stages.end(), [&](const Stage& other) {
      return other.pass != StagePass::kUpdate && uses(other, dst);
    });
    const auto writer = std::find_if(std::make_reverse_iterator(stage), stages.rend(),
                                     [&](const Stage& other) { return uses(other, src); });
    if (reader != stages.end()) {
      stage->framework_op = reader->framework_op;
    } else if (writer != stages.rend()) {
      stage->framework_op = writer->framework_op;
    }
  }
}

}  // namespace topdnn
