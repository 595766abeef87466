#include "kernels/conv/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/activation/fused_relu.h"
#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv_depthwise.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/binary.h"
#include "kernels/op/problem.h"
#include "kernels/op/window.h"
#include "kernels/op/window_problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

void Check(const ConvExtents& e) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(
        fmt::format("convolution of {}x{}x{}x{} with {} kernels of {}x{}: {}", e.n, e.c, e.h, e.w,
                    e.k, e.r, e.s, why));
  };
  if (std::min({e.n, e.c, e.h, e.w, e.k, e.r, e.s}) < 1) refuse("every extent must be 1 or more");
  if (std::min({e.stride_h, e.stride_w, e.dilation_h, e.dilation_w, e.groups}) < 1) {
    refuse("stride, dilation and groups must be 1 or more");
  }
  if (std::min({e.pad_top, e.pad_left, e.pad_bottom, e.pad_right}) < 0) {
    refuse("padding must be 0 or more");
  }
  if (std::max({e.r, e.s, e.stride_h, e.stride_w, e.dilation_h, e.dilation_w, e.pad_top, e.pad_left,
                e.pad_bottom, e.pad_right}) > kMaxWindow) {
    refuse(fmt::format("kernel, stride, dilation and padding must be at most {}", kMaxWindow));
  }
  CheckExtents("convolution", {e.n, e.c, e.h, e.w});
  CheckExtents("convolution, weights", {e.k, e.c, e.r, e.s});
  if (e.c % e.groups != 0 || e.k % e.groups != 0) {
    refuse(fmt::format("{} groups must divide both channel counts", e.groups));
  }
  if (e.h + e.pad_top + e.pad_bottom < (e.r - 1) * e.dilation_h + 1 ||
      e.w + e.pad_left + e.pad_right < (e.s - 1) * e.dilation_w + 1) {
    refuse("the kernel is larger than the padded image");
  }
  CheckExtents("convolution, result", {e.n, e.k, e.oh(), e.ow()});
  CheckWork("convolution", {e.n, e.k, e.oh(), e.ow(), e.c / e.groups, e.r, e.s});
}

// A problem's word has no '_' within a flag: "hardswish".
std::string FlagOf(const UnaryFunction& function) {
  std::string flag(function.name);
  std::erase(flag, '_');
  return flag;
}

}  // namespace

std::int64_t ConvExtents::oh() const {
  return OutputExtent(h, pad_top, pad_bottom, r, stride_h, dilation_h);
}

std::int64_t ConvExtents::ow() const {
  return OutputExtent(w, pad_left, pad_right, s, stride_w, dilation_w);
}

ConvOp::ConvOp(const ConvExtents& extents, ConvEpilogue epilogue)
    : extents_(extents), epilogue_(epilogue) {
  Check(extents_);
  CheckFusedRelu(ConvOp::kind(), epilogue_.relu, epilogue_.bound);
  if (epilogue_.relu && epilogue_.function != nullptr) {
    throw std::invalid_argument(
        fmt::format("convolution with a ReLU and {}: give one of them", epilogue_.function->name));
  }
  const ConvExtents& e = extents_;
  unread_ = src_shape().elements() -
            e.n * e.c * ElementsRead(e.h, e.oh(), e.r, e.stride_h, e.pad_top, e.dilation_h) *
                ElementsRead(e.w, e.ow(), e.s, e.stride_w, e.pad_left, e.dilation_w);
}

std::string ConvOp::Problem() const {
  const ConvExtents& e = extents_;
  std::string problem = fmt::format("n{}c{}h{}w{}k{}{}", e.n, e.c, e.h, e.w, e.k, SpellWindow(e));
  if (e.dilation_h != 1 || e.dilation_w != 1) {
    problem += fmt::format("d{}e{}", e.dilation_h, e.dilation_w);
  }
  if (e.groups != 1) problem += fmt::format("g{}", e.groups);
  if (epilogue_.bias) problem += "_bias";
  if (epilogue_.sum) problem += "_sum";
  if (epilogue_.narrow) problem += "_narrow";
  if (epilogue_.function != nullptr) problem += fmt::format("_{}", FlagOf(*epilogue_.function));
  return problem + SpellFusedRelu(epilogue_.relu, epilogue_.bound);
}

