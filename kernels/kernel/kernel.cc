#include "kernels/kernel/kernel.h"

#include <fmt/format.h>

namespace topdnn {

Kernel::Kernel(const KernelRequest& request) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    Layout layout = request.LayoutOf(operand.arg);
    if (layout.is_any()) layout = Layout::Plain(operand.shape.rank());
    operands_.push_back({operand.arg,
                         operand.direction,
                         {operand.shape, operand.type, std::move(layout)},
                         operand.unread});
  }
}

std::optional<Layout> CommonLayout(const KernelRequest& request, const Shape& shape) {
  Layout common;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (operand.arg == Arg::kWorkspace || operand.shape != shape || layout.is_any()) continue;
    if (!common.is_any() && !layout.SameFor(shape, common)) return std::nullopt;
    if (common.is_any()) common = layout;
  }
  return common.is_any() ? Layout::Plain(shape.rank()) : common;
}

std::optional<Layout> CommonLayout(const KernelRequest& request) {
  Layout common;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (operand.arg == Arg::kWorkspace || layout.is_any()) continue;
    if (layout.is_opaque()) return std::nullopt;
    if (!common.is_any() && !layout.SameFor(operand.shape, common)) return std::nullopt;
    if (common.is_any()) common = layout;
  }
  return common;
}

Layout FirstSettledLayout(const KernelRequest& request, int rank) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    Layout layout = request.LayoutOf(operand.arg);
    if (operand.arg != Arg::kWorkspace && !layout.is_any()) return layout;
  }
  return Layout::Plain(rank);
}

const KernelOperand* Kernel::Find(Arg arg) const {
  for (const KernelOperand& operand : operands_) {
    if (operand.arg == arg) return &operand;
  }
  return nullptr;
}

Execution ExecutionOf(const Kernel& kernel, const Op& op, const Execution& execution) {
  Execution done = execution;
  done.recomputes = op.MayRecompute(execution) && kernel.Find(Arg::kWorkspace) == nullptr;
  return done;
}

std::string RecomputingRefusal(const KernelRequest& request, std::string_view whose) {
  if (!request.execution.recomputes || !request.op->MayRecompute(request.execution)) return {};
  return fmt::format("{} of {} need the workspace of forward, and this computation has none", whose,
                     request.op->kind());
}

}  // namespace topdnn
