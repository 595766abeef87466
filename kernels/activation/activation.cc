#include "kernels/activation/activation.h"

namespace topdnn {

std::vector<Operand> ActivationOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, shape_, type},
              {Arg::kDst, Direction::kOut, shape_, type}};
    case Pass::kBackwardData:
      return {{Arg::kDiffDst, Direction::kIn, shape_, type},
              {Arg::kDst, Direction::kIn, shape_, type},
              {Arg::kDiffSrc, Direction::kOut, shape_, type}};
    case Pass::kBackwardWeights:
      break;
  }
  return {};
}

Work ActivationOp::WorkOf(Pass pass, DataType type) const {
  if (pass == Pass::kBackwardWeights) return {};
  Work work;
  work.flops = ElementFlops(pass) * shape_.elements();
  work.flops_without_padding = work.flops;
  work.bytes = CompulsoryBytes(*this, {pass, true, type});
  return work;
}

}  // namespace topdnn
