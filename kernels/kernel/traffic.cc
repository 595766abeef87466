#include "kernels/kernel/traffic.h"

namespace topdnn {

std::int64_t CompulsoryBytes(const Kernel& kernel) {
  std::int64_t bytes = 0;
  for (const KernelOperand& operand : kernel.operands()) {
    const TensorDesc& desc = operand.desc;
    // The backend gives the size of a workspace in its private form.
    const bool private_form = operand.arg == Arg::kWorkspace && desc.layout.is_opaque();
    const auto size = private_form ? static_cast<std::int64_t>(desc.bytes())
                                   : (desc.shape.elements() - operand.unread) *
                                         static_cast<std::int64_t>(SizeOf(desc.type));
    bytes += operand.direction == Direction::kInOut ? 2 * size : size;
  }
  return bytes;
}

}  // namespace topdnn
