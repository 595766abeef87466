// A convolution or an inner product on small integers: u8 or s8 times s8, exact sums in s32, and
// one rounding to the result. Source: Jacob et al. 2018, "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference"; ONNX's operators QLinearConv and
// QuantizeLinear.

#ifndef TOPDNN_KERNELS_QUANTIZATION_QUANTIZED_LAYER_H_
#define TOPDNN_KERNELS_QUANTIZATION_QUANTIZED_LAYER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// How the sums become the result, in units of the result: of its scale, or 1 if it is f32.
struct Requantization {
  DataType src = DataType::kU8;      // u8 or s8
  DataType dst = DataType::kU8;      // u8, s8 or f32
  std::vector<float> scales = {};    // (K): one unit of a sum
  std::optional<DataType> sum = {};  // a second source to add, u8 or s8
  float sum_scale = 0.0F;            // one unit of it

  bool operator==(const Requantization&) const = default;
};

// Forward alone: src, weights, [bias], [sum] -> dst. In f32 arithmetic, in this order, where
// `products` is the s32 sum of the products for an element of output channel k:
//
//   dst = limit(round(relu((products + bias[k]) * scales[k] + sum_scale * sum)))
//
// `layer` is a ConvOp or an InnerProductOp. Its ReLU and the bound of it apply in units of the
// result. Weights and bias are the integers; in s8 and u8 their types are s8 and s32, src, sum and
// dst have those of the requantization. In f32 and f64 all operands are of that type, with the same
// values.
class QuantizedLayerOp : public Op {
 public:
  // Throws std::invalid_argument for types and scales that do not fit the layer.
  QuantizedLayerOp(std::shared_ptr<const Op> layer, Requantization requantization);

  const Op& layer() const { return *layer_; }
  // The layer without its bias and its ReLU.
  std::shared_ptr<const Op> Sums() const;
  const Requantization& requantization() const { return requantization_; }

  std::string_view kind() const override;
  // The problem of the layer and the types: "n8c64h56w56k64r1s1u1v1p0q0_bias_srcu8_dstu8_plusu8";
  // "_real" for a result in f32. The scales are not part of it; those of a parsed problem spread
  // the results over their range.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override {
    return layer_->AccumulationLength(pass);
  }
  PlannerTraits Traits() const override {
    return {.layout_policy = LayoutPolicy::kChooses,
            .final_relu_bound = layer_->Traits().final_relu_bound};
  }
  std::vector<Parameter> Parameters() const override { return layer_->Parameters(); }
  bool has_bias() const { return layer_->Find({Pass::kForward, false}, Arg::kBias).has_value(); }
  std::int64_t channels() const;

 private:
  std::shared_ptr<const Op> layer_;
  Requantization requantization_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_QUANTIZATION_QUANTIZED_LAYER_H_
