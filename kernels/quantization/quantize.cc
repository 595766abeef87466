#include "kernels/quantization/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/quantization/integer_types.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

float Quantized(float value, const Quantization& to) {
  const IntegerRange range = RangeOf(to.type);
  return RoundedWithin(range, value / to.scale);
}

DataType QuantizedTypeOf(const ProblemWord& word, std::string_view name) {
  const std::string is_signed = fmt::format("{}s", name);
  const std::string is_unsigned = fmt::format("{}u", name);
  const DataType type = word.Has(is_signed) ? DataType::kS8 : DataType::kU8;
  if (word.WholeNumberOr(type == DataType::kS8 ? is_signed : is_unsigned, 8) != 8) {
    throw std::invalid_argument(fmt::format("'_{}' needs the type s8 or u8", name));
  }
  return type;
}

QuantizeOp::QuantizeOp(Step step, Shape shape, const Quantization& quantization)
    : step_(step), shape_(std::move(shape)), quantization_(quantization) {
  CheckExtents("quantization", shape_);
  if (!IsQuantizedType(quantization_.type)) {
    throw std::invalid_argument(
        fmt::format("quantization to {}: only s8 and u8 are possible", NameOf(quantization_.type)));
  }
  if (!(quantization_.scale > 0) || !std::isfinite(quantization_.scale)) {
    throw std::invalid_argument(fmt::format(
        "quantization by the scale {}: a scale must be above 0 and finite", quantization_.scale));
  }
}

std::string QuantizeOp::Problem() const {
  return fmt::format("{}_type{}_scale{}", shape_.ToString(), NameOf(quantization_.type),
                     quantization_.scale);
}

std::vector<Operand> QuantizeOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  const bool integer = IsQuantizedType(execution.type);
  const DataType real = integer ? DataType::kF32 : execution.type;
  const DataType small = integer ? quantization_.type : execution.type;
  const bool quantizes = step_ == Step::kQuantize;
  return {{Arg::kSrc, Direction::kIn, shape_, quantizes ? real : small},
          {Arg::kDst, Direction::kOut, shape_, quantizes ? small : real}};
}

Arithmetic QuantizeOp::ArithmeticOf(const Execution& execution) const {
  return {.flops = execution.pass == Pass::kForward ? shape_.elements() : 0};
}

namespace {

template <typename T>
class QuantizeReference : public ReferenceKernel {
 public:
  QuantizeReference(const KernelRequest& request, const QuantizeOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const T* src = Data<T>(Arg::kSrc);
    T* dst = Data<T>(Arg::kDst);
    const Quantization& q = op_.quantization();
    const bool quantizes = op_.step() == QuantizeOp::Step::kQuantize;
    for (std::int64_t i = 0; i < op_.shape().elements(); ++i) {
      const auto x = static_cast<float>(src[i]);
      dst[i] = static_cast<T>(quantizes ? Quantized(x, q) : x * q.scale);
    }
  }

 private:
  const QuantizeOp op_;
};

// The division by the scale is ONNX's; oneDNN's reorder multiplies by the inverse, which rounds
// some elements to another integer.
template <typename Src, typename Dst>
class QuantizeLoops : public LoopsKernel {
 public:
  QuantizeLoops(const KernelRequest& request, const QuantizeOp& op)
      : LoopsKernel(request),
        count_(operands_.front().desc.layout.PaddedElements(op.shape())),
        quantization_(op.quantization()) {}

  void Run() noexcept override {
    const Src* src = Data<Src>(Arg::kSrc);
    Dst* dst = Data<Dst>(Arg::kDst);
    const float scale = quantization_.scale;
    const IntegerRange range = RangeOf(quantization_.type);
#pragma omp parallel for simd if (count_ >= kMinParallelElements)
    for (std::int64_t i = 0; i < count_; ++i) {
      const auto x = static_cast<float>(src[i]);
      if constexpr (std::is_same_v<Src, float>) {
        dst[i] = static_cast<Dst>(static_cast<std::int32_t>(RoundedWithin(range, x / scale)));
      } else {
        dst[i] = x * scale;
      }
    }
  }

 private:
  const std::int64_t count_;
  const Quantization quantization_;
};

KernelOrRefusal MakeQuantizeLoops(const KernelRequest& request, const QuantizeOp& op) {
  if (!IsQuantizedType(request.execution.type)) {
    return Refusal{
        fmt::format("the loops quantize to s8 and u8, not to {}", NameOf(request.execution.type))};
  }
  KernelRequest settled = request;
  const Layout layout = FirstSettledLayout(request, op.shape().rank());
  if (layout.is_opaque()) return Refusal{"a loop cannot address the layout " + layout.tag()};
  for (const Arg arg : {Arg(Arg::kSrc), Arg(Arg::kDst)}) {
    const Layout asked = request.LayoutOf(arg);
    if (!asked.is_any() && !asked.SameFor(op.shape(), layout)) {
      return Refusal{"the loops read and write one layout"};
    }
    settled.layouts[arg] = layout;
  }
  const bool is_signed = op.quantization().type == DataType::kS8;
  if (op.step() == QuantizeOp::Step::kQuantize) {
    if (is_signed) return std::make_unique<QuantizeLoops<float, std::int8_t>>(settled, op);
    return std::make_unique<QuantizeLoops<float, std::uint8_t>>(settled, op);
  }
  if (is_signed) return std::make_unique<QuantizeLoops<std::int8_t, float>>(settled, op);
  return std::make_unique<QuantizeLoops<std::uint8_t, float>>(settled, op);
}

template <QuantizeOp::Step kStep>
std::shared_ptr<const Op> ParseQuantize(const ProblemWord& word) {
  return std::make_shared<QuantizeOp>(
      kStep, word.shape(),
      Quantization{QuantizedTypeOf(word, "type"), word.NumberOr("scale", 0.015625F)});
}

const ProblemRegistration kQuantizeProblem("quantize", ParseQuantize<QuantizeOp::Step::kQuantize>);
const ProblemRegistration kDequantizeProblem("dequantize",
                                             ParseQuantize<QuantizeOp::Step::kDequantize>);
const KernelRegistration kQuantizeReference("quantize", "reference",
                                            MakeReference<QuantizeOp, QuantizeReference>);
const KernelRegistration kDequantizeReference("dequantize", "reference",
                                              MakeReference<QuantizeOp, QuantizeReference>);
const KernelRegistration kQuantizeLoops("quantize", "native", MakeQuantizeLoops);
const KernelRegistration kDequantizeLoops("dequantize", "native", MakeQuantizeLoops);
const FidelityDeclaration kQuantizeFidelity[] = {
    FidelityDeclaration(
        {"quantize", "native", Fidelity::kOurs, "a loop; Caffe has no such operation"}),
    FidelityDeclaration(
        {"dequantize", "native", Fidelity::kOurs, "a loop; Caffe has no such operation"}),
};

}  // namespace

}  // namespace topdnn
