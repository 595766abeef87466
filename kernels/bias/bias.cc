#include "kernels/bias/bias.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

BiasOp::BiasOp(Shape shape) : shape_(std::move(shape)) {
  CheckExtents("bias", shape_);
  if (shape_.rank() < 2) {
    throw std::invalid_argument(
        fmt::format("bias of {}: it needs the dimensions (N, C, ...)", shape_.ToString()));
  }
}

std::vector<Operand> BiasOp::Operands(const Execution& execution) const {
  const DataType type = execution.type;
  const DataType parameter = type == DataType::kF64 ? DataType::kF64 : DataType::kF32;
  const Shape bias{channels()};
  switch (execution.pass) {
    case Pass::kForward:
      return {{Arg::kSrc, Direction::kIn, shape_, type},
              {Arg::kBias, Direction::kIn, bias, parameter},
              {Arg::kDst, Direction::kOut, shape_, type}};
    case Pass::kBackwardWeights:
      return {{Arg::kDiffDst, Direction::kIn, shape_, type},
              {Arg::kDiffBias, Direction::kOut, bias, parameter}};
    case Pass::kBackwardData:
      break;
  }
  return {};
}

Arithmetic BiasOp::ArithmeticOf(const Execution& execution) const {
  if (execution.pass == Pass::kBackwardData) return {};
  return {.flops = shape_.elements() - (execution.pass == Pass::kForward ? 0 : channels())};
}

std::int64_t BiasOp::AccumulationLength(Pass pass) const {
  return pass == Pass::kForward ? 2 : shape_.elements() / channels();
}

std::vector<Parameter> BiasOp::Parameters() const {
  return {{Arg::kBias, Arg::kDiffBias, "bias", {channels()}, 0, 0.0}};
}

namespace {

std::shared_ptr<const Op> ParseBias(const ProblemWord& word) {
  return std::make_shared<BiasOp>(word.shape());
}

const ProblemRegistration kBiasProblem("bias", ParseBias);

}  // namespace

}  // namespace topdnn
