// An operation of a network on concrete shapes: what it reads and writes in each pass, and how much
// work that is. A Kernel defines how the work is done.
//
// Names are oneDNN's: src, dst, weights, and diff_x for the gradient of the loss in x.

#ifndef TOPDNN_KERNELS_OP_OP_H_
#define TOPDNN_KERNELS_OP_OP_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

enum class Pass { kForward, kBackwardData, kBackwardWeights };

inline constexpr Pass kAllPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};

// "forward", "backward_data", "backward_weights".
std::string_view NameOf(Pass pass);
std::optional<Pass> ParsePass(std::string_view name);

// A tensor of an operation: its role, and its number when the operation has several in that role.
// Arg::kSrc is the only src of an operation.
struct Arg {
  enum Role : int {
    kSrc,
    kWeights,
    kBias,
    kDst,
    kDiffSrc,
    kDiffWeights,
    kDiffBias,
    kDiffDst,
    kWorkspace,  // written by forward, read by backward: argmax of a pooling, mask of a dropout
    kMean,
    kVariance,
    kScale,
    kShift,
    kDiffScale,
    kDiffShift,
    kLabels,
    kLoss,
    kMomentum,      // first moment
    kSecondMoment,  // of Adam
    kStep,          // number of updates done
    kLearningRate,  // scalar
    kSum,           // second source of a fused addition
    kScratch,       // not an operand: see Kernel::run_scratch_bytes
  };
  static constexpr int kRoles = kScratch + 1;
  static constexpr int kOnly = -1;

  constexpr Arg(Role r = kSrc, int i = kOnly)  // NOLINT(google-explicit-constructor)
      : role(r), index(i) {}

  constexpr bool is_indexed() const { return index != kOnly; }
  constexpr auto operator<=>(const Arg&) const = default;  // NOLINT(modernize-use-nullptr)

  Role role;
  int index;  // from 0, or kOnly
};

// Source i of an operation with several sources (concat, add), and the gradient of it.
constexpr Arg IndexedSrc(int i) { return {Arg::kSrc, i}; }
constexpr Arg IndexedDiffSrc(int i) { return {Arg::kDiffSrc, i}; }
// The largest number of sources of an operation.
inline constexpr int kMaxSources = 256;

// "src", "diff_weights", "src_2" for IndexedSrc(2), ...
std::string NameOf(Arg arg);

enum class Direction { kIn, kOut, kInOut };

// One tensor that an operation reads or writes.
struct Operand {
  Arg arg;
  Direction direction;
  Shape shape;
  DataType type;
  // Elements of a source that the result does not depend on: those outside of a slice, or outside
  // all windows of a convolution with strides.
  std::int64_t unread = 0;
};

// A trained parameter of an operation.
struct Parameter {
  Arg arg;              // kWeights, kBias, kScale, kShift
  Arg gradient;         // kDiffWeights, ...
  std::string name;     // "weights", "bias", "scale", "shift"
  Shape shape;          // logical: (O, I/groups, KH, KW), (O, I), (C)
  std::int64_t fan_in;  // number of inputs summed per output; 0: starts at `initial`
  double initial;       // constant start value, used when fan_in is 0
};

// What an execution computes, from the shapes alone. A multiply-accumulate is two FLOPs.
struct Arithmetic {
  std::int64_t macs = 0;   // multiply-accumulates as defined, including those on padding
  std::int64_t flops = 0;  // all operations, including 2 * macs
  // FLOPs without the multiplications by padding zeros, which a kernel may skip; absent: all.
  std::optional<std::int64_t> flops_without_padding{};
};

inline Arithmetic OfProducts(std::int64_t macs) { return {.macs = macs, .flops = 2 * macs}; }

// The arithmetic and the memory traffic of one execution. Bytes are the compulsory traffic: each
// operand once, without layout padding and without elements that are not needed (Operand::unread).
struct Work {
  std::int64_t macs = 0, flops = 0, flops_without_padding = 0;  // as in Arithmetic
  std::int64_t bytes = 0;
};

// One computation of an operation: its pass, its type, and training or inference.
struct Execution {
  Pass pass = Pass::kForward;
  bool training = true;  // forward also writes what backward reads
  DataType type = DataType::kF32;
  // Forward saves no workspace; backward reads src and dst and computes again what it needs
  // (TensorFlow's max pooling and LRN). Only for operations whose operands then have no workspace.
  bool recomputes = false;

  bool operator==(const Execution&) const = default;
};

// `execution` without a workspace.
constexpr Execution Recomputing(Execution execution) {
  execution.recomputes = true;
  return execution;
}

// The element types of an operation with weights, for one type of computation.
struct OperandTypes {
  DataType src = DataType::kF32;
  DataType weights = DataType::kF32;
  DataType dst = DataType::kF32;
  DataType parameter = DataType::kF32;  // bias, and the gradients of the parameters
  bool has_gradients = true;
};

// f32 and f64 use one type throughout. In bf16 and f16 the bias and the gradients of the parameters
// stay f32, as in oneDNN and in TensorFlow's mixed precision. s8 and u8 are the type of src: the
// weights are then s8, dst and bias are exact s32 sums, and there are no gradients.
OperandTypes TypesOf(const Execution& execution);

