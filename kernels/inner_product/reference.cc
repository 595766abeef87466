// Inner product by its definition: plain loops, sums in double.

#include "kernels/kernel/reference.h"

#include "kernels/inner_product/inner_product.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/element.h"

namespace topdnn {

namespace {

// The operands that a pass reads: src (N, C), weights (K, C), bias (K), diff_dst (N, K).
template <typename T>
struct InnerProductSources {
  const T *src, *weights, *bias, *diff_dst;
};

// Adds the products of `n` elements that are so far apart.
template <typename T>
double AddProducts(double sum, std::int64_t n, const T* a, std::int64_t step_a, const T* b,
                   std::int64_t step_b) {
  for (std::int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(a[i * step_a]) * static_cast<double>(b[i * step_b]);
  }
  return sum;
}

// Element `index` of a result.
template <typename T>
double InnerProductSum(const InnerProductOp& op, const InnerProductSources<T>& from, Arg result,
                       std::int64_t index) {
  const std::int64_t n = op.batch(), c = op.inputs(), k = op.outputs();
  const std::int64_t row = index / c, column = index % c;
  if (result == Arg::kDiffSrc) {
    return AddProducts(0, k, from.diff_dst + row * k, 1, from.weights + column, c);
  }
  if (result == Arg::kDiffWeights) {
    return AddProducts(0, n, from.src + column, c, from.diff_dst + row, k);
  }
  if (result == Arg::kDiffBias) {
    constexpr T kOne = 1;
    return AddProducts(0, n, from.diff_dst + index, k, &kOne, 0);
  }
  const double bias = op.epilogue().bias ? static_cast<double>(from.bias[index % k]) : 0.0;
  const double sum =
      AddProducts(bias, c, from.src + index / k * c, 1, from.weights + index % k * c, 1);
  // These forms keep a NaN.
  if (op.epilogue().relu && sum < 0) return 0;
  const auto bound = static_cast<double>(op.epilogue().bound);
  return bound != 0 && sum > bound ? bound : sum;
}

double InnerProductElement(const Op& any, Pass /*pass*/, const Values& inputs, Arg result,
                           std::int64_t index) {
  const auto data = [&](Arg arg) {
    const auto found = inputs.find(arg);
    return found == inputs.end() ? nullptr : found->second.data();
  };
  return InnerProductSum<double>(
      dynamic_cast<const InnerProductOp&>(any),
      {data(Arg::kSrc), data(Arg::kWeights), data(Arg::kBias), data(Arg::kDiffDst)}, result, index);
}

template <typename T>
class InnerProductReference : public ReferenceKernel {
 public:
  InnerProductReference(const KernelRequest& request, const InnerProductOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const InnerProductSources<T> from = {Data<T>(Arg::kSrc), Data<T>(Arg::kWeights),
                                         Data<T>(Arg::kBias), Data<T>(Arg::kDiffDst)};
    for (const KernelOperand& operand : operands()) {
      if (operand.direction == Direction::kIn) continue;
      T* result = Data<T>(operand.arg);
#pragma omp parallel for
      for (std::int64_t i = 0; i < operand.desc.shape.elements(); ++i) {
        result[i] = static_cast<T>(InnerProductSum(op_, from, operand.arg, i));
      }
    }
  }

 private:
  const InnerProductOp op_;
};

const KernelRegistration kInnerProductReference(
    "inner_product", "reference", MakeReference<InnerProductOp, InnerProductReference>);
const ElementRegistration kInnerProductElement("inner_product", InnerProductElement);

}  // namespace

}  // namespace topdnn