Shape ConvOp::src_shape() const { return {extents_.n, extents_.c, extents_.h, extents_.w}; }

Shape ConvOp::weights_shape() const {
  const ConvExtents& e = extents_;
  if (e.groups == 1) return {e.k, e.c, e.r, e.s};
  return {e.groups, e.k / e.groups, e.c / e.groups, e.r, e.s};
}

Shape ConvOp::dst_shape() const { return {extents_.n, extents_.k, extents_.oh(), extents_.ow()}; }

std::vector<Operand> ConvOp::Operands(const Execution& execution) const {
  OperandTypes types = TypesOf(execution);
  if (epilogue_.narrow && types.has_gradients) types.parameter = types.weights;
  if (execution.pass != Pass::kForward && !types.has_gradients) return {};
  const Shape bias{extents_.k};
  std::vector<Operand> operands;
  switch (execution.pass) {
    case Pass::kForward:
      operands = {{Arg::kSrc, Direction::kIn, src_shape(), types.src, unread_},
                  {Arg::kWeights, Direction::kIn, weights_shape(), types.weights}};
      if (epilogue_.bias) operands.push_back({Arg::kBias, Direction::kIn, bias, types.parameter});
      operands.push_back(
          {Arg::kDst, epilogue_.sum ? Direction::kInOut : Direction::kOut, dst_shape(), types.dst});
      break;
    case Pass::kBackwardData:
      operands = {{Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
                  {Arg::kWeights, Direction::kIn, weights_shape(), types.weights},
                  {Arg::kDiffSrc, Direction::kOut, src_shape(), types.src}};
      break;
    case Pass::kBackwardWeights:
      operands = {{Arg::kSrc, Direction::kIn, src_shape(), types.src, unread_},
                  {Arg::kDiffDst, Direction::kIn, dst_shape(), types.dst},
                  {Arg::kDiffWeights, Direction::kOut, weights_shape(), types.parameter}};
      if (epilogue_.bias)
        operands.push_back({Arg::kDiffBias, Direction::kOut, bias, types.parameter});
      break;
  }
  return operands;
}

Arithmetic ConvOp::ArithmeticOf(const Execution& /*execution*/) const {
  const ConvExtents& e = extents_;
  const std::int64_t per_tap = e.n * e.k * (e.c / e.groups);
  Arithmetic work = OfProducts(per_tap * e.oh() * e.r * e.ow() * e.s);
  work.flops_without_padding = 2 * per_tap *
                               TapsInside(e.h, e.oh(), e.r, e.stride_h, e.pad_top, e.dilation_h) *
                               TapsInside(e.w, e.ow(), e.s, e.stride_w, e.pad_left, e.dilation_w);
  return work;
}

std::int64_t ConvOp::AccumulationLength(Pass pass) const {
  const ConvExtents& e = extents_;
  switch (pass) {
    case Pass::kForward:
      return e.c / e.groups * e.r * e.s;
    case Pass::kBackwardData:
      return e.k / e.groups * e.r * e.s;
    case Pass::kBackwardWeights:
      return e.n * e.oh() * e.ow();
  }
  return 1;
}

double ConvOp::MagnitudeOfDst(const Execution& execution,
                              const std::function<std::vector<double>(Arg)>& values) const {
  return MagnitudeBeforeBound(*this, execution, values);
}

std::vector<Parameter> ConvOp::Parameters() const {
  const ConvExtents& e = extents_;
  const std::int64_t fan_in = e.c / e.groups * e.r * e.s;
  std::vector<Parameter> parameters = {
      {Arg::kWeights, Arg::kDiffWeights, "weights", {e.k, e.c / e.groups, e.r, e.s}, fan_in, 0.0}};
  if (epilogue_.bias) {
    parameters.push_back({Arg::kBias, Arg::kDiffBias, "bias", {e.k}, 0, 0.0});
  }
  return parameters;
}

PlannerTraits ConvOp::Traits() const {
  const ConvExtents& e = extents_;
  const bool pads = std::max({e.pad_top, e.pad_left, e.pad_bottom, e.pad_right}) > 0;
  return {.layout_policy = LayoutPolicy::kChooses,
          .final_relu_bound = epilogue_.relu ? std::optional(epilogue_.bound) : std::nullopt,
          .preserves_channel_constants = !HasFunction() && !pads,
          .adds_constant_last = !HasFunction()};
}

std::shared_ptr<const Op> ConvOp::FusedWith(const Op& next) const {
  if (HasFunction()) return nullptr;  // a function is always last
  ConvEpilogue fused = epilogue_;
  if (const auto* relu = dynamic_cast<const ReluOp*>(&next)) {
    fused.relu = true;
    fused.bound = relu->bound();
  } else if (const auto* add = dynamic_cast<const AddOp*>(&next);
             add != nullptr && add->sources() == 2 && add->shape() == dst_shape() &&
             !epilogue_.sum) {
    fused.sum = true;
    fused.relu = add->relu();
  } else if (const auto* unary = dynamic_cast<const UnaryOp*>(&next);
             unary != nullptr && unary->HasDefaults() && unary->shape() == dst_shape()) {
    fused.function = &unary->function();
  } else {
    return nullptr;
  }
  return std::make_shared<ConvOp>(extents_, fused);
}

std::shared_ptr<const Op> ConvOp::FoldedWith(const Op& next) const {
  const auto* norm = dynamic_cast<const BatchNormOp*>(&next);
  const auto* scale = dynamic_cast<const BinaryOp*>(&next);
  const bool folds = norm != nullptr ? !norm->relu() : scale != nullptr && scale->ScalesChannels();
  if (!folds || HasFunction() || epilogue_.sum) return nullptr;
  ConvEpilogue folded = epilogue_;
  folded.bias = folded.bias || norm != nullptr;
  return std::make_shared<ConvOp>(extents_, folded);
}

std::shared_ptr<const Op> ConvOp::ChainedWith(const Op& next) const {
  const auto* depthwise = dynamic_cast<const ConvOp*>(&next);
  if (depthwise == nullptr || !ConvDepthwiseOp::Joins(*this, *depthwise)) return nullptr;
  return std::make_shared<ConvDepthwiseOp>(*this, *depthwise);
}

std::string FunctionRefusal(std::string_view whose, const Op& conv, Pass pass) {
  const auto* const op = dynamic_cast<const ConvOp*>(&conv);
  if (op == nullptr || op->epilogue().function == nullptr || pass != Pass::kForward) return "";
  return fmt::format("{} no {} in a convolution", whose, op->epilogue().function->name);
}

namespace {

std::shared_ptr<const Op> ParseConv(const ProblemWord& word) {
  auto e = ReadImageAndWindow<ConvExtents>(word);
  e.k = word.Field('k');
  e.dilation_h = word.FieldOr('d', 1);
  e.dilation_w = word.FieldOr('e', e.dilation_h);
  e.groups = word.FieldOr('g', 1);
  ConvEpilogue epilogue{word.Flag("bias"), word.Flag("sum"), word.Flag("relu"),
                        word.NumberOr("bound", 0.0F)};
  epilogue.narrow = word.Flag("narrow");
  for (const UnaryFunction& function : UnaryFunctions()) {
    if (!word.Flag(FlagOf(function))) continue;
    if (epilogue.function != nullptr) {
      throw std::invalid_argument(
          fmt::format("give one function, not {} and {}", epilogue.function->name, function.name));
    }
    epilogue.function = &function;
  }
  return std::make_shared<ConvOp>(e, epilogue);
}

const ProblemRegistration kConvProblem("conv", ParseConv);

}  // namespace

}  // namespace topdnn
