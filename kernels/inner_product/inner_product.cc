#include "kernels/inner_product/inner_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/activation/fused_relu.h"
#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

InnerProductOp::InnerProductOp(Shape src, std::int64_t outputs, InnerProductEpilogue epilogue)
    : src_(std::move(src)), outputs_(outputs), epilogue_(epilogue) {
  const auto& extents = src_.extents();
  if ((src_.rank() != 2 && src_.rank() != 4) || outputs_ < 1 ||
      *std::min_element(extents.begin(), extents.end()) < 1) {
    throw std::invalid_argument(
        fmt::format("inner product of {} with {} outputs: the source must be (N, C) or (N, C, H, "
                    "W) and every extent 1 or more",
                    src_.ToString(), outputs_));
  }
  CheckExtents("inner product", src_);
  CheckExtents("inner product, weights", weights_shape());
  CheckExtents("inner product, result", dst_shape());
  CheckWork("inner product", {src_.elements(), outputs_});
  CheckFusedRelu(kind(), epilogue_.relu, epilogue_.bound);
}

std::string InnerProductOp::Problem() const {
  const std::string image = src_.rank() == 4 ? fmt::format("h{}w{}", src_[2], src_[3]) : "";
  return fmt::format("n{}c{}{}k{}{}{}", src_[0], src_[1], image, outputs_,
                     epilogue_.bias ? "_bias" : "",
                     SpellFusedRelu(epilogue_.relu, epilogue_.bound));
}

Shape InnerProductOp::weights_shape() const {
  std::vector<std::int64_t> extents = src_.extents();
  extents[0] = outputs_;
  return Shape(std::move(extents));
}

std::vector<Operand> InnerProductOp::Operands(const Execution& execution) const {
  const OperandTypes types = TypesOf(execution);
  if (execution.pass != Pass::kForward && !types.has_gradients) return {};
  const Shape bias{outputs_};
  std::vector<Operand> operands;
  switch (execution.pass) {
    case Pass::kForward:
      operands = {{Arg::kSrc, Direction::kIn, src_, types.src},
                  {Arg::kWeights, Direction::kIn, weights_shape(), types.weights}};
      if (epilogue_.bias) operands.push_back({Arg::kBias, Direction::kIn, bias, types.parameter});
      operands.push_back({Arg::kDst, Direction::kOut, dst_shape(), types.dst});
      break;
    case Pass::kBackwardData:
      operands = {{Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
                  {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
                  {Arg::kDiffSrc, Direction::kOut, src_, types.src}};
      break;
    case Pass::kBackwardWeights:
      operands = {{Arg::kSrc, Direction::kIn, src_, types.src},
                  {Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
                  {Arg::kDiffWeights, Direction::kOut, weights_shape(), types.parameter}};
      if (epilogue_.bias)
        operands.push_back({Arg::kDiffBias, Direction::kOut, bias, types.parameter});
      break;
  }
  return operands;
}

Arithmetic InnerProductOp::ArithmeticOf(const Execution& /*execution*/) const {
  return OfProducts(batch() * inputs() * outputs_);
}

std::int64_t InnerProductOp::AccumulationLength(Pass pass) const {
  switch (pass) {
    case Pass::kForward:
      return inputs();
    case Pass::kBackwardData:
      return outputs_;
    case Pass::kBackwardWeights:
      return batch();
  }
  return 1;
}

std::vector<Parameter> InnerProductOp::Parameters() const {
  std::vector<Parameter> parameters = {
      {Arg::kWeights, Arg::kDiffWeights, "weights", {outputs_, inputs()}, inputs(), 0.0}};
  if (epilogue_.bias) {
    parameters.push_back({Arg::kBias, Arg::kDiffBias, "bias", {outputs_}, 0, 0.0});
  }
  return parameters;
}

double InnerProductOp::MagnitudeOfDst(const Execution& execution,
                                      const std::function<std::vector<double>(Arg)>& values) const {
  return MagnitudeBeforeBound(*this, execution, values);
}

std::shared_ptr<const Op> InnerProductOp::FusedWith(const Op& next) const {
  const auto* relu = dynamic_cast<const ReluOp*>(&next);
  if (relu == nullptr || epilogue_.relu) return nullptr;
  InnerProductEpilogue fused = epilogue_;
  fused.relu = true;
  fused.bound = relu->bound();
  return std::make_shared<InnerProductOp>(src_, outputs_, fused);
}

std::shared_ptr<const Op> InnerProductOp::FoldedWith(const Op& next) const {
  const auto* norm = dynamic_cast<const BatchNormOp*>(&next);
  if (norm == nullptr || norm->relu() || epilogue_.relu) return nullptr;
  InnerProductEpilogue folded = epilogue_;
  folded.bias = true;
  return std::make_shared<InnerProductOp>(src_, outputs_, folded);
}

namespace {

std::shared_ptr<const Op> ParseInnerProduct(const ProblemWord& word) {
  Shape src{word.FieldOr('n', 1), word.Field('c')};
  if (word.Has('h')) src = {src[0], src[1], word.Field('h'), word.FieldOr('w', word.Field('h'))};
  return std::make_shared<InnerProductOp>(
      src, word.Field('k'),
      InnerProductEpilogue{word.Flag("bias"), word.Flag("relu"), word.NumberOr("bound", 0.0F)});
}

const ProblemRegistration kInnerProductProblem("inner_product", ParseInnerProduct);

}  // namespace

}  // namespace topdnn
