#include "kernels/conv_transpose/conv_transpose.h"

#include <utility>

#include "kernels/conv/conv.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

std::shared_ptr<const Op> ConvolutionOf(const ConvNdExtents& e) {
  auto general = std::make_shared<ConvNdOp>(e);  // checks the extents
  if (e.axes.size() != 2) return general;
  return std::make_shared<ConvOp>(ImageExtents(e), ConvEpilogue{.bias = false});
}

}  // namespace

ConvTransposeOp::ConvTransposeOp(ConvNdExtents convolution)
    : extents_(std::move(convolution)), convolution_(ConvolutionOf(extents_)) {}

Pass ConvTransposeOp::PassOfConvolution(Pass pass) {
  if (pass == Pass::kForward) return Pass::kBackwardData;
  return pass == Pass::kBackwardData ? Pass::kForward : Pass::kBackwardWeights;
}

Arg ConvTransposeOp::ArgOfConvolution(Arg arg) {
  if (arg == Arg::kSrc) return Arg::kDiffDst;
  if (arg == Arg::kDst) return Arg::kDiffSrc;
  if (arg == Arg::kDiffSrc) return Arg::kDst;
  if (arg == Arg::kDiffDst) return Arg::kSrc;
  return arg;
}

std::string ConvTransposeOp::Problem() const { return ConvNdOp(extents_).Problem(); }

std::vector<Operand> ConvTransposeOp::Operands(const Execution& execution) const {
  if (!TypesOf(execution).has_gradients) return {};  // int8
  Execution of_convolution = execution;
  of_convolution.pass = PassOfConvolution(execution.pass);
  std::vector<Operand> operands = convolution_->Operands(of_convolution);
  // The exchange of roles is its own inverse.
  for (Operand& operand : operands) operand.arg = ArgOfConvolution(operand.arg);
  return operands;
}

Arithmetic ConvTransposeOp::ArithmeticOf(const Execution& execution) const {
  return convolution_->ArithmeticOf(
      {PassOfConvolution(execution.pass), execution.training, execution.type});
}

std::int64_t ConvTransposeOp::AccumulationLength(Pass pass) const {
  return convolution_->AccumulationLength(PassOfConvolution(pass));
}

std::vector<Parameter> ConvTransposeOp::Parameters() const {
  std::vector<Parameter> parameters = convolution_->Parameters();
  parameters.front().fan_in = AccumulationLength(Pass::kForward);
  return parameters;
}

namespace {

std::shared_ptr<const Op> ParseConvTranspose(const ProblemWord& word) {
  const auto convolution = ParseFields("conv_nd", word);
  return std::make_shared<ConvTransposeOp>(dynamic_cast<const ConvNdOp&>(*convolution).extents());
}

const ProblemRegistration kConvTransposeProblem("conv_transpose", ParseConvTranspose);

}  // namespace

}  // namespace topdnn
