// The state of a plan during planning, and functions that all parts of the planner use: choosing
// kernels, making buffers, inserting reorders.

#ifndef TOPDNN_NETWORKS_PLANNING_PLAN_DRAFT_H_
#define TOPDNN_NETWORKS_PLANNING_PLAN_DRAFT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel/kernel.h"
#include "networks/plan/plan.h"
#include "networks/planning/fusion.h"
#include "networks/planning/planner.h"

namespace topdnn {

using Layouts = std::map<Arg, Layout>;

// A kernel, its backend, its variant, and the request that it was made from.
struct Offered {
  std::unique_ptr<Kernel> kernel;
  std::string backend;
  std::string workspaces;    // the backend whose workspaces it writes and reads
  std::string variant = {};  // requested variant; empty: the backend's choice
  KernelRequest request = {};
};

// Layouts that a stage prefers, and layouts and a backend that it requires.
struct LayoutPreferences {
  std::vector<Layouts> preferred;  // in order of preference
  Layouts required;                // layouts of tensors that forward has saved
  std::string backend;             // whose workspaces these are, for kernels of it; empty: any
};

// A stage under construction. Operands that are parameters are bound when all layouts are known.
struct StageDraft {
  Stage stage;
  int node = -1;
  std::set<Arg> parameters;  // to be bound by ParameterPlanner::Bind
};

class PlanDraft {
 public:
  // Buffers that hold one logical tensor in several layouts. The first is the original.
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
  std::map<std::pair<int, Arg>, BufferId> saved;  // written by forward, read by backward; per node
  std::vector<PlanStatistic> statistics;
  std::map<int, std::string> forward_workspaces;  // the backend of a node's workspaces
  std::set<int> recomputing;  // nodes whose forward kernel saves no workspace for its backward one
  // The descriptors that the forward kernel needs for a node's parameter, and those of its
  // gradient.
  std::map<std::pair<int, Arg>, TensorDesc> forward_parameters;
  std::map<std::pair<int, Arg>, TensorDesc> gradient_parameters;

  Execution ExecutionOf(Pass pass) const { return {pass, request.training, request.type}; }
  const TensorDesc& DescOf(BufferId buffer) const { return buffers[buffer].desc; }
  const GraphNode& NodeAt(int index) const { return graph.nodes()[index]; }
  ValueId AliasOf(ValueId value) const { return fused.alias_of[value]; }
  // f64 in a check in double, otherwise f32: the type of parameters, statistics, input and loss.
  DataType ParameterType() const;

  // The request's backend and its fallbacks, each before topdnn's own code for what it lacks, in
  // order of preference.
  std::vector<std::string> Backends() const;
  // The same for an operation, which may run elsewhere by the rules.
  std::vector<std::string> BackendsOf(const Op& op) const;
  KernelOrRefusal Ask(const std::string& backend, const std::shared_ptr<const Op>& op,
                      const Execution& execution, const Layouts& layouts) const;
  // A kernel from the first backend that has one, in that backend's own layouts. Throws PlanError
  // when there is none.
  Offered RequireKernel(const std::string& layer, const std::shared_ptr<const Op>& op,
                        const Execution& execution) const;
  // A kernel in the preferred layouts if the backend then runs the same implementation, which saves
  // reorders. Otherwise a kernel in the backend's own layouts. Throws PlanError when there is none.
  Offered Choose(const std::string& layer, const std::shared_ptr<const Op>& op,
                 const Execution& execution, const LayoutPreferences& preferences) const;

  BufferId NewBuffer(std::string name, TensorDesc desc, BufferRole role, bool persistent = false);
  // The running kMean or kVariance of a batch normalization.
  BufferId NewStatistic(int node, Arg arg, const TensorDesc& desc);
  // The copy of a tensor in the layout of `desc`. If there is none, adds a reorder stage.
  BufferId RequireLayout(Copies& copies, const TensorDesc& desc, const std::string& name);
  Stage ReorderStage(const std::string& name, BufferId from, BufferId to) const;
  void AddStage(int node, Stage stage, std::set<Arg> parameters = {});

 private:
  // The preferences with the layouts that the rules require.
  LayoutPreferences ByRules(const Op& op, const Execution& execution,
                            LayoutPreferences preferences) const;
  // Asks one backend. The preferences override the layouts of `request`.
  static std::optional<Offered> ChooseOn(const std::string& backend, const KernelRequest& request,
                                         const LayoutPreferences& preferences,
                                         std::optional<Refusal>& why);
  std::optional<Offered> ChooseVariant(const LayerPass& layer, const std::shared_ptr<const Op>& op,
                                       const Execution& execution,
                                       const LayoutPreferences& preferences) const;
  [[noreturn]] void Refuse(const std::string& layer, const Op& op,
                           const std::optional<Refusal>& why) const;
};

// IsParameter: whether `arg` is a parameter of `op`. ParameterOfGradient: the parameter whose
// gradient is `gradient`.
bool IsParameter(const Op& op, Arg arg);
std::optional<Arg> ParameterOfGradient(const Op& op, Arg gradient);

Stage MakeStage(std::string name, StagePass pass, std::shared_ptr<const Op> op,
                const Execution& execution, Offered offered, std::map<Arg, BufferId> buffers);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_PLAN_DRAFT_H_
