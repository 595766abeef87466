// An operation of a network on concrete shapes: what it reads and writes in each pass, and how much
// work that is. It says nothing of how the work is done; that is a Kernel.
//
// Names are oneDNN's: src, dst, weights, and diff_x for the gradient of the loss in x.

#ifndef TOPDNN_KERNELS_OP_H_
#define TOPDNN_KERNELS_OP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor.h"

namespace topdnn {

enum class Pass { kForward, kBackwardData, kBackwardWeights };

inline constexpr Pass kAllPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};

// "forward", "backward_data", "backward_weights".
std::string_view NameOf(Pass pass);
std::optional<Pass> ParsePass(std::string_view name);

// The role of a tensor in an operation.
enum class Arg : int {
  kSrc,
  kWeights,
  kBias,
  kDst,
  kDiffSrc,
  kDiffWeights,
  kDiffBias,
  kDiffDst,
  kWorkspace,  // what forward leaves for backward: the maxima of a pooling, the mask of a dropout
  kMean,
  kVariance,
  kScale,
  kShift,
  kDiffScale,
  kDiffShift,
  kLabels,
  kLoss,
  kMomentum,        // first moment
  kSecondMoment,    // Adam's
  kStep,            // number of updates done
  kLearningRate,    // scalar
  kSum,             // the tensor that a fused addition adds
  kScratch,         // no operand: see Kernel::run_scratch_bytes
  kMultiple = 256,  // kMultiple + i: the i-th of an operation's many sources (concat, add)
  kDiffMultiple = 512,
};

// "src", "diff_weights", "src_2" for kMultiple + 2, ...
std::string NameOf(Arg arg);
inline Arg MultipleSrc(int i) { return static_cast<Arg>(static_cast<int>(Arg::kMultiple) + i); }
inline Arg MultipleDiffSrc(int i) {
  return static_cast<Arg>(static_cast<int>(Arg::kDiffMultiple) + i);
}

// Whether it is src, or one of many sources; and which of many diff_src is, from 0.
constexpr bool IsSource(Arg arg) {
  return arg == Arg::kSrc || (arg >= Arg::kMultiple && arg < Arg::kDiffMultiple);
}
constexpr bool IsOneOfManyDiffSrc(Arg arg) { return arg >= Arg::kDiffMultiple; }
constexpr std::size_t IndexOfDiffSrc(Arg arg) {
  return static_cast<std::size_t>(arg) - static_cast<std::size_t>(Arg::kDiffMultiple);
}

enum class Direction { kIn, kOut, kInOut };

// One tensor that an operation reads or writes.
struct Operand {
  Arg arg;
  Direction direction;
  Shape shape;
  DataType type;
};

// A trained parameter of an operation.
struct Parameter {
  Arg arg;              // kWeights, kBias, kScale, kShift
  Arg gradient;         // kDiffWeights, ...
  std::string name;     // "weights", "bias", "scale", "shift"
  Shape shape;          // logical: (O, I/groups, KH, KW), (O, I), (C)
  std::int64_t fan_in;  // inputs that one output sums; 0 for what starts at a constant
  double initial;       // the constant, where fan_in is 0
};

// The arithmetic and the traffic of one pass, from the shapes alone. A multiply-accumulate is two
// FLOPs. Bytes are the compulsory ones: each operand once, unpadded.
struct Work {
  std::int64_t macs = 0;   // multiply-accumulates as defined, those on padding included
  std::int64_t flops = 0;  // all operations, 2 * macs included
  // FLOPs left when multiplications by padding zeros, which a kernel may skip, are left out.
  std::int64_t flops_without_padding = 0;
  std::int64_t bytes = 0;
};

// Which computation of an operation is meant.
struct Execution {
  Pass pass = Pass::kForward;
  bool training = true;  // forward keeps what backward needs
  DataType type = DataType::kF32;

  bool operator==(const Execution&) const = default;
};

// The element types of an operation that multiplies by weights, in one type of computation.
struct OperandTypes {
  DataType src = DataType::kF32;
  DataType weights = DataType::kF32;
  DataType dst = DataType::kF32;
  DataType parameter = DataType::kF32;  // bias, and the gradients of the parameters
  bool has_gradients = true;
};

// f32 and f64 are one type throughout. In bf16 and f16 the bias and the gradients of the parameters
// stay f32, as in oneDNN and in TensorFlow's mixed precision. s8 and u8 name the type of src: the
// weights are s8, and dst and bias are the exact s32 sums; they have no gradients.
OperandTypes TypesOf(const Execution& execution);

// How the planner treats an operation's layouts.
enum class LayoutPreference {
  kChooses,  // worth a reorder: convolution, inner product
  kFollows,  // takes its source's layout: pooling, ReLU
  kPlain,    // row-major only: loss, update
};

class Op {
 public:
  virtual ~Op() = default;

  // Name of the operation's folder and registry key: "conv", "pool".
  virtual std::string_view kind() const = 0;
  // The problem in one word, enough to build it again: "n8c64h56w56k64r3s3u1v1p1q1".
  virtual std::string Problem() const = 0;
  // What the computation reads and writes. Empty when the operation has no such pass.
  virtual std::vector<Operand> Operands(const Execution& execution) const = 0;
  virtual Work WorkOf(Pass pass, DataType type) const = 0;
  // The work of one execution, where inference computes less than training; WorkOf is training's.
  virtual Work WorkIn(const Execution& execution) const {
    return WorkOf(execution.pass, execution.type);
  }
  // Terms that one element of the result sums: what rounding errors grow with.
  virtual std::int64_t AccumulationLength(Pass pass) const = 0;
  virtual LayoutPreference layout_preference() const { return LayoutPreference::kFollows; }
  virtual std::vector<Parameter> Parameters() const { return {}; }
  // This operation with `next` done to its result in the same kernel, or nullptr: what a planner
  // may try to fuse. Backward passes stay those of the two operations.
  virtual std::shared_ptr<const Op> FusedWith(const Op& next) const;
  // Whether the gradient of each of its sources is diff_dst itself (addition, bias): backward_data
  // then has no operands, for there is nothing to compute, and a planner gives the gradients one
  // piece of memory.
  virtual bool PassesGradientOn() const;
  // Whether the pass may write its result (dst, diff_src) over its source (src, diff_dst).
  virtual bool RunsInPlace(Pass pass) const;

  bool Has(const Execution& execution) const { return !Operands(execution).empty(); }
  // The operand in the role `arg`, or nothing.
  std::optional<Operand> Find(const Execution& execution, Arg arg) const;

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op& operator=(const Op&) = default;
};

// The operands of what computes dst from src alone, and diff_src from diff_dst alone.
std::vector<Operand> OperandsOfMapping(const Execution& execution, const Shape& src,
                                       const Shape& dst);

// Sum of the operands' unpadded bytes: the compulsory traffic of one pass.
std::int64_t CompulsoryBytes(const Op& op, const Execution& execution);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_H_
