#include "kernels/kernel/same_operands.h"

#include <algorithm>

namespace topdnn {

bool SameOperands(const Kernel& a, const Kernel& b) {
  return a.operands().size() == b.operands().size() &&
         std::all_of(a.operands().begin(), a.operands().end(), [&](const KernelOperand& operand) {
           const KernelOperand* other = b.Find(operand.arg);
           return other != nullptr && other->direction == operand.direction &&
                  other->desc == operand.desc;
         });
}

}  // namespace topdnn
