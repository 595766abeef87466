// A row of a trace as a problem of topdnn's kernels: the operation, its pass and type, and the
// layouts of its operands. Or the reason why the kernels cannot compute the same.
//
// Each primitive of oneDNN has a translator, which registers itself under the primitive's name:
//
//   const TranslatorRegistration kConvolution("convolution", ConvOf);

#ifndef TOPDNN_BENCH_LOG_TRANSLATE_TRACED_PROBLEM_H_
#define TOPDNN_BENCH_LOG_TRANSLATE_TRACED_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/log/read/trace.h"
#include "kernels/eltwise/unary.h"
#include "kernels/op/op.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

struct TracedProblem {
  std::shared_ptr<const Op> op;
  Execution execution;
  std::map<Arg, Layout> layouts;  // without those that no tag describes
  std::string algorithm = {};     // KernelRequest::algorithm
  // Why it is the primitive itself (kernels/logged/), of which topdnn has no other variants; empty
  // for an operation of topdnn.
  std::string logged_reason = {};
};

struct NoProblem {
  std::string reason;
};

// Pure. Never throws for a row of any content.
std::variant<TracedProblem, NoProblem> ProblemOf(const TraceRow& row);

// The pass that a propagation means; "undef" is a forward pass. Nothing for an unknown one.
std::optional<Pass> PassOfPropKind(std::string_view prop_kind);

// Thrown by a translator: why the row is not a problem of topdnn.
class NotTranslated : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A function of kernels/eltwise/unary.h with its parameters.
struct TracedFunction {
  const UnaryFunction* function;
  float alpha, beta;
};

// The function that a log names so, with the parameters of the log. Nothing for an unknown one.
std::optional<TracedFunction> FunctionOf(std::string_view name, float alpha, float beta);

// An operation applied to the result, as attr-post-ops spells it: "eltwise_clip:0:6".
struct TracedPostOp {
  std::string name;
  std::vector<double> numbers;

  double NumberOr(std::size_t i, double otherwise) const {
    return i < numbers.size() ? numbers[i] : otherwise;
  }
  // The bound of a ReLU, 0 for one without. Nothing if the post-op is no ReLU.
  std::optional<float> ReluBound() const;
  // Another function, if it has its default parameters and its result is not scaled; otherwise
  // null.
  const UnaryFunction* Function() const;
};

// A row while it is translated. Every function throws NotTranslated if the row does not have what
// is asked for.
class RowReader {
 public:
  explicit RowReader(const TraceRow& row);

  const TraceRow& row() const { return row_; }
  Pass pass() const { return pass_; }
  bool training() const { return training_; }

  // The number of a name in the problem ("ic", "kh"), or in the auxiliary field ("axis").
  std::int64_t Number(const std::string& name) const;
  std::int64_t NumberOr(const std::string& name, std::int64_t otherwise) const;
  bool Has(const std::string& name) const { return numbers_.contains(name); }
  double Real(const std::string& name) const;
  double RealOr(const std::string& name, double otherwise) const;
  // The shapes of a problem such as "2x64x56x56:2x64x1x1".
  std::vector<Shape> Shapes() const;
  // "convolution_direct" of "alg:convolution_direct"; empty if there is none.
  std::string Algorithm() const { return Word("alg"); }
  // The text after "NAME:" in the auxiliary field.
  std::string Word(std::string_view name) const;
  // The flags of a normalization, which are letters of `known`. Refuses others.
  std::string Flags(std::string_view known) const;

  // The first tensor with one of these names, or the i-th with this name.
  const TracedTensor& Tensor(const std::vector<std::string_view>& names) const;
  const TracedTensor& Tensor(std::string_view name, std::size_t i) const;
  bool HasTensor(std::string_view name) const;
  DataType TypeOf(const TracedTensor& tensor) const;
  Layout LayoutOf(const TracedTensor& tensor) const;

  // The post-ops. Any other attribute is refused.
  std::vector<TracedPostOp> PostOps() const;
  // Refuses every attribute.
  void RefuseAttributes() const;

 private:
  const TraceRow& row_;
  Pass pass_ = Pass::kForward;
  bool training_ = true;
  std::map<std::string, double> numbers_;
};

// Sets the layout of an operand to that of the tensor. Refuses a type that differs from the one
// that topdnn's operation has in this role, a tensor with gaps, and a layout that no tag describes,
// unless `may_choose`: then the kernel chooses it, as it does for the format "any".
void Settle(const RowReader& reader, Arg arg, const TracedTensor& tensor, TracedProblem& problem,
            bool may_choose = false);

// The input and the result of an operation that has no other operands: src and dst, or in a
// backward pass their gradients.
void SettleSrcAndDst(const RowReader& reader, TracedProblem& problem);

// The same where a backward pass also reads the input, and a log of oneDNN 2 has one tensor for
// both ("data", "diff").
void SettleNormalization(const RowReader& reader, TracedProblem& problem);

// src, weights, dst and bias of a convolution or an inner product, or their gradients by the pass.
// `may_choose` is about the weights.
void SettleProduct(const RowReader& reader, TracedProblem& problem, bool may_choose = false);
// The same with the description of the weights.
void SettleProduct(const RowReader& reader, const TracedTensor& weights, TracedProblem& problem,
                   bool may_choose = false);

// The letters of a tensor's layout before the blocks: one for each dimension.
std::size_t DimensionsOf(const TracedTensor& tensor);

using Translator = TracedProblem (*)(const RowReader& reader);

class TranslatorRegistration {
 public:
  TranslatorRegistration(std::string_view primitive, Translator translator);
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_TRANSLATE_TRACED_PROBLEM_H_
