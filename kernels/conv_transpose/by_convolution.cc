// A transposed convolution on the backend's convolution kernels: its forward pass is their backward
// pass by data, its backward pass by data is their forward pass, and in its backward pass by
// weights src and diff_dst change places.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

KernelRequest OfConvolution(const KernelRequest& request) {
  KernelRequest inner = request;
  inner.op = request.OpAs<ConvTransposeOp>().convolution();
  inner.execution.pass = ConvTransposeOp::PassOfConvolution(request.execution.pass);
  inner.layouts.clear();
  for (const auto& [arg, layout] : request.layouts) {
    inner.layouts[ConvTransposeOp::ArgOfConvolution(arg)] = layout;
  }
  return inner;
}

class ConvTransposeKernel : public Kernel {
 public:
  ConvTransposeKernel(const KernelRequest& request, std::unique_ptr<Kernel> convolution)
      : Kernel(request), convolution_(std::move(convolution)) {
    implementation_ = convolution_->implementation();
    isa_ = convolution_->isa();
    scratch_bytes_ = convolution_->scratch_bytes();
    run_scratch_bytes_ = convolution_->run_scratch_bytes();
    for (KernelOperand& operand : operands_) {
      operand.desc = convolution_->Find(ConvTransposeOp::ArgOfConvolution(operand.arg))->desc;
    }
  }

  void Prepare(const std::map<Arg, void*>& memory) override {
    std::map<Arg, void*> renamed;
    for (const auto& [arg, data] : memory) {
      renamed[ConvTransposeOp::ArgOfConvolution(arg)] = data;
    }
    convolution_->Prepare(renamed);
  }

  void Run() noexcept override { convolution_->Run(); }

 private:
  std::unique_ptr<Kernel> convolution_;
};

KernelMaker MakerOn(const std::string& backend) {
  return [backend](const KernelRequest& request) -> KernelOrRefusal {
    KernelOrRefusal answer = MakeKernel(backend, OfConvolution(request));
    if (std::holds_alternative<Refusal>(answer)) return answer;
    return std::make_unique<ConvTransposeKernel>(
        request, std::move(std::get<std::unique_ptr<Kernel>>(answer)));
  };
}

const KernelRegistration kOnOneDnn("conv_transpose", "onednn", MakerOn("onednn"));
const KernelRegistration kOnOpenBlas("conv_transpose", "openblas", MakerOn("openblas"));
const KernelRegistration kOnNative("conv_transpose", kNative, MakerOn(kNative));
const KernelRegistration kOnEigen("conv_transpose", "eigen", MakerOn("eigen"));
const KernelRegistration kOnEigenSgemm("conv_transpose", "eigen-sgemm", MakerOn("eigen-sgemm"));
const FidelityDeclaration kFidelity[] = {
    FidelityDeclaration({"conv_transpose", "eigen", Fidelity::kSame,
                         "the gradient of a convolution by its input; dilation, groups, and loops "
                         "over one or three axes are ours",
                         "conv_grad_input_ops.cc"}),
    FidelityDeclaration({"conv_transpose", "openblas", Fidelity::kSame,
                         "the gradient of a convolution by its input", "layers/deconv_layer.cpp"}),
    FidelityDeclaration({"conv_transpose", "native", Fidelity::kOurs,
                         "loops over one or three axes; Caffe has the gradient of a convolution",
                         "layers/deconv_layer.cpp"}),
};

}  // namespace

}  // namespace topdnn
