// Quantized convolution and inner product on oneDNN, with the requantization in the same primitive.

#include "kernels/library/onednn.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/quantization/integer_types.h"
#include "kernels/quantization/quantized_layer.h"

namespace topdnn {

namespace {

using onednn::DescOf;

// A primitive that finds its second source in dst.
class QuantizedPrimitive : public Kernel {
 public:
  QuantizedPrimitive(const KernelRequest& request, std::unique_ptr<Kernel> primitive)
      : Kernel(request), primitive_(std::move(primitive)) {
    implementation_ = primitive_->implementation();
    isa_ = primitive_->isa();
    run_scratch_bytes_ = primitive_->run_scratch_bytes();
    for (KernelOperand& operand : operands_) {
      const Arg same = operand.arg == Arg::kSum ? Arg(Arg::kDst) : operand.arg;
      operand.desc.layout = primitive_->Find(same)->desc.layout;
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    const auto sum = memory.find(Arg::kSum);
    dst_ = memory.at(Arg::kDst);
    sum_ = sum == memory.end() ? dst_ : sum->second;
    bytes_ = Find(Arg::kDst)->desc.bytes();
    primitive_->Prepare(memory);
  }

  void Run() noexcept override {
    if (sum_ != dst_) CopyBytes(sum_, bytes_, dst_);
    primitive_->Run();
  }

 private:
  std::unique_ptr<Kernel> primitive_;
  void* dst_ = nullptr;
  const void* sum_ = nullptr;
  std::size_t bytes_ = 0;
};

dnnl::primitive_attr AttributesOf(const QuantizedLayerOp& op) {
  const Requantization& r = op.requantization();
  dnnl::primitive_attr attributes = onednn::Attributes();
  onednn::ScaleSums(attributes, r.scales);
  dnnl::post_ops post_ops;
  if (r.sum) {
    post_ops.append_sum(
        r.sum_scale, 0,
        *r.sum == DataType::kU8 ? dnnl::memory::data_type::u8 : dnnl::memory::data_type::s8);
  }
  if (const std::optional<float> bound = op.Traits().final_relu_bound) {
    onednn::AppendRelu(post_ops, *bound);
  }
  attributes.set_post_ops(post_ops);
  return attributes;
}

template <typename Primitive, typename PrimitiveDesc>
std::unique_ptr<Kernel> MakeQuantized(const KernelRequest& request, const QuantizedLayerOp& op,
                                      const PrimitiveDesc& pd) {
  std::vector<onednn::PrimitiveOperand> operands = {
      {Arg::kSrc, Direction::kIn, DNNL_ARG_SRC, pd.src_desc()},
      {Arg::kWeights, Direction::kIn, DNNL_ARG_WEIGHTS, pd.weights_desc()}};
  if (op.has_bias()) {
    operands.push_back({Arg::kBias, Direction::kIn, DNNL_ARG_BIAS, pd.bias_desc()});
  }
  operands.push_back({Arg::kDst, Direction::kInOut, DNNL_ARG_DST, pd.dst_desc()});
  return std::make_unique<QuantizedPrimitive>(
      request, onednn::MakePrimitiveKernel<Primitive>(request, pd, std::move(operands)));
}

KernelOrRefusal MakeQuantizedLayer(const KernelRequest& request, const QuantizedLayerOp& op) {
  if (!IsQuantizedType(request.execution.type)) {
    return Refusal{fmt::format("oneDNN computes a {} in u8 and s8, not in {}", op.kind(),
                               NameOf(request.execution.type))};
  }
  if (!onednn::SumsAreExact()) {
    return Refusal{
        "oneDNN's sums of 8-bit products are exact only on a CPU with VNNI or AMX, which this one "
        "lacks"};
  }
  return onednn::Offer(request, [&]() -> KernelOrRefusal {
    constexpr auto kInference = dnnl::prop_kind::forward_inference;
    if (const auto* conv = dynamic_cast<const ConvOp*>(&op.layer())) {
      using Forward = dnnl::convolution_forward;
      const ConvExtents& e = conv->extents();
      const dnnl::memory::dims strides = {e.stride_h, e.stride_w};
      const dnnl::memory::dims dilates = {e.dilation_h - 1, e.dilation_w - 1};
      const dnnl::memory::dims before = {e.pad_top, e.pad_left};
      const dnnl::memory::dims after = {e.pad_bottom, e.pad_right};
      const auto pd = onednn::Describe<Forward>(
          AttributesOf(op), kInference, dnnl::algorithm::convolution_direct,
          DescOf(request, Arg::kSrc), DescOf(request, Arg::kWeights), DescOf(request, Arg::kBias),
          DescOf(request, Arg::kDst), strides, dilates, before, after);
      return MakeQuantized<Forward>(request, op, pd);
    }
    using Forward = dnnl::inner_product_forward;
    const auto pd = onednn::Describe<Forward>(
        AttributesOf(op), kInference, DescOf(request, Arg::kSrc), DescOf(request, Arg::kWeights),
        DescOf(request, Arg::kBias), DescOf(request, Arg::kDst));
    return MakeQuantized<Forward>(request, op, pd);
  });
}

const KernelRegistration kOneDnnConv("quantized_conv", "onednn", MakeQuantizedLayer);
const KernelRegistration kOneDnnInnerProduct("quantized_inner_product", "onednn",
                                             MakeQuantizedLayer);

}  // namespace

}  // namespace topdnn
