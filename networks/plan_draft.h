// The state of a plan in the making, and what every part of the planner does with it: asks for
// kernels, makes buffers, inserts reorders.

#ifndef TOPDNN_NETWORKS_PLAN_DRAFT_H_
#define TOPDNN_NETWORKS_PLAN_DRAFT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/kernel.h"
#include "networks/plan.h"
#include "networks/planner.h"

namespace topdnn {

using Layouts = std::map<Arg, Layout>;

// A kernel and the backend that offered it.
struct Offered {
  std::unique_ptr<Kernel> kernel;
  std::string backend;
};

// A stage under construction: operands that are parameters are bound when every layout is known.
struct StageDraft {
  Stage stage;
  int node = -1;
  std::set<Arg> parameters;  // to be bound by BindParameters
};

class PlanDraft {
 public:
  // Buffers that hold one logical tensor in several layouts, the first being the original.
  using Copies = std::vector<BufferId>;

  PlanDraft(const Graph& graph_to_plan, const PlanRequest& request_to_meet)
      : graph(graph_to_plan),
        request(request_to_meet),
        activations(graph.values().size()),
        gradients(graph.values().size()) {}

  const Graph& graph;
  const PlanRequest& request;
  std::vector<Buffer> buffers;
  std::vector<StageDraft> stages;
  std::vector<Copies> activations;                // per value
  std::vector<Copies> gradients;                  // per value
  std::map<std::pair<int, Arg>, BufferId> saved;  // by forward for backward, per node
  // What the forward kernel wants of a node's parameter, and what its gradient is.
  std::map<std::pair<int, Arg>, TensorDesc> forward_parameters;
  std::map<std::pair<int, Arg>, TensorDesc> gradient_parameters;

  Execution ExecutionOf(Pass pass) const { return {pass, request.training, request.type}; }
  const TensorDesc& DescOf(BufferId buffer) const { return buffers[buffer].desc; }

  // A kernel from the request's backend or, where that has none, its fallbacks.
  std::variant<Offered, Refusal> TryOffer(const std::shared_ptr<const Op>& op,
                                          const Execution& execution, const Layouts& layouts) const;
  // The same; throws PlanError where there is none.
  Offered Demand(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const Layouts& layouts) const;
  // The backend's own choice of layouts, or preferred ones where they cost nothing: the same
  // implementation runs, and reorders are saved. `preferences` come with the dearest wish first.
  Offered Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const std::vector<Layouts>& preferences) const;

  BufferId NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent = false);
  // The copy of a tensor that lies as `desc` says; when there is none, a reorder stage makes it.
  BufferId Require(Copies& copies, const TensorDesc& desc, const std::string& name);
  Stage ReorderStage(const std::string& name, BufferId from, BufferId to) const;
};

// The parameter of `op` in the role `arg`, and the one whose gradient is `gradient`.
bool IsParameter(const Op& op, Arg arg);
std::optional<Arg> ParameterOfGradient(const Op& op, Arg gradient);

Stage MakeStage(std::string name, StagePass pass, std::shared_ptr<const Op> op,
                const Execution& execution, Offered offered);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_DRAFT_H_
