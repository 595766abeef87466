// The steps between real numbers and small integers: quantization and its inverse, as ONNX's
// QuantizeLinear and DequantizeLinear with one scale and the zero point 0.

#ifndef TOPDNN_KERNELS_QUANTIZATION_QUANTIZE_H_
#define TOPDNN_KERNELS_QUANTIZATION_QUANTIZE_H_

#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// A real number is `scale` times an integer of `type`, s8 or u8.
struct Quantization {
  DataType type = DataType::kS8;
  float scale = 1.0F;

  bool operator==(const Quantization&) const = default;
};

// The nearest integer to value / scale, a tie to the even one, limited to the type's range. The
// result is that of f32 arithmetic, as in ONNX.
float Quantized(float value, const Quantization& to);

// kQuantize: dst = Quantized(src). kDequantize: dst = src * scale. In s8 and u8, the integers are
// of the quantization's type and the real numbers f32. In f32 and f64, all operands are of that
// type, with the same values.
class QuantizeOp : public Op {
 public:
  enum class Step { kQuantize, kDequantize };

  // Throws std::invalid_argument for a scale that is not above 0 and finite, and for a type other
  // than s8 and u8.
  QuantizeOp(Step step, Shape shape, const Quantization& quantization);

  Step step() const { return step_; }
  const Shape& shape() const { return shape_; }
  const Quantization& quantization() const { return quantization_; }

  std::string_view kind() const override {
    return step_ == Step::kQuantize ? "quantize" : "dequantize";
  }
  std::string Problem() const override;  // "8x64x56x56_typeu8_scale0.125"
  std::vector<Operand> Operands(const Execution& execution) const override;
  // One multiplication or division per element.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 0; }

 private:
  Step step_;
  Shape shape_;
  Quantization quantization_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_QUANTIZATION_QUANTIZE_H_
