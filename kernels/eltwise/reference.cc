// Addition and functions of one tensor by their definitions, in double. A NaN stays a NaN.

#include "kernels/reference.h"

#include "kernels/eltwise/add.h"
#include "kernels/eltwise/unary.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

template <typename T>
class AddReference : public ReferenceKernel {
 public:
  AddReference(const KernelRequest& request, const AddOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        sources_(op.sources()),
        relu_(op.relu()) {}

  void Run() noexcept override {
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (int s = 0; s < sources_; ++s) sum += static_cast<double>(Indexed<T>(s)[i]);
      dst[i] = static_cast<T>(relu_ && sum < 0 ? 0.0 : sum);
    }
  }

 private:
  const std::int64_t n_;
  const int sources_;
  const bool relu_;
};

template <typename T>
class UnaryReference : public ReferenceKernel {
 public:
  UnaryReference(const KernelRequest& request, const UnaryOp& op)
      : ReferenceKernel(request), op_(op), forward_(request.execution.pass == Pass::kForward) {}

  void Run() noexcept override {
    const auto alpha = static_cast<double>(op_.alpha());
    const auto beta = static_cast<double>(op_.beta());
    for (std::int64_t i = 0; i < op_.shape().elements(); ++i) {
      const auto x = static_cast<double>(Data<T>(Arg::kSrc)[i]);
      if (forward_) {
        Data<T>(Arg::kDst)[i] = static_cast<T>(op_.function().value(x, alpha, beta));
      } else {
        const auto gradient = static_cast<double>(Data<T>(Arg::kDiffDst)[i]);
        const double derivative = op_.function().derivative(x, alpha, beta);
        Data<T>(Arg::kDiffSrc)[i] = static_cast<T>(gradient * derivative);
      }
    }
  }

 private:
  const UnaryOp op_;
  const bool forward_;
};

const KernelRegistration kAdd("add", "reference", MakeReference<AddOp, AddReference>);
const KernelRegistration kUnary("unary", "reference", MakeReference<UnaryOp, UnaryReference>);

}  // namespace

}  // namespace topdnn
