#include "kernels/reorder/reorder.h"

#include <fmt/format.h>

namespace topdnn {

std::string ReorderOp::Problem() const {
  return fmt::format("{}_{}_{}", shape_.ToString(), NameOf(from_), NameOf(to_));
}

std::vector<Operand> ReorderOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  return {{Arg::kSrc, Direction::kIn, shape_, from_}, {Arg::kDst, Direction::kOut, shape_, to_}};
}

Work ReorderOp::WorkOf(Pass pass, DataType type) const {
  Work work;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

}  // namespace topdnn
