// Quantized layers by their definition: exact sums by the layer's own reference, and the
// requantization in f32, in the order of its definition.

#include "kernels/kernel/reference.h"

#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "kernels/kernel/registry.h"
#include "kernels/quantization/integer_types.h"
#include "kernels/quantization/quantized_layer.h"

namespace topdnn {

namespace {

// `T` is f32 or f64: it holds every operand, and the sums before the requantization.
template <typename T>
class QuantizedReference : public ReferenceKernel {
 public:
  QuantizedReference(const KernelRequest& request, const QuantizedLayerOp& op,
                     std::unique_ptr<Kernel> sums)
      : ReferenceKernel(request), op_(op), sums_(std::move(sums)) {}

  void Prepare(const std::map<Arg, void*>& memory) override {
    ReferenceKernel::Prepare(memory);
    std::map<Arg, void*> of_sums = memory;
    sum_values_ = Tensor(sums_->Find(Arg::kDst)->desc);
    of_sums[Arg::kDst] = sum_values_.data();
    of_sums.erase(Arg::kScratch);
    sums_->Prepare(of_sums);
  }

  void Run() noexcept override {
    sums_->Run();
    const Requantization& r = op_.requantization();
    const std::optional<float> relu = op_.Traits().final_relu_bound;
    const Shape& shape = sum_values_.shape();
    const std::int64_t pixels = shape.elements() / (shape[0] * shape[1]);
    const T* bias = op_.has_bias() ? Data<T>(Arg::kBias) : nullptr;
    const T* added = r.sum ? Data<T>(Arg::kSum) : nullptr;
    const T* sums = sum_values_.as<T>();
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t k = i / pixels % shape[1];
      auto x = static_cast<float>(sums[i]);
      if (bias != nullptr) x += static_cast<float>(bias[k]);
      x *= r.scales[static_cast<std::size_t>(k)];
      if (added != nullptr) x = std::fma(r.sum_scale, static_cast<float>(added[i]), x);
      if (relu && x < 0) x = 0;
      if (relu && *relu != 0 && x > *relu) x = *relu;
      if (IsQuantizedType(r.dst)) x = RoundedWithin(RangeOf(r.dst), x);
      dst[i] = static_cast<T>(x);
    }
  }

 private:
  const QuantizedLayerOp op_;
  std::unique_ptr<Kernel> sums_;
  Tensor sum_values_;
};

KernelOrRefusal MakeQuantizedReference(const KernelRequest& request) {
  if (std::string why = ReferenceRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = request.OpAs<QuantizedLayerOp>();
  Execution execution = request.execution;
  execution.training = false;
  KernelOrRefusal sums =
      MakeKernel("reference", {op.Sums(), execution, request.threads, {}, "", ""});
  if (auto* refusal = std::get_if<Refusal>(&sums)) return std::move(*refusal);
  auto& kernel = std::get<std::unique_ptr<Kernel>>(sums);
  if (request.execution.type == DataType::kF64) {
    return std::make_unique<QuantizedReference<double>>(request, op, std::move(kernel));
  }
  return std::make_unique<QuantizedReference<float>>(request, op, std::move(kernel));
}

const KernelRegistration kReferenceConv("quantized_conv", "reference", MakeQuantizedReference);
const KernelRegistration kReferenceInnerProduct("quantized_inner_product", "reference",
                                                MakeQuantizedReference);

}  // namespace

}  // namespace topdnn
