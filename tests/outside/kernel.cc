// Adds an operation, `negation`, with its reference kernel and a second backend, `outside`.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel/bound_kernel.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/op.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

namespace {

// Operands: forward src -> dst; backward_data diff_dst -> diff_src.
class NegationOp : public Op {
 public:
  explicit NegationOp(Shape shape) : shape_(std::move(shape)) { CheckExtents("negation", shape_); }

  const Shape& shape() const { return shape_; }

  std::string_view kind() const override { return "negation"; }
  std::string Problem() const override { return shape_.ToString(); }
  std::vector<Operand> Operands(const Execution& execution) const override {
    return UnaryOperands(execution, shape_, shape_);
  }
  Arithmetic ArithmeticOf(const Execution& /*execution*/) const override {
    return {.flops = shape_.elements()};
  }
  std::int64_t AccumulationLength(Pass /*pass*/) const override { return 1; }

 private:
  Shape shape_;
};

template <typename T>
class NegationReference : public ReferenceKernel {
 public:
  NegationReference(const KernelRequest& request, const NegationOp& op)
      : ReferenceKernel(request),
        n_(op.shape().elements()),
        forward_(request.execution.pass == Pass::kForward) {}

  void Run() noexcept override {
    const T* from = Data<T>(forward_ ? Arg::kSrc : Arg::kDiffDst);
    std::transform(from, from + n_, Data<T>(forward_ ? Arg::kDst : Arg::kDiffSrc),
                   [](T value) { return static_cast<T>(-value); });
  }

 private:
  const std::int64_t n_;
  const bool forward_;
};

KernelOrRefusal MakeReferenceKernel(const KernelRequest& request) {
  return MakeReference<NegationOp, NegationReference>(request);
}

// The backend `outside` offers the forward pass in f32.
class NegationOutside : public BoundKernel {
 public:
  NegationOutside(const KernelRequest& request, const NegationOp& op)
      : BoundKernel(request, "outside loop"), n_(op.shape().elements()) {}

  void Run() noexcept override {
    const float* src = Data(Arg::kSrc);
    std::transform(src, src + n_, Data(Arg::kDst), std::negate<>());
  }

 private:
  const std::int64_t n_;
};

KernelOrRefusal MakeOutside(const KernelRequest& request, const NegationOp& op) {
  if (request.execution.pass != Pass::kForward || request.execution.type != DataType::kF32) {
    return Refusal{"outside computes negation forward in f32"};
  }
  if (std::string why = RowMajorRefusal(request, "outside"); !why.empty()) return Refusal{why};
  return std::make_unique<NegationOutside>(request, op);
}

const KernelRegistration kNegationReference("negation", "reference", MakeReferenceKernel);
const KernelRegistration kOutside("negation", "outside", MakeOutside);
const ProblemRegistration kNegationProblem("negation", [](const ProblemWord& word) {
  return std::shared_ptr<const Op>(std::make_shared<NegationOp>(word.shape()));
});

}  // namespace

}  // namespace topdnn
