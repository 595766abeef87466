// From a graph and a request to a plan.

#ifndef TOPDNN_NETWORKS_PLANNER_H_
#define TOPDNN_NETWORKS_PLANNER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "networks/graph.h"
#include "networks/optimizer.h"
#include "networks/plan.h"

namespace topdnn {

// A layer by its name, in a pass.
using LayerPass = std::pair<std::string, Pass>;

struct PlanRequest {
  std::string backend = "onednn";
  bool training = true;
  DataType type = DataType::kF32;
  int threads = 1;
  Optimizer optimizer;
  // Fuse what the backend fuses (see fusion.h).
  bool fuse = true;
  // Training draws dropout's masks; inference never does.
  bool dropout = true;
  // Variants (kernels/variant.h) to ask for, the dearest first, where the backend's own choice is
  // not the best for the network. One that is refused, or does not exist, is passed over.
  std::map<LayerPass, std::vector<std::string>> variants;
  // Backends to take an operation from that `backend` lacks, in order; empty: such a graph is an
  // error.
  std::vector<std::string> fallback;
  // The plan may not take more memory than this. 0: no limit.
  std::size_t memory_limit = 0;
};

// Plans an inference step (the graph) or a training step: the graph, softmax cross-entropy of its
// output (N, classes), the backward passes and the updates. Throws PlanError when a backend has no
// kernel for a layer, or when the plan would take more than the memory limit.
//
// Layouts: an operation that chooses (convolution) is asked for its own choice first, and takes the
// layout that its source already has only when the implementation is the same; one that follows
// (pooling) takes its source's. Parameters live in the layout of their gradients, so that updates
// need no reorder; where the forward or the backward-data kernel wants another, a reorder stage
// makes it, once a step. In bf16 those stages make the working copies of the f32 parameters. An
// inference plan keeps its parameters as its kernels read them.
std::unique_ptr<Plan> MakePlan(const Graph& graph, const PlanRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNER_H_
