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

Arithmetic ActivationOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardWeights) return {};
  return {.flops = ElementFlops(execution.pass) * shape_.elements()};
}

}  // namespace topdnn
