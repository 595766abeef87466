#include "networks/planning/plan_rules.h"

#include <algorithm>
#include <array>

#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"

namespace topdnn {

namespace {

using Kinds = std::span<const std::string_view>;

constexpr std::array<std::string_view, 1> kRelu = {"relu"};
constexpr std::array<std::string_view, 1> kRelu6 = {"bounded_relu"};
constexpr std::array<std::string_view, 2> kAddRelu = {"add", "relu"};
constexpr std::array<std::string_view, 2> kAddRelu6 = {"add", "bounded_relu"};
constexpr std::array<std::string_view, 2> kNormRelu = {"batchnorm", "relu"};
constexpr std::array<std::string_view, 2> kNormRelu6 = {"batchnorm", "bounded_relu"};

// tensorflow/core/grappler/optimizers/remapper.cc, commit 599ec864. By function:
// FindContractionWithBiasAndActivation takes convolutions and matrix products with a BiasAdd, and
// FindConv2DWithBatchNormAndActivation inference's normalization. IsCpuCompatible leaves depthwise
// convolutions to oneDNN; Remapper::Optimize and FindFusedBatchNormEx do the same with an addition
// and with a normalization that has its ReLU. Both also match in training: the gradients read the
// ReLU's result and the normalization's source, so what is fused away has one reader.
constexpr FusionRule kOnEigen[] = {
    {.first = "conv", .others = kRelu, .needs_bias = true},
    {.first = "conv", .others = kRelu6, .needs_bias = true},
    {.first = "conv", .others = kNormRelu, .in_training = false},
    {.first = "conv", .others = kNormRelu6, .in_training = false},
    {.first = "inner_product", .others = kRelu, .needs_bias = true},
    {.first = "inner_product", .others = kRelu6, .needs_bias = true},
};
constexpr FusionRule kOnOneDnn[] = {
    {.first = "conv", .others = kRelu, .needs_bias = true},
    {.first = "conv", .others = kRelu6, .needs_bias = true},
    {.first = "conv", .others = kAddRelu, .needs_bias = true},
    {.first = "conv", .others = kAddRelu6, .needs_bias = true},
    {.first = "conv", .others = kNormRelu, .in_training = false},
    {.first = "conv", .others = kNormRelu6, .in_training = false},
    {.first = kDepthwise, .others = kRelu, .needs_bias = true},
    {.first = kDepthwise, .others = kRelu6, .needs_bias = true},
    {.first = "inner_product", .others = kRelu, .needs_bias = true},
    {.first = "inner_product", .others = kRelu6, .needs_bias = true},
    {.first = "batchnorm", .others = kRelu},
};

// tensorflow/core/common_runtime/mkl_layout_pass.cc, commit 63044994, rewrites the operations of
// its list rinfo_ to oneDNN's; the loss and the updates are not in it.
constexpr std::array<std::string_view, 3> kNotRewritten = {"softmax_cross_entropy", "sgd", "adam"};

constexpr PlanRules kPlanRules[] = {
    {.name = "tensorflow",
     .source = "TensorFlow 2.9 or later with oneDNN",
     .backend = "onednn",
     .on_eigen = kNotRewritten,
     .fusions = kOnOneDnn,
     .channels_last = true},
    {.name = "tensorflow-eigen",
     .source = "TensorFlow 2.9 or later with TF_ENABLE_ONEDNN_OPTS=0",
     .backend = "eigen",
     .on_eigen = {},
     .fusions = kOnEigen,
     .channels_last = false},  // (the kernels of `eigen` have no other layouts)
};

bool HasBias(const Op& op) {
  const std::vector<Parameter> parameters = op.Parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& one) { return one.arg == Arg::kBias; });
}

}  // namespace

std::string_view RuleKindOf(const Op& op) {
  constexpr float kBoundOfRelu6 = 6.0F;
  const auto* relu = dynamic_cast<const ReluOp*>(&op);
  if (relu != nullptr && relu->bound() != 0 && relu->bound() != kBoundOfRelu6) return kClipped;
  const auto* conv = dynamic_cast<const ConvOp*>(&op);
  return conv != nullptr && IsDepthwise(conv->extents()) ? kDepthwise : op.kind();
}

bool PlanRules::Fuses(const Op& first_op, Kinds kinds, bool training) const {
  return std::any_of(fusions.begin(), fusions.end(), [&](const FusionRule& rule) {
    if (rule.first != RuleKindOf(first_op) || kinds.size() > rule.others.size()) return false;
    if (training && !rule.in_training) return false;
    if (rule.needs_bias && !HasBias(first_op)) return false;
    return std::equal(kinds.begin(), kinds.end(), rule.others.begin());
  });
}

bool PlanRules::RunsOnEigen(std::string_view kind) const {
  return std::find(on_eigen.begin(), on_eigen.end(), kind) != on_eigen.end();
}

std::vector<std::string> PlanNames() {
  std::vector<std::string> names = {std::string(kBestPlan)};
  for (const PlanRules& rules : kPlanRules) names.emplace_back(rules.name);
  return names;
}

const PlanRules* FindPlanRules(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kPlanRules), std::end(kPlanRules),
                   [name](const PlanRules& rules) { return rules.name == name; });
  return found == std::end(kPlanRules) ? nullptr : found;
}

Layout StoredLayout(const Op& op, const Shape& shape) {
  // The tags of HWIO are in the letters of (O, I, H, W), and of (G, O/G, I/G, H, W) with groups.
  const bool has_weights = op.kind() == "conv" || op.kind() == "inner_product";
  if (has_weights && shape.rank() == 5) return *Layout::Parse("decab");
  if (has_weights && shape.rank() == 4) return *Layout::Parse("cdba");
  if (has_weights && shape.rank() == 2) return *Layout::Parse("ba");
  return Layout::Plain(shape.rank());
}

// tensorflow/core/kernels/mkl: mkl_conv_ops.cc, mkl_conv_grad_filter_ops.cc and
// mkl_conv_grad_input_ops.cc give a convolution its images in the format of the operation, and let
// it choose that of the weights and of their gradient. mkl_matmul_op_fused.cc lets a matrix product
// choose only if its weights are constants (is_weight_const_).
Layout RequiredLayout(const Op& op, const Operand& operand, bool training) {
  if (IsActivation(operand.arg)) return Layout::ChannelsLast(operand.shape.rank());
  if (IsWeights(operand.arg) && training && op.kind() == "inner_product") {
    return StoredLayout(op, operand.shape);
  }
  return Layout::Any();
}

}  // namespace topdnn
