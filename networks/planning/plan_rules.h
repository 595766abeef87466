// The rules by which a step is planned: those of a framework as data, so that a plan may mirror it.
// Without rules the planner does what is best for the backend.
//
// The sources of the rules are named in plan_rules.cc; docs/tensorflow-plan.md explains them.

#ifndef TOPDNN_NETWORKS_PLANNING_PLAN_RULES_H_
#define TOPDNN_NETWORKS_PLANNING_PLAN_RULES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// Layers that the framework's graph optimizer makes one operation.
struct FusionRule {
  std::string_view first;                    // kind of the first layer, or kDepthwise
  std::span<const std::string_view> others;  // kinds of the layers after it, in order
  bool needs_bias = false;                   // of the first layer
  bool in_training = true;                   // otherwise only in inference
};

// The kind of a convolution with one input channel per group, in FusionRule::first.
inline constexpr std::string_view kDepthwise = "depthwise";
// The kind of a ReLU with another bound than 6, for which TensorFlow has no single operation.
inline constexpr std::string_view kClipped = "clipped_relu";

struct PlanRules {
  std::string_view name;     // of --plan
  std::string_view source;   // the framework and its version
  std::string_view backend;  // that runs the operations
  // Kinds of operations that run on the backend `eigen` instead.
  std::span<const std::string_view> on_eigen;
  std::span<const FusionRule> fusions;  // nothing else is fused; a prefix of a rule is one, too
  // Images are NHWC and weights HWIO wherever an operation may choose; a kernel that needs weights
  // in another layout reorders them in each step of training, and so it does with their gradient.
  bool channels_last = false;

  // Whether `kinds`, the layers after `first`, are one operation with it.
  bool Fuses(const Op& first, std::span<const std::string_view> kinds, bool training) const;
  bool RunsOnEigen(std::string_view kind) const;
};

// The name of --plan without rules.
inline constexpr std::string_view kBestPlan = "best";

// All names of --plan, with kBestPlan.
std::vector<std::string> PlanNames();
// The rules of this name; nullptr for kBestPlan and for an unknown name.
const PlanRules* FindPlanRules(std::string_view name);

// kDepthwise, kClipped, or the operation's kind.
std::string_view RuleKindOf(const Op& op);

// The layout in which rules with `channels_last` require the operand; `any`: the kernel chooses. A
// matrix product is given its weights as they are stored, in training.
Layout RequiredLayout(const Op& op, const Operand& operand, bool training);
// HWIO, the layout in which such a framework stores the weights of `op`; of other parameters
// row-major.
Layout StoredLayout(const Op& op, const Shape& shape);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_PLAN_RULES_H_
