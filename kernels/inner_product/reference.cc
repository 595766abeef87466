// Inner product by its definition: plain loops, sums in double.

#include "kernels/kernel/reference.h"

#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

template <typename T>
class InnerProductReference : public ReferenceKernel {
 public:
  InnerProductReference(const KernelRequest& request, const InnerProductOp& op)
      : ReferenceKernel(request),
        n_(op.batch()),
        c_(op.inputs()),
        k_(op.outputs()),
        epilogue_(op.epilogue()),
        pass_(request.execution.pass) {}

  void Run() noexcept override {
    switch (pass_) {
      case Pass::kForward:
        return Forward();
      case Pass::kBackwardData:
        return BackwardData();
      case Pass::kBackwardWeights:
        return BackwardWeights();
    }
  }

 private:
  void Forward() {
    const T* src = Data<T>(Arg::kSrc);          // (N, C)
    const T* weights = Data<T>(Arg::kWeights);  // (K, C)
    const T* bias = epilogue_.bias ? Data<T>(Arg::kBias) : nullptr;
    T* dst = Data<T>(Arg::kDst);  // (N, K)
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < n_; ++n) {
      for (std::int64_t k = 0; k < k_; ++k) {
        double sum = bias != nullptr ? static_cast<double>(bias[k]) : 0.0;
        for (std::int64_t c = 0; c < c_; ++c) {
          sum += static_cast<double>(src[n * c_ + c]) * static_cast<double>(weights[k * c_ + c]);
        }
        // These forms keep a NaN.
        if (epilogue_.relu && sum < 0) sum = 0;
        if (epilogue_.bound != 0.0F && sum > epilogue_.bound) sum = epilogue_.bound;
        dst[n * k_ + k] = static_cast<T>(sum);
      }
    }
  }

  void BackwardData() {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    const T* weights = Data<T>(Arg::kWeights);
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < n_; ++n) {
      for (std::int64_t c = 0; c < c_; ++c) {
        double sum = 0;
        for (std::int64_t k = 0; k < k_; ++k) {
          sum +=
              static_cast<double>(diff_dst[n * k_ + k]) * static_cast<double>(weights[k * c_ + c]);
        }
        diff_src[n * c_ + c] = static_cast<T>(sum);
      }
    }
  }

  void BackwardWeights() {
    const T* src = Data<T>(Arg::kSrc);
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    T* diff_weights = Data<T>(Arg::kDiffWeights);
    T* diff_bias = epilogue_.bias ? Data<T>(Arg::kDiffBias) : nullptr;
#pragma omp parallel for
    for (std::int64_t k = 0; k < k_; ++k) {
      for (std::int64_t c = 0; c < c_; ++c) {
        double sum = 0;
        for (std::int64_t n = 0; n < n_; ++n) {
          sum += static_cast<double>(src[n * c_ + c]) * static_cast<double>(diff_dst[n * k_ + k]);
        }
        diff_weights[k * c_ + c] = static_cast<T>(sum);
      }
      if (diff_bias == nullptr) continue;
      double sum = 0;
      for (std::int64_t n = 0; n < n_; ++n) sum += static_cast<double>(diff_dst[n * k_ + k]);
      diff_bias[k] = static_cast<T>(sum);
    }
  }

  const std::int64_t n_, c_, k_;
  const InnerProductEpilogue epilogue_;
  const Pass pass_;
};

KernelOrRefusal MakeReferenceInnerProduct(const KernelRequest& request) {
  return MakeReference<InnerProductOp, InnerProductReference>(request);
}

const KernelRegistration kReference("inner_product", "reference", MakeReferenceInnerProduct);

}  // namespace

}  // namespace topdnn
