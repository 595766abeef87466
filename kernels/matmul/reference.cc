// Products of matrices by their definition: plain loops, sums in double.

#include "kernels/kernel/reference.h"

#include "kernels/kernel/registry.h"
#include "kernels/matmul/matmul.h"

namespace topdnn {

namespace {

template <typename T>
class MatMulReference : public ReferenceKernel {
 public:
  MatMulReference(const KernelRequest& request, const MatMulOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const std::int64_t m = op_.m(), n = op_.n(), k = op_.k();
#pragma omp parallel for collapse(2)
    for (std::int64_t b = 0; b < op_.batch(); ++b) {
      for (std::int64_t row = 0; row < m; ++row) {
        const T* first = DataOf<T>(op_.first_arg()) + (op_.FirstMatrix(b) * m + row) * k;
        const T* second = DataOf<T>(op_.second_arg()) + op_.SecondMatrix(b) * k * n;
        T* dst = Data<T>(Arg::kDst) + (b * m + row) * n;
        for (std::int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            sum += static_cast<double>(first[i]) * static_cast<double>(second[i * n + column]);
          }
          dst[column] = static_cast<T>(sum);
        }
      }
    }
  }

 private:
  const MatMulOp op_;
};

const KernelRegistration kReference("matmul", "reference",
                                    MakeReference<MatMulOp, MatMulReference>);

}  // namespace

}  // namespace topdnn
