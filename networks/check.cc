#include "networks/check.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "kernels/registry.h"
#include "kernels/thread_width.h"
#include "kernels/tolerance.h"

namespace topdnn {

namespace {

// What the reference's forward kernels saved for its backward ones, by the plan's buffer: the
// formats are each backend's own.
using SavedByReference = std::map<BufferId, Tensor>;

class StageChecker {
 public:
  StageChecker(Plan& plan, const Stage& stage, SavedByReference& saved)
      : plan_(plan), stage_(stage), saved_(saved) {}

  StageCheck Check() {
    StageCheck check;
    // bf16 kernels are held to f32 arithmetic on the same, already rounded, operands.
    Execution execution = stage_.execution;
    check.tolerance = Tolerance(*stage_.op, execution);
    if (execution.type != DataType::kF64) execution.type = DataType::kF32;
    KernelOrRefusal offer =
        MakeKernel("reference", {stage_.op, execution, plan_.threads(), {}, ""});
    if (const auto* refusal = std::get_if<Refusal>(&offer)) {
      stage_.kernel->Run();
      check.agrees = false;
      check.reason = fmt::format("the reference cannot check it: {}", refusal->reason);
      return check;
    }
    kernel_ = std::get<std::unique_ptr<Kernel>>(std::move(offer));
    BindReference();
    stage_.kernel->Run();
    kernel_->Run();
    Compare(check);
    return check;
  }

 private:
  bool IsSaved(Arg arg) const {
    return plan_.buffers()[stage_.buffers.at(arg)].role == BufferRole::kSaved;
  }

  // Gives the reference its operands: copies of what the stage is about to read.
  void BindReference() {
    std::map<Arg, void*> memory;
    for (const KernelOperand& operand : kernel_->operands()) {
      const BufferId buffer = stage_.buffers.at(operand.arg);
      if (IsSaved(operand.arg)) {
        auto [entry, is_new] = saved_.try_emplace(buffer, operand.desc);
        memory[operand.arg] = entry->second.data();
        continue;
      }
      auto entry = tensors_.emplace(operand.arg, Tensor(operand.desc)).first;
      if (operand.direction != Direction::kOut) {
        FromDouble(ReadStage(operand.arg), operand.desc, entry->second.data());
      }
      memory[operand.arg] = entry->second.data();
    }
    kernel_->Prepare(memory);
  }

  std::vector<double> ReadStage(Arg arg) const {
    return ToDouble(stage_.kernel->Find(arg)->desc, plan_.Data(stage_.buffers.at(arg)));
  }

  void Compare(StageCheck& check) {
    for (const KernelOperand& operand : kernel_->operands()) {
      if (operand.direction == Direction::kIn || IsSaved(operand.arg)) continue;
      const double error = RelativeError(ReadStage(operand.arg),
                                         ToDouble(operand.desc, tensors_.at(operand.arg).data()));
      if (!(error <= check.error)) check.error = error;
      if (error <= check.tolerance) continue;
      check.agrees = false;
      check.reason = fmt::format(
          "{} differs from the reference by {:.3g} of its largest entry, {:.3g} allowed",
          NameOf(operand.arg), error, check.tolerance);
    }
  }

  Plan& plan_;
  const Stage& stage_;
  SavedByReference& saved_;
  std::unique_ptr<Kernel> kernel_;
  std::map<Arg, Tensor> tensors_;
};

}  // namespace

std::vector<StageCheck> CheckStages(Plan& plan) {
  const ThreadWidth width(plan.threads());
  SavedByReference saved;
  std::vector<StageCheck> checks;
  for (const Stage& stage : plan.stages()) {
    checks.push_back(StageChecker(plan, stage, saved).Check());
  }
  return checks;
}

}  // namespace topdnn
