// General matrix multiplication by its definition: plain loops, sums in double.

#include "kernels/kernel/reference.h"

#include "kernels/gemm/gemm.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/element.h"

namespace topdnn {

namespace {

// The sum for element (row, column) of one product of the batch.
template <typename T>
double Sum(const GemmProduct& p, const T* lhs, const T* rhs, std::int64_t row,
           std::int64_t column) {
  double sum = 0;
  for (std::int64_t i = 0; i < p.inner; ++i) {
    const T a = p.trans_lhs ? lhs[i * p.rows + row] : lhs[row * p.inner + i];
    const T b = p.trans_rhs ? rhs[column * p.inner + i] : rhs[i * p.columns + column];
    sum += static_cast<double>(a) * static_cast<double>(b);
  }
  return sum;
}

// With beta 0, C is not read and may hold anything (BLAS).
double Scaled(const GemmExtents& e, Pass pass, double sum, double before) {
  sum *= static_cast<double>(e.alpha);
  const bool adds = pass == Pass::kForward && e.beta != 0.0F;
  return adds ? sum + static_cast<double>(e.beta) * before : sum;
}

template <typename T>
class GemmReference : public ReferenceKernel {
 public:
  GemmReference(const KernelRequest& request, const GemmOp& op)
      : ReferenceKernel(request), e_(op.extents()), p_(ProductOf(e_, pass())) {}

  void Run() noexcept override {
#pragma omp parallel for collapse(2)
    for (std::int64_t b = 0; b < e_.batch; ++b) {
      for (std::int64_t row = 0; row < p_.rows; ++row) {
        const T* lhs = Data<T>(p_.lhs) + b * p_.rows * p_.inner;
        const T* rhs = Data<T>(p_.rhs) + b * p_.inner * p_.columns;
        T* out = Data<T>(p_.out) + (b * p_.rows + row) * p_.columns;
        for (std::int64_t column = 0; column < p_.columns; ++column) {
          out[column] = static_cast<T>(
              Scaled(e_, pass(), Sum(p_, lhs, rhs, row, column), static_cast<double>(out[column])));
        }
      }
    }
  }

 private:
  const GemmExtents e_;
  const GemmProduct p_;
};

double GemmElement(const Op& any, Pass pass, const Values& operands, Arg /*result*/,
                   std::int64_t index) {
  const GemmExtents& e = dynamic_cast<const GemmOp&>(any).extents();
  const GemmProduct p = ProductOf(e, pass);
  const std::int64_t b = index / (p.rows * p.columns);
  const auto before = operands.find(p.out);
  return Scaled(e, pass,
                Sum(p, operands.at(p.lhs).data() + b * p.rows * p.inner,
                    operands.at(p.rhs).data() + b * p.inner * p.columns, index / p.columns % p.rows,
                    index % p.columns),
                before == operands.end() ? 0 : before->second[static_cast<std::size_t>(index)]);
}

const KernelRegistration kGemmReference("gemm", "reference", MakeReference<GemmOp, GemmReference>);
const ElementRegistration kGemmElement("gemm", GemmElement);

}  // namespace

}  // namespace topdnn
