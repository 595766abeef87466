// ReLU as an Eigen device expression, in whatever layout its source has.

#include "kernels/activation/relu.h"
#include "kernels/eigen/kernel.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

class ReluEigen : public eigen::EigenKernel {
 public:
  ReluEigen(const KernelRequest& request, const eigen::Functions& functions, const ReluOp& op)
      : EigenKernel(request, functions, "expression"),
        bound_(op.bound()),
        forward_(request.execution.pass == Pass::kForward) {
    const TensorDesc& desc = operands().front().desc;
    n_ = desc.layout.PaddedElements(desc.shape);
  }

 private:
  void Compute() override {
    if (forward_) {
      functions().relu(pool(), n_, bound_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().relu_backward(pool(), n_, bound_, Data(Arg::kDiffDst), Data(Arg::kDst),
                                Data(Arg::kDiffSrc));
    }
  }

  const float bound_;
  const bool forward_;
  std::int64_t n_;
};

template <eigen::Variant kVariant>
KernelOrRefusal MakeRelu(const KernelRequest& request) {
  return eigen::Offer(
      kVariant, request,
      [&](const eigen::Functions& functions, KernelRequest settled) -> KernelOrRefusal {
        if (auto refusal = eigen::SettleOnOne(settled)) return *std::move(refusal);
        return std::make_unique<ReluEigen>(settled, functions,
                                           dynamic_cast<const ReluOp&>(*request.op));
      });
}

const KernelRegistration kRelu("relu", "eigen", MakeRelu<eigen::Variant::kGebp>);
const KernelRegistration kBounded("bounded_relu", "eigen", MakeRelu<eigen::Variant::kGebp>);
const KernelRegistration kReluSgemm("relu", "eigen-sgemm", MakeRelu<eigen::Variant::kSgemm>);
const KernelRegistration kBoundedSgemm("bounded_relu", "eigen-sgemm",
                                       MakeRelu<eigen::Variant::kSgemm>);

}  // namespace

}  // namespace topdnn
