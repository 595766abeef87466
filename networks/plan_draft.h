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
#include "networks/fusion.h"
#include "networks/plan.h"
#include "networks/planner.h"

namespace topdnn {

using Layouts = std::map<Arg, Layout>;

// A kernel and the backend that offered it.
struct Offered {
  std::unique_ptr<Kernel> kernel;
  std::string backend;
  std::string variant = {};  // by which it was asked for; empty: the backend's own choice
};

// What a stage would like, and what it must have.
struct Wishes {
  std::vector<Layouts> preferences;  // the dearest first
  Layouts required;                  // of what forward has saved
  std::string backend;               // the only one that can read that; empty: any
};

// A stage under construction: operands that are parameters are bound when every layout is known.
struct StageDraft {
  Stage stage;
  int node = -1;
  std::set<Arg> parameters;  // to be bound by ParameterPlanner::Bind
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
  FusedGraph fused;
  std::vector<Buffer> buffers;
  std::vector<StageDraft> stages;
  std::vector<Copies> activations;                // per value
  std::vector<Copies> gradients;                  // per value
  std::map<std::pair<int, Arg>, BufferId> saved;  // by forward for backward, per node
  std::vector<PlanStatistic> statistics;
  std::map<int, std::string> run_by;  // the backend of a node's forward kernel
  // What the forward kernel wants of a node's parameter, and what its gradient is.
  std::map<std::pair<int, Arg>, TensorDesc> forward_parameters;
  std::map<std::pair<int, Arg>, TensorDesc> gradient_parameters;

  Execution ExecutionOf(Pass pass) const { return {pass, request.training, request.type}; }
  const TensorDesc& DescOf(BufferId buffer) const { return buffers[buffer].desc; }
  const GraphNode& NodeAt(int index) const { return graph.nodes()[index]; }
  ValueId Canonical(ValueId value) const { return fused.canonical[value]; }
  // f64 in a check in double, else f32: of parameters, statistics, the input and the loss.
  DataType ParameterType() const;

  // The request's backend and its fallbacks.
  std::vector<std::string> Backends() const;
  KernelOrRefusal Ask(const std::string& backend, const std::shared_ptr<const Op>& op,
                      const Execution& execution, const Layouts& layouts) const;
  // A kernel from the first backend that has one, on the backend's own layouts. Throws PlanError
  // where there is none.
  Offered Demand(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution) const;
  // The backend's own choice of layouts, or preferred ones where they cost nothing: the same
  // implementation runs, and reorders are saved.
  Offered Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const Wishes& wishes) const;

  BufferId NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent = false);
  // A batch normalization's running kMean or kVariance.
  BufferId NewStatistic(int node, Arg arg, const TensorDesc& desc);
  // The copy of a tensor that lies as `desc` says; when there is none, a reorder stage makes it.
  BufferId Require(Copies& copies, const TensorDesc& desc, const std::string& name);
  Stage ReorderStage(const std::string& name, BufferId from, BufferId to) const;
  void AddStage(int node, Stage stage, std::set<Arg> parameters = {});

 private:
  // From one backend, asked by `request`, whose layouts give way to the wishes'.
  static std::optional<Offered> ChooseOn(const std::string& backend, const KernelRequest& request,
                                         const Wishes& wishes, std::optional<Refusal>& why);
  std::optional<Offered> ChooseVariant(const LayerPass& layer, const std::shared_ptr<const Op>& op,
                                       const Execution& execution, const Wishes& wishes) const;
  [[noreturn]] void Refuse(const std::string& layer, const Op& op,
                           const std::optional<Refusal>& why) const;
};

// The parameter of `op` in the role `arg`, and the one whose gradient is `gradient`.
bool IsParameter(const Op& op, Arg arg);
std::optional<Arg> ParameterOfGradient(const Op& op, Arg gradient);
// What an operation saves for its backward pass beside its result.
bool IsSaved(Arg arg);

Stage MakeStage(std::string name, StagePass pass, std::shared_ptr<const Op> op,
                const Execution& execution, Offered offered, std::map<Arg, BufferId> buffers);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_DRAFT_H_
