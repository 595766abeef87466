// Products of matrices by their definition: plain loops, sums in double.

#include "kernels/kernel/reference.h"

#include "kernels/kernel/registry.h"
#include "kernels/matmul/matmul.h"
#include "kernels/op/element.h"

namespace topdnn {

namespace {

// Element `index` of dst.
template <typename T>
double MatMulSum(const MatMulOp& op, const T* firsts, const T* seconds, std::int64_t index) {
  const std::int64_t m = op.m(), n = op.n(), k = op.k();
  const std::int64_t b = index / (m * n), row = index / n % m;
  const T* first = firsts + (op.FirstMatrix(b) * m + row) * k;
  const T* second = seconds + op.SecondMatrix(b) * k * n + index % n;
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    sum += static_cast<double>(first[i]) * static_cast<double>(second[i * n]);
  }
  return sum;
}

double MatMulElement(const Op& any, Pass /*pass*/, const Values& inputs, Arg /*result*/,
                     std::int64_t index) {
  const auto& op = dynamic_cast<const MatMulOp&>(any);
  return MatMulSum(op, inputs.at(op.first_arg()).data(), inputs.at(op.second_arg()).data(), index);
}

template <typename T>
class MatMulReference : public ReferenceKernel {
 public:
  MatMulReference(const KernelRequest& request, const MatMulOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for
    for (std::int64_t i = 0; i < op_.dst().elements(); ++i) {
      dst[i] = static_cast<T>(
          MatMulSum(op_, DataOf<T>(op_.first_arg()), DataOf<T>(op_.second_arg()), i));
    }
  }

 private:
  const MatMulOp op_;
};

const KernelRegistration kMatMulReference("matmul", "reference",
                                          MakeReference<MatMulOp, MatMulReference>);
const ElementRegistration kMatMulElement("matmul", MatMulElement);

}  // namespace

}  // namespace topdnn
