// Lays out the parameters of a plan and plans their updates.

#ifndef TOPDNN_NETWORKS_PLANNING_PLAN_PARAMETERS_H_
#define TOPDNN_NETWORKS_PLANNING_PLAN_PARAMETERS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "networks/parameters/cancelled_parameters.h"
#include "networks/planning/plan_draft.h"

namespace topdnn {

class ParameterPlanner {
 public:
  explicit ParameterPlanner(PlanDraft& draft)
      : draft_(draft), cancelled_(CancelledParameters(draft.graph)) {}

  // Lays out the parameters, and their gradients in the same layout. The parameters of a layer
  // share one block, so one flat update is enough for them. A layer that does not influence the
  // loss has no gradients.
  void Settle();
  // Adds the update stages.
  void PlanUpdates();
  // Binds parameters to the stages. Adds a reorder before the first stage that needs another layout
  // than the parameter has. Moves the stages out of the draft.
  std::vector<Stage> Bind();

  std::vector<PlanParameter> TakeParameters() { return std::move(parameters_); }
  std::vector<PreparedParameters> TakePrepared() { return std::move(prepared_); }

 private:
  void SettleNode(int index);
  // The layout in which a parameter is stored: that of its gradient, or the one that the forward
  // kernel reads, or row-major if the kernel reads a prepared form.
  TensorDesc DescOf(int node, const Parameter& spec) const;
  // Whether inference reads the unit's weights in a prepared form.
  bool IsPrepared(const ForwardUnit& unit) const;
  // Plans what the unit's kernel reads instead of the parameters of one of its layers. `index` is
  // that of the kernel's operands: Arg::kOnly, or 1 for the chained layer.
  void PlanPrepared(const ForwardUnit& unit, int layer, std::optional<int> norm, int index);
  BufferId ValueOf(int node, Arg arg) const;

  BufferId Block(int node, std::size_t bytes, std::string_view what, BufferRole role);
  BufferId Part(int node, BufferId parent, const TensorDesc& desc, std::size_t offset,
                const std::string& what);
  BufferId LearningRate(const TensorDesc& desc);
  // Whether the plan's rules store the layer's weights in a layout of their own.
  bool IsStoredByRules() const;
  BufferId GradientFor(const StageDraft& stage, Arg arg, std::size_t parameter,
                       std::vector<Stage>& after);

  PlanDraft& draft_;
  const std::set<std::pair<int, Arg>> cancelled_;  // per node and role
  std::vector<PlanParameter> parameters_;
  std::map<std::pair<int, Arg>, std::size_t> index_;          // per node and role
  std::map<int, BufferId> value_blocks_, gradient_blocks_;    // per node
  std::map<std::pair<int, Arg>, BufferId> prepared_buffers_;  // prepared forms that kernels read
  std::vector<PreparedParameters> prepared_;
  BufferId learning_rate_ = -1;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLANNING_PLAN_PARAMETERS_H_
