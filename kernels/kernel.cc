#include "kernels/kernel.h"

namespace topdnn {

Kernel::Kernel(const KernelRequest& request) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    Layout layout = request.LayoutOf(operand.arg);
    if (layout.is_any()) layout = Layout::Plain(operand.shape.rank());
    operands_.push_back(
        {operand.arg, operand.direction, {operand.shape, operand.type, std::move(layout)}});
  }
}

const KernelOperand* Kernel::Find(Arg arg) const {
  for (const KernelOperand& operand : operands_) {
    if (operand.arg == arg) return &operand;
  }
  return nullptr;
}

}  // namespace topdnn
