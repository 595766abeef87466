// A primitive of oneDNN as a log describes it, for what no other operation computes: scales, zero
// points, any post-ops, and normalizations, PReLU and shuffles. It runs on oneDNN alone, and the
// reference is oneDNN's own unoptimized implementation.

#ifndef TOPDNN_KERNELS_LOGGED_LOGGED_PRIMITIVE_H_
#define TOPDNN_KERNELS_LOGGED_LOGGED_PRIMITIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/op/op.h"

namespace topdnn {

// An operation on the result. A binary one reads the operand IndexedSrc(i), a PReLU {kWeights, i},
// and a depthwise convolution {kWeights, i} and perhaps {kBias, i}; i is its place in the list.
struct LoggedPostOp {
  enum class Kind { kSum, kEltwise, kBinary, kPrelu, kDepthwise };
  Kind kind;
  std::string algorithm = {};  // "eltwise_swish", "binary_mul"
  float alpha = 0, beta = 0;
  float scale = 1;              // of a function's result, or of what a sum adds
  std::int32_t zero_point = 0;  // of what a sum adds
  std::optional<DataType> sum_type = std::nullopt;
  std::int64_t stride = 0;  // of a depthwise convolution
};

// A factor of an operand, or what is subtracted from it: one for all elements, or, by the mask, for
// each index of some dimensions.
struct LoggedFactor {
  std::optional<Arg>
      of;  // kSrc, kSum (the second source), kWeights, kDst; absent: a product's sums
  int mask;
};

inline constexpr std::size_t kMostDimensions = 12;  // DNNL_MAX_NDIMS

struct LoggedPrimitive {
  std::string name;       // "convolution"
  std::string algorithm;  // "convolution_direct"; or empty
  std::string problem;    // of the log
  std::string attributes;
  std::vector<Operand> operands;  // of at most kMostDimensions
  std::vector<std::int64_t> strides, dilations, pad_before, pad_after;  // by spatial axis
  std::vector<std::int64_t> kernel;                                     // of a pooling
  float alpha = 0, beta = 0;                                            // of an eltwise
  std::int64_t axis = 0, groups = 0;                                    // of a shuffle
  bool has_scale = false, has_shift = false, given_statistics = false;  // of a normalization
  bool computes_parameters = true;  // its backward pass also has the gradients of scale and shift
  std::vector<LoggedPostOp> post_ops;
  std::vector<LoggedFactor> scales, zero_points;
  Shape inner_dst;  // what a depthwise post-op reads, if there is one
};

class LoggedOp : public Op {
 public:
  // Throws std::invalid_argument for extents below 1.
  LoggedOp(LoggedPrimitive primitive, const Execution& execution);

  const LoggedPrimitive& primitive() const { return primitive_; }
  // A factor whose result is a few tens where the sums are as large as those of 8-bit numbers are.
  float ScaleOfSums() const;

  std::string_view kind() const override { return "primitive"; }
  std::string Problem() const override;
  // Those of the log, in its types, for its pass alone.
  std::vector<Operand> Operands(const Execution& execution) const override;
  // Multiply-accumulates of convolutions and products, and one operation for each element of the
  // results and each operation on it.
  Arithmetic ArithmeticOf(const Execution& execution) const override;
  std::int64_t AccumulationLength(Pass pass) const override;
  std::shared_ptr<const Op> OfFirstImage() const override;

 private:
  std::int64_t SumLength() const;

  const LoggedPrimitive primitive_;
  const Execution execution_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_LOGGED_LOGGED_PRIMITIVE_H_
