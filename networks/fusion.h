// Which layers one kernel computes: a convolution with the batch normalization, addition and ReLU
// after it, a batch normalization with its ReLU, and layers that change nothing left out.

#ifndef TOPDNN_NETWORKS_FUSION_H_
#define TOPDNN_NETWORKS_FUSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "networks/graph.h"
#include "networks/planner.h"

namespace topdnn {

// What one kernel of the forward pass computes: a node, and those after it that it takes along.
struct ForwardUnit {
  int node = -1;                 // the first: its parameters are the kernel's
  std::shared_ptr<const Op> op;  // with all that is fused
  std::vector<ValueId> sources;  // of the op's source operands, in their order
  std::optional<ValueId> sum;    // what dst holds before: a fused addition's other source
  ValueId result = -1;
  std::optional<int> norm;    // the batch normalization folded into the parameters
  std::vector<int> fused;     // the further nodes, in order, the folded one among them
  bool own_backward = false;  // the fused operation has a backward pass of its own
  std::string not_fused;      // why the next layer is not: "layer: reason"
};

struct FusedGraph {
  std::vector<ForwardUnit> units;  // in an order in which every source is there
  std::vector<ValueId> canonical;  // per value: itself, or what it equals where a node does nothing
  std::vector<std::string> dropped;  // those nodes, each with the reason
};

// Whether the backend of `op` computes `fused` too.
using FusionOffer = std::function<std::optional<std::string>(
    const std::shared_ptr<const Op>& op, const std::shared_ptr<const Op>& fused)>;

// `refusal` says why the backend of the first operation has no kernel for the second, or nothing
// when it has one.
FusedGraph FuseGraph(const Graph& graph, const PlanRequest& request, const FusionOffer& refusal);

// One operation of a unit's backward pass.
struct BackwardOp {
  int node;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> sources;
  ValueId result;
};

// What a unit's gradient goes through, from its result to its sources.
std::vector<BackwardOp> BackwardOps(const Graph& graph, const FusedGraph& fused,
                                    const ForwardUnit& unit);

// Whether a backward pass reads the value itself.
bool ReadInBackward(const Graph& graph, const FusedGraph& fused, ValueId value);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_FUSION_H_
