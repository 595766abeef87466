// The activations as Eigen device expressions, in any layout of the source.

#include <fmt/format.h>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/eigen/kernel.h"
#include "kernels/kernel/fidelity.h"

namespace topdnn {

namespace {

eigen::Activation FunctionOf(const Op& op) {
  using Function = eigen::Activation::Function;
  if (const auto* clip = dynamic_cast<const ClipOp*>(&op)) {
    return {.function = Function::kClip, .lowest = clip->lowest(), .highest = clip->highest()};
  }
  if (op.kind() == "sigmoid") return {.function = Function::kSigmoid};
  if (const auto* hard = dynamic_cast<const HardSigmoidOp*>(&op)) {
    return {.function = Function::kHardSigmoid, .alpha = hard->alpha(), .beta = hard->beta()};
  }
  const float bound = dynamic_cast<const ReluOp&>(op).bound();
  if (bound == 0.0F) return {.function = Function::kRelu};
  return {.function = Function::kClip, .lowest = 0.0F, .highest = bound};
}

class ActivationEigen : public eigen::EigenKernel {
 public:
  ActivationEigen(const KernelRequest& request, const eigen::Functions& functions)
      : EigenKernel(request, functions, "expression"), activation_(FunctionOf(*request.op)) {
    const TensorDesc& desc = operands().front().desc;
    n_ = desc.layout.PaddedElements(desc.shape);
  }

 private:
  void Compute() override {
    if (forward()) {
      functions().activate(pool(), activation_, n_, Data(Arg::kSrc), Data(Arg::kDst));
    } else {
      functions().activate_backward(pool(), activation_, n_, Data(Arg::kDiffDst), Data(Arg::kDst),
                                    Data(Arg::kDiffSrc));
    }
  }

  const eigen::Activation activation_;
  std::int64_t n_;
};

// The kernel computes on the zeros between the channels of a blocked layout, too, which must stay.
bool KeepsZero(const eigen::Activation& activation) {
  using Function = eigen::Activation::Function;
  if (activation.function == Function::kRelu) return true;
  return activation.function == Function::kClip && activation.lowest <= 0 &&
         activation.highest >= 0;
}

KernelOrRefusal MakeEigenActivation(const eigen::Functions& functions, KernelRequest& request) {
  if (auto refusal = eigen::SettleOneLayout(request)) return *std::move(refusal);
  const Operand operand = request.op->Operands(request.execution).front();
  const Layout layout = request.LayoutOf(operand.arg);
  // (the gradient of a zero in diff_dst is 0)
  if (request.execution.pass == Pass::kForward && !KeepsZero(FunctionOf(*request.op)) &&
      layout.PaddedElements(operand.shape) != operand.shape.elements()) {
    return Refusal{fmt::format("eigen computes {} of zeros, and layout {} has some as padding",
                               request.op->kind(), layout.tag())};
  }
  return std::make_unique<ActivationEigen>(request, functions);
}

const eigen::Registration kEigenRelu("relu", MakeEigenActivation);
const eigen::Registration kEigenBounded("bounded_relu", MakeEigenActivation);
const eigen::Registration kEigenClip("clip", MakeEigenActivation);
const eigen::Registration kEigenSigmoid("sigmoid", MakeEigenActivation);
const eigen::Registration kEigenHardSigmoid("hard_sigmoid", MakeEigenActivation);
const FidelityDeclaration kActivationEigenFidelity[] = {
    FidelityDeclaration({"relu",
                         "eigen",
                         Fidelity::kSame,
                         "max with 0; a NaN stays",
                         "relu_op_functor.h",
                         {Pass::kForward}}),
    FidelityDeclaration({"relu",
                         "eigen",
                         Fidelity::kOurs,
                         "a mask selects the gradient, so that an infinite one gives 0; TensorFlow "
                         "multiplies by 0 or 1",
                         "relu_op_functor.h",
                         {Pass::kBackwardData}}),
    FidelityDeclaration({"bounded_relu",
                         "eigen",
                         Fidelity::kSame,
                         "max with 0, then min with the bound; a NaN stays",
                         "relu_op_functor.h",
                         {Pass::kForward}}),
    FidelityDeclaration({"bounded_relu",
                         "eigen",
                         Fidelity::kOurs,
                         "a mask selects the gradient, so that an infinite one gives 0; TensorFlow "
                         "multiplies by 0 or 1",
                         "relu_op_functor.h",
                         {Pass::kBackwardData}}),
    FidelityDeclaration(
        {"clip", "eigen", Fidelity::kOurs,
         "one expression on all threads, in which a NaN stays; TensorFlow's clip_by_value is a "
         "Minimum and a Maximum, and its ClipByValue works on one thread, element by element",
         "cwise_op_clip.cc"}),
    FidelityDeclaration({"sigmoid", "eigen", Fidelity::kSame,
                         "Eigen's logistic function (cwise_ops.h); the gradient is one function of "
                         "the result and its gradient",
                         "cwise_ops_gradients.h"}),
    FidelityDeclaration({"hard_sigmoid", "eigen", Fidelity::kOurs,
                         "one expression; TensorFlow has no such operation, and Keras composes it "
                         "of a product, a sum and a clip"}),
};

}  // namespace

}  // namespace topdnn