// How the planner chooses an operation's layouts.
enum class LayoutPolicy {
  kChooses,  // may reorder its source for speed: convolution, inner product
  kFollows,  // keeps its source's layout: pooling, ReLU
  kPlain,    // row-major only: loss, update
};

// What an operation computes from its first source, as far as initial values depend on it.
enum class SourceUse {
  kOther,
  kSum,           // adds the other sources to it: addition
  kPositivePart,  // max(0, x): ReLU without a bound
  kMaximum,       // the maximum of each window: max pooling
};

// What planners ask about an operation, beside what it computes. The defaults are those of an
// operation without any of these properties.
struct PlannerTraits {
  LayoutPolicy layout_policy = LayoutPolicy::kFollows;
  SourceUse source_use = SourceUse::kOther;
  // Whether a pass may write its result over its source: dst over src, diff_src over diff_dst.
  bool forward_in_place = false;
  bool backward_data_in_place = false;
  // Whether inference copies its source (dropout). A planner leaves such an operation out.
  bool copies_in_inference = false;
  // Whether the gradient of each source is diff_dst itself (addition, bias). Then there is nothing
  // to compute: backward_data has no operands, and a planner gives the gradients one piece of
  // memory.
  bool passes_gradient_through = false;
  // Whether the workspace records which results a ReLU passed.
  bool workspace_is_relu_mask = false;
  // The upper bound of the ReLU that the operation applies last, 0 for a ReLU without a bound.
  // Nothing: no ReLU is last.
  std::optional<float> final_relu_bound{};
  // The effect of a constant that is added to each channel of a source, in training: whether it
  // becomes a constant in each channel of dst, and whether it does not change dst.
  bool preserves_channel_constants = false;
  bool removes_channel_constants = false;
  // Whether the operation adds its own bias or shift last.
  bool adds_constant_last = false;
  // Where dst, row-major, contains each source as one contiguous piece: the position of the piece's
  // first element, by source. Empty: it does not (every operation except a concatenation).
  std::vector<std::int64_t> source_places{};
};

class Op {
 public:
  virtual ~Op() = default;

  // Name of the operation, the key of the registries: "conv", "relu".
  virtual std::string_view kind() const = 0;
  // The problem in one word, which ParseProblem reads back: "n8c64h56w56k64r3s3u1v1p1q1".
  virtual std::string Problem() const = 0;
  // The tensors that the computation reads and writes. Empty when the operation has no such pass.
  virtual std::vector<Operand> Operands(const Execution& execution) const = 0;
  // The arithmetic of an execution; by default none (a copy).
  virtual Arithmetic ArithmeticOf(const Execution& /*execution*/) const { return {}; }
  Work WorkIn(const Execution& execution) const;
  // The same, in training.
  Work WorkOf(Pass pass, DataType type) const { return WorkIn({pass, true, type}); }
  // Number of terms of one element of the result, for rounding errors; 0: an exact copy or choice.
  virtual std::int64_t AccumulationLength(Pass pass) const = 0;
  virtual PlannerTraits Traits() const { return {}; }
  virtual std::vector<Parameter> Parameters() const { return {}; }
  // This operation with `next` applied to its result in the same kernel, or nullptr. A planner may
  // try such a fusion. The backward passes stay those of the two operations.
  virtual std::shared_ptr<const Op> FusedWith(const Op& next) const;
  // This operation with `next`, a batch normalization or a constant factor of each channel, folded
  // into its weights and bias (kernels/batchnorm/fold.h), or nullptr. Only inference may fold.
  virtual std::shared_ptr<const Op> FoldedWith(const Op& next) const;
  // This operation and the layer `next`, which reads its result and has parameters of its own, in
  // one kernel; or nullptr. In the result, the parameters of `next` have index 1. Only inference
  // may chain layers.
  virtual std::shared_ptr<const Op> ChainedWith(const Op& next) const;
  // The magnitude of the terms whose sum is dst, when they may cancel: rounding errors are relative
  // to it. 0: they are relative to the largest entry of dst. `values` returns the logical tensor of
  // an operand after the computation, row-major.
  virtual double MagnitudeOfDst(const Execution& execution,
                                const std::function<std::vector<double>(Arg)>& values) const;
  // The same on the first index of dimension 0 alone, whose results are the first ones of this
  // operation; or nullptr. A check of a large problem uses it if no function gives single elements.
  virtual std::shared_ptr<const Op> OfFirstImage() const { return nullptr; }

  bool Has(const Execution& execution) const { return !Operands(execution).empty(); }
  // Whether `execution` has a workspace that a kernel may leave out (Execution::recomputes).
  bool MayRecompute(const Execution& execution) const;
  // The operand in the role `arg`, or nothing.
  std::optional<Operand> Find(const Execution& execution, Arg arg) const;

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op& operator=(const Op&) = default;
};

// The operands of an operation that computes dst from src alone, and diff_src from diff_dst alone.
std::vector<Operand> UnaryOperands(const Execution& execution, const Shape& src, const Shape& dst);

// Sum of the operands' bytes that are needed, without layout padding: the compulsory traffic of one
// pass.
std::int64_t CompulsoryBytes(const Op& op, const Execution& execution);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OP_OP_H_
