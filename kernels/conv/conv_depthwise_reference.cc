// The reference's two convolutions, one after the other.

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "kernels/conv/conv_depthwise.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

namespace {

class ConvDepthwiseReference : public Kernel {
 public:
  ConvDepthwiseReference(const KernelRequest& request, std::unique_ptr<Kernel> pointwise,
                         std::unique_ptr<Kernel> depthwise)
      : Kernel(request), pointwise_(std::move(pointwise)), depthwise_(std::move(depthwise)) {
    implementation_ = pointwise_->implementation();
    scratch_bytes_ = pointwise_->Find(Arg::kDst)->desc.bytes();
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    between_ = AlignedMemory(scratch_bytes_);
    std::map<Arg, void*> first, second;
    for (const auto& [arg, data] : memory) {
      if (arg == Arg::kDst) {
        second[arg] = data;
      } else if (arg.is_indexed()) {
        second[Arg(arg.role)] = data;
      } else {
        first[arg] = data;
      }
    }
    first[Arg::kDst] = second[Arg::kSrc] = between_.data();
    pointwise_->Prepare(first);
    depthwise_->Prepare(second);
  }

  void Run() noexcept override {
    pointwise_->Run();
    depthwise_->Run();
  }

 private:
  std::unique_ptr<Kernel> pointwise_;
  std::unique_ptr<Kernel> depthwise_;
  AlignedMemory between_;
};

KernelOrRefusal MakeReferenceConvDepthwise(const KernelRequest& request) {
  if (std::string why = ReferenceRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = request.OpAs<ConvDepthwiseOp>();
  const auto kernel_of = [&](const ConvOp& convolution) {
    return MakeKernel(
        "reference",
        {std::make_shared<ConvOp>(convolution), request.execution, request.threads, {}, {}});
  };
  KernelOrRefusal pointwise = kernel_of(op.pointwise());
  if (std::holds_alternative<Refusal>(pointwise)) return pointwise;
  KernelOrRefusal depthwise = kernel_of(op.depthwise());
  if (std::holds_alternative<Refusal>(depthwise)) return depthwise;
  return std::make_unique<ConvDepthwiseReference>(
      request, std::get<std::unique_ptr<Kernel>>(std::move(pointwise)),
      std::get<std::unique_ptr<Kernel>>(std::move(depthwise)));
}

const KernelRegistration kDepthwiseReference("conv_depthwise", "reference",
                                             MakeReferenceConvDepthwise);

}  // namespace

}  // namespace topdnn
