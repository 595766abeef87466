// Sums, means, maxima, products and norms over any axes of a tensor.

#ifndef TOPDNN_KERNELS_REDUCE_REDUCE_H_
#define TOPDNN_KERNELS_REDUCE_REDUCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// kL1 is the sum of the magnitudes, kL2 the root of the sum of squares.
enum class ReduceAlgorithm {
  kSum,
  kMean,
  kMax,
  kMin,
  kProduct,
  kL1,
  kL2,
  kSumSquare,
  kLogSum,
  kLogSumExp
};

// How an algorithm computes one result.
struct ReduceDefinition {
  ReduceAlgorithm algorithm;
  std::string_view name;  // "log_sum_exp"
  // FLOPs; an elementary function and a comparison are one each.
  std::int64_t flops_per_element, flops_per_result;
  double initial;
  // The result so far with one more element. `shift` is the maximum of the elements for
  // log_sum_exp, which overflows without it, and 0 for the others.
  double (*combine)(double result, double element, double shift);
  double (*finish)(double result, double shift);
  // results[i * step] is combined with elements[i]. The step is 0 or 1.
  void (*combine_row)(const float* elements, std::int64_t n, double shift, double* results,
                      std::int64_t step);
};

const ReduceDefinition& DefinitionOf(ReduceAlgorithm algorithm);
// "sum", "mean", ...
std::string_view NameOf(ReduceAlgorithm algorithm);

// Operands: forward src -> dst; for sums and means, backward_data diff_dst -> diff_src. Every
// element of diff_src is the element of diff_dst whose sum it was part of, divided by the number of
// terms for a mean. Reduced axes have the extent 1 in dst when they are kept; otherwise dst does
// not have them. A NaN or infinity affects only its own sum.
class ReduceOp : public Op {
 public:
  static constexpr int kMaxAxes = 6;

  // `axes` are dimensions of `shape`, in any order. Throws std::invalid_argument for extents below
  // 1, a tensor that is too large, more than kMaxAxes dimensions, and for axes that are empty,
  // repeated or out of range.
  ReduceOp(ReduceAlgorithm algorithm, Shape shape, std::vector<int> axes, bool keep_dims = true);

  ReduceAlgorithm algorithm() const { return algorithm_; }
  const Shape& src_shape() const { return shape_; }
  Shape dst_shape() const;
  // dst_shape() with every axis kept.
  Shape kept_shape() const;
  bool keep_dims() const { return keep_dims_; }
  // Whether a dimension of src is summed over.
  bool Reduces(int dimension) const { return reduced_[static_cast<std::size_t>(dimension)]; }
  // Whether it is a sum or a mean, which all backends' libraries and the backward pass have.
  bool IsLinear() const {
    return algorithm_ == ReduceAlgorithm::kSum || algorithm_ == ReduceAlgorithm::kMean;
  }
  // Number of elements of src summed into one element of dst.
  std::int64_t count() const { return shape_.elements() / kept_shape().elements(); }

  std::string_view kind() const override { return "reduce"; }
  // "sum8x64x7x7_cd_keep": the axes in the letters of a layout.
  std::string Problem() const override;
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Forward: the FLOPs of its definition. Backward: one division per element of dst for a mean.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  // A maximum or minimum is one of the elements.
  std::int64_t AccumulationLength(Pass pass) const override {
    if (algorithm_ == ReduceAlgorithm::kMax || algorithm_ == ReduceAlgorithm::kMin) return 0;
    return pass == Pass::kForward ? count() : 1;
  }

 private:
  ReduceAlgorithm algorithm_;
  Shape shape_;
  std::vector<bool> reduced_;
  bool keep_dims_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REDUCE_REDUCE_H_
