// Local response normalization by its definition: plain loops over row-major tensors, sums in
// double. The workspace holds `scale`.

#include "kernels/kernel/reference.h"

#include <cmath>

#include "kernels/kernel/registry.h"
#include "kernels/lrn/lrn.h"

namespace topdnn {

namespace {

template <typename T>
class LrnReference : public ReferenceKernel {
 public:
  LrnReference(const KernelRequest& request, const LrnOp& op)
      : ReferenceKernel(request),
        op_(op),
        image_(op.image()),
        alpha_(static_cast<double>(op.settings().alpha) / static_cast<double>(op.settings().size)),
        beta_(static_cast<double>(op.settings().beta)),
        k_(static_cast<double>(op.settings().k)) {}

  void Run() noexcept override {
#pragma omp parallel for
    for (std::int64_t n = 0; n < op_.batch(); ++n) {
      for (std::int64_t c = 0; c < op_.channels(); ++c) {
        for (std::int64_t i = 0; i < image_; ++i) {
          pass() == Pass::kForward ? Forward(n, c, i) : Backward(n, c, i);
        }
      }
    }
  }

 private:
  std::int64_t Position(std::int64_t n, std::int64_t c, std::int64_t i) const {
    return (n * op_.channels() + c) * image_ + i;
  }
  double At(Arg arg, std::int64_t position) const {
    return static_cast<double>(Data<T>(arg)[position]);
  }

  double Scale(std::int64_t n, std::int64_t c, std::int64_t i) const {
    const LrnWindow window = op_.WindowOf(c);
    double squares = 0;
    for (std::int64_t d = window.first; d < window.end; ++d) {
      const double src = At(Arg::kSrc, Position(n, d, i));
      squares += src * src;
    }
    return k_ + alpha_ * squares;
  }

  void Forward(std::int64_t n, std::int64_t c, std::int64_t i) const {
    const double scale = Scale(n, c, i);
    const std::int64_t at = Position(n, c, i);
    Data<T>(Arg::kDst)[at] = static_cast<T>(At(Arg::kSrc, at) * std::pow(scale, -beta_));
    if (Data<T>(Arg::kWorkspace) != nullptr) Data<T>(Arg::kWorkspace)[at] = static_cast<T>(scale);
  }

  // d dst_j / d src_c = [j = c] scale_j^-beta - 2 alpha beta / size src_j src_c scale_j^(-beta - 1)
  // for every j whose window contains c.
  void Backward(std::int64_t n, std::int64_t c, std::int64_t i) const {
    const LrnWindow windows = op_.WindowsContaining(c);
    const bool saved = Data<T>(Arg::kWorkspace) != nullptr;
    const auto scale = [&](std::int64_t channel) {
      return saved ? At(Arg::kWorkspace, Position(n, channel, i)) : Scale(n, channel, i);
    };
    double sum = 0;
    for (std::int64_t j = windows.first; j < windows.end; ++j) {
      const std::int64_t at = Position(n, j, i);
      sum += At(Arg::kDiffDst, at) * At(Arg::kSrc, at) * std::pow(scale(j), -beta_ - 1);
    }
    const std::int64_t at = Position(n, c, i);
    Data<T>(Arg::kDiffSrc)[at] = static_cast<T>(At(Arg::kDiffDst, at) * std::pow(scale(c), -beta_) -
                                                2 * alpha_ * beta_ * At(Arg::kSrc, at) * sum);
  }

  const LrnOp op_;
  const std::int64_t image_;
  const double alpha_;  // factor of one term of the sum
  const double beta_, k_;
};

const KernelRegistration kLrnReference("lrn", "reference", MakeReference<LrnOp, LrnReference>);

}  // namespace

}  // namespace topdnn
