// Makes a plan from a graph and a request.

#ifndef TOPDNN_NETWORKS_PLANNING_PLANNER_H_
#define TOPDNN_NETWORKS_PLANNING_PLANNER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/parameters/optimizer.h"
#include "networks/plan/plan.h"
#include "networks/planning/plan_rules.h"

namespace topdnn {

// A layer's name and a pass.
using LayerPass = std::pair<std::string, Pass>;

struct PlanRequest {
  std::string backend = "onednn";
  bool training = true;
  DataType type = DataType::kF32;
  int threads = 1;
  Optimizer optimizer;
  // The rules of a framework that the plan mirrors. nullptr: the best plan for the backend.
  const PlanRules* rules = nullptr;
  // Fuses the layers that the backend can fuse (see fusion.h) and that the rules allow. Also leaves
  // out the copies of concatenations (DropCopiesOfConcats). Otherwise each layer is a stage.
  bool fuse = true;
  // Training draws dropout masks. Inference never does.
  bool dropout = true;
  // Variants (kernels/kernel/variant.h) to request, in order of preference, when the backend's own
  // choice is not the best one for the network. Variants that are refused or do not exist are
  // skipped.
  std::map<LayerPass, std::vector<std::string>> variants;
  // Backends for operations that `backend` does not have, in order of preference. Empty: such a
  // graph is an error. Reorders do not need it: they also run on oneDNN or on the reference.
  std::vector<std::string> fallback;
  // Limit in bytes for the memory of the plan. 0: no limit.
  std::size_t memory_limit = 0;
};

// Plans an inference step (the graph) or a training step: the graph, softmax cross-entropy of its
// output (N, classes), the backward passes and the updates. Throws PlanError when no backend has a
// kernel for a layer, when an output is an input that no layer changes, when training has several
// outputs, an output of another shape or a layer without a backward pass, and when the plan needs
// more than the memory limit.
//
// Layouts: An operation that chooses its layouts (convolution) gets the backend's choice; it uses
// the existing layout of its source only if the implementation stays the same. An operation that
// keeps its source's layout (pooling) uses that. The first input, if it has four dimensions, is
// row-major (NCHW) or channels last (NHWC), as its first consumer chooses; other inputs are
// row-major. In training, parameters are stored in the layout of their gradients, so that updates
// need no reorder. If the forward or the backward-data kernel needs another layout, a reorder stage
// makes a copy in it once per step. In bf16 these stages make the working copies of the f32
// parameters. An inference plan stores a parameter as its kernel reads it, or row-major if the
// kernel reads a prepared form (PreparedParameters in plan.h).
//
// With the rules of a framework (plan_rules.h), activations, weights and fusions are as there, each
// stage names the framework's operation, and what only this planner does is left out:
// concatenations in place, and the gradient of a ReLU on the result of a max pooling.
std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_PLANNER_H_
