#include "kernels/conv/conv_depthwise.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernels/activation/fused_relu.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

// The depthwise convolution of `stride` after a convolution of single pixels.
ConvExtents DepthwiseAfter(const ConvExtents& pointwise, std::int64_t stride) {
  ConvExtents e;
  e.n = pointwise.n;
  e.c = e.k = e.groups = pointwise.k;
  e.h = pointwise.h;
  e.w = pointwise.w;
  e.r = e.s = 3;
  e.stride_h = e.stride_w = stride;
  e.pad_top = e.pad_left = e.pad_bottom = e.pad_right = 1;
  return e;
}

ConvExtents PixelsOf(const ConvExtents& e) {
  ConvExtents pixels;
  pixels.n = e.n;
  pixels.c = e.c;
  pixels.h = e.h;
  pixels.w = e.w;
  pixels.k = e.k;
  return pixels;
}

}  // namespace

bool ConvDepthwiseOp::Joins(const ConvOp& pointwise, const ConvOp& depthwise) {
  const ConvExtents& first = pointwise.extents();
  const std::int64_t stride = depthwise.extents().stride_h;
  return first == PixelsOf(first) && (stride == 1 || stride == 2) &&
         depthwise.extents() == DepthwiseAfter(first, stride) && !pointwise.epilogue().sum &&
         !depthwise.epilogue().sum && pointwise.epilogue().function == nullptr &&
         depthwise.epilogue().function == nullptr && !pointwise.epilogue().narrow &&
         !depthwise.epilogue().narrow;
}

ConvDepthwiseOp::ConvDepthwiseOp(const ConvOp& pointwise, const ConvOp& depthwise)
    : pointwise_(pointwise), depthwise_(depthwise) {
  if (Joins(pointwise, depthwise)) return;
  throw std::invalid_argument(
      fmt::format("the convolutions {} and {} are not one of single pixels and a depthwise one of "
                  "3x3 with stride 1 or 2, padding 1 and no addition after it",
                  pointwise.Problem(), depthwise.Problem()));
}

std::string ConvDepthwiseOp::Problem() const {
  const ConvExtents& e = pointwise_.extents();
  const ConvEpilogue& first = pointwise_.epilogue();
  const ConvEpilogue& second = depthwise_.epilogue();
  std::string problem =
      fmt::format("n{}c{}h{}w{}k{}u{}", e.n, e.c, e.h, e.w, e.k, depthwise_.extents().stride_h);
  if (first.bias) problem += "_bias";
  problem += SpellFusedRelu(first.relu, first.bound);
  if (second.bias) problem += "_dwbias";
  if (second.relu) problem += "_dwrelu";
  if (second.bound != 0.0F) problem += fmt::format("_dwbound{}", second.bound);
  return problem;
}

std::vector<Operand> ConvDepthwiseOp::Operands(const Execution& execution) const {
  const bool exact_between = execution.type == DataType::kF32 || execution.type == DataType::kF64;
  if (execution.pass != Pass::kForward || !exact_between) return {};
  std::vector<Operand> operands = pointwise_.Operands(execution);
  operands.pop_back();  // the tensor between the convolutions
  for (Operand operand : depthwise_.Operands(execution)) {
    if (operand.arg == Arg::kSrc) continue;
    if (operand.arg != Arg::kDst) operand.arg = OfDepthwise(operand.arg);
    operands.push_back(operand);
  }
  return operands;
}

Arithmetic ConvDepthwiseOp::ArithmeticOf(const Execution& execution) const {
  if (!Has(execution)) return {};
  Arithmetic work = pointwise_.ArithmeticOf(execution);
  const Arithmetic second = depthwise_.ArithmeticOf(execution);
  work.macs += second.macs;
  work.flops += second.flops;
  *work.flops_without_padding += *second.flops_without_padding;
  return work;
}

std::int64_t ConvDepthwiseOp::AccumulationLength(Pass pass) const {
  return pointwise_.AccumulationLength(pass) + depthwise_.AccumulationLength(pass);
}

double ConvDepthwiseOp::MagnitudeOfDst(
    const Execution& execution, const std::function<std::vector<double>(Arg)>& values) const {
  const double terms = static_cast<double>(pointwise_.AccumulationLength(execution.pass)) *
                       static_cast<double>(depthwise_.AccumulationLength(execution.pass));
  return RootMeanSquare(values(Arg::kSrc)) * RootMeanSquare(values(Arg::kWeights)) *
         RootMeanSquare(values(OfDepthwise(Arg::kWeights))) * std::sqrt(terms);
}

std::vector<Parameter> ConvDepthwiseOp::Parameters() const {
  std::vector<Parameter> parameters = pointwise_.Parameters();
  for (Parameter parameter : depthwise_.Parameters()) {
    parameter.arg = OfDepthwise(parameter.arg);
    parameter.gradient = OfDepthwise(parameter.gradient);
    parameter.name = NameOf(parameter.arg);
    parameters.push_back(parameter);
  }
  return parameters;
}

std::shared_ptr<const Op> ConvDepthwiseOp::WithDepthwise(
    const std::shared_ptr<const Op>& op) const {
  const auto* depthwise = dynamic_cast<const ConvOp*>(op.get());
  if (depthwise == nullptr || !Joins(pointwise_, *depthwise)) return nullptr;
  return std::make_shared<ConvDepthwiseOp>(pointwise_, *depthwise);
}

std::shared_ptr<const Op> ConvDepthwiseOp::FusedWith(const Op& next) const {
  return WithDepthwise(depthwise_.FusedWith(next));
}

std::shared_ptr<const Op> ConvDepthwiseOp::FoldedWith(const Op& next) const {
  return WithDepthwise(depthwise_.FoldedWith(next));
}

namespace {

std::shared_ptr<const Op> ParseConvDepthwise(const ProblemWord& word) {
  ConvExtents e;
  e.n = word.FieldOr('n', 1);
  e.c = word.Field('c');
  e.h = word.Field('h');
  e.w = word.FieldOr('w', e.h);
  e.k = word.Field('k');
  const ConvOp pointwise(e, {.bias = word.Flag("bias"),
                             .relu = word.Flag("relu"),
                             .bound = word.NumberOr("bound", 0.0F)});
  const ConvOp depthwise(DepthwiseAfter(e, word.FieldOr('u', 1)),
                         {.bias = word.Flag("dwbias"),
                          .relu = word.Flag("dwrelu"),
                          .bound = word.NumberOr("dwbound", 0.0F)});
  return std::make_shared<ConvDepthwiseOp>(pointwise, depthwise);
}

const ProblemRegistration kDepthwiseProblem("conv_depthwise", ParseConvDepthwise);

}  // namespace

}  // namespace topdnn
