// Selects the layers that one kernel computes together: a convolution with the batch normalization,
// addition and ReLU after it, and in inference with the depthwise convolution after these; or a
// batch normalization with its ReLU. Also removes layers that change nothing.

#ifndef TOPDNN_NETWORKS_PLANNING_FUSION_H_
#define TOPDNN_NETWORKS_PLANNING_FUSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "networks/graph/graph.h"
#include "networks/planning/planner.h"

namespace topdnn {

// The nodes that one kernel of the forward pass computes: a first node, and the nodes after it that
// are fused into it.
struct ForwardUnit {
  int node = -1;                 // the first node; the kernel uses its parameters
  std::shared_ptr<const Op> op;  // the operation including everything fused
  std::vector<ValueId> sources;  // the values of op's sources, in order
  std::optional<ValueId> sum;    // other source of a fused addition; dst holds it before
  ValueId result = -1;
  std::optional<int> norm;  // the normalization, or factors, folded into the parameters
  // The second layer with parameters (Op::ChainedWith), and the normalization folded into them.
  std::optional<int> chained, chained_norm;
  std::vector<int> fused;     // the nodes after the first, in order, including these
  bool own_backward = false;  // whether the fused operation has its own backward pass
  std::string not_fused;      // why the next layer is not fused: "layer: reason"
};

struct FusedGraph {
  std::vector<ForwardUnit> units;    // ordered: sources are computed before they are read
  std::vector<ValueId> alias_of;     // per value: itself, or the value that it is an alias of
  std::vector<std::string> dropped;  // removed nodes: "node: reason"
};

// Whether the value, which is no alias, is an output of the graph or an output is an alias of it.
bool IsOutput(const Graph& graph, const FusedGraph& fused, ValueId value);

// Returns the reason why the backend of `op` has no kernel for `fused`, or nothing when it has one.
using FusionCheck = std::function<std::optional<std::string>(
    const std::shared_ptr<const Op>& op, const std::shared_ptr<const Op>& fused)>;

// Fuses the nodes of a graph. `refusal` decides whether two operations can be fused.
FusedGraph FuseGraph(const Graph& graph, const PlanRequest& request, const FusionCheck& refusal);

// One operation of a unit's backward pass.
struct BackwardOp {
  int node;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> sources;
  ValueId result;
};

// The operations that the gradient of a unit passes through, from the unit's result to its sources.
std::vector<BackwardOp> BackwardOps(const Graph& graph, const FusedGraph& fused,
                                    const ForwardUnit& unit);

// Whether a backward pass reads the value (and not only its gradient).
bool IsReadInBackward(const Graph& graph, const FusedGraph& fused, ValueId value);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_FUSION_H_
