// Products of matrices as Eigen contractions, one per matrix of the result.

#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/matmul/matmul.h"

namespace topdnn {

namespace {

class MatMulEigen : public eigen::EigenKernel {
 public:
  MatMulEigen(const KernelRequest& request, const eigen::Functions& functions, const MatMulOp& op)
      : EigenKernel(request, functions, "matmul"), op_(op) {}

 private:
  void Compute() override {
    const std::int64_t m = op_.m(), n = op_.n(), k = op_.k();
    for (std::int64_t b = 0; b < op_.batch(); ++b) {
      functions().matmul(pool(), {.m = m,
                                  .n = n,
                                  .k = k,
                                  .a = DataOf(op_.first_arg()) + op_.FirstMatrix(b) * m * k,
                                  .b = DataOf(op_.second_arg()) + op_.SecondMatrix(b) * k * n,
                                  .c = Data(Arg::kDst) + b * m * n});
    }
  }

  const MatMulOp op_;
};

KernelOrRefusal MakeEigenMatMul(const eigen::Functions& functions, KernelRequest& request) {
  if (std::string why = RowMajorRefusal(request, "a product"); !why.empty()) {
    return Refusal{std::move(why)};
  }
  return eigen::Make<MatMulEigen, MatMulOp>(functions, request);
}

const eigen::Registration kMatMulEigen("matmul", MakeEigenMatMul);
const FidelityDeclaration kMatMulEigenFidelity(
    {"matmul", "eigen", Fidelity::kOurs,
     "a contraction for each matrix; TensorFlow does so for one matrix or large ones; otherwise "
     "its threads share the matrices and multiply each alone",
     "batch_matmul_op_impl.h"});

}  // namespace

}  // namespace topdnn
