// Arithmetic on integers in a row: by definition in 128 bits, and as loops in 64 bits for all
// backends, because their libraries lack it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "kernels/eigen/range_loop.h"
#include "kernels/eltwise/integer_steps.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// A whole number, limited to what the conversion is defined for.
std::int64_t WholeOf(double x) {
  constexpr double kMost = 0x1p62;
  return std::isnan(x) ? 0 : static_cast<std::int64_t>(std::clamp(x, -kMost, kMost));
}

template <typename T>
class IntegerStepsReference : public ReferenceKernel {
 public:
  IntegerStepsReference(const KernelRequest& request, const IntegerStepsOp& op)
      : ReferenceKernel(request), op_(op) {}

  void Run() noexcept override {
    const T* constant = Data<T>(Arg::kWeights);
    for (std::int64_t i = 0; i < op_.shape().elements(); ++i) {
      const std::int64_t channel = i / op_.run() % op_.channels();
      __extension__ using Wide = __int128;
      Wide x = WholeOf(static_cast<double>(Data<T>(Arg::kSrc)[i]));
      for (std::size_t s = 0; s < op_.steps().size(); ++s) {
        const auto at = static_cast<std::int64_t>(s) * op_.channels() + channel;
        const Wide operand = WholeOf(static_cast<double>(constant[at]));
        switch (op_.steps()[s]) {
          case IntegerStep::kAdd:
            x += operand;
            break;
          case IntegerStep::kSub:
            x -= operand;
            break;
          case IntegerStep::kMul:
            x *= operand;
            break;
          case IntegerStep::kDiv:
            x = operand == 0 ? 0 : x / operand;
            break;
          case IntegerStep::kMin:
            x = std::min(x, operand);
            break;
          case IntegerStep::kMax:
            x = std::max(x, operand);
            break;
        }
        x = static_cast<std::int64_t>(x);  // ONNX's int64
      }
      Data<T>(Arg::kDst)[i] = static_cast<T>(static_cast<std::int64_t>(x));
    }
  }

 private:
  const IntegerStepsOp op_;
};

// int64 wraps around, which C++ defines for unsigned numbers alone.
std::int64_t Stepped(IntegerStep step, std::int64_t x, std::int64_t operand) {
  const auto a = static_cast<std::uint64_t>(x), b = static_cast<std::uint64_t>(operand);
  switch (step) {
    case IntegerStep::kAdd:
      return static_cast<std::int64_t>(a + b);
    case IntegerStep::kSub:
      return static_cast<std::int64_t>(a - b);
    case IntegerStep::kMul:
      return static_cast<std::int64_t>(a * b);
    case IntegerStep::kDiv:
      if (operand == -1) return static_cast<std::int64_t>(-a);
      return operand == 0 ? 0 : x / operand;
    case IntegerStep::kMin:
      return std::min(x, operand);
    case IntegerStep::kMax:
      return std::max(x, operand);
  }
  return x;
}

// An iteration is an element.
class IntegerStepsLoop {
 public:
  explicit IntegerStepsLoop(const KernelRequest& request) : op_(request.OpAs<IntegerStepsOp>()) {}

  std::int64_t iterations() const { return op_.shape().elements(); }
  double cycles() const { return 8.0 * static_cast<double>(op_.steps().size()); }
  std::array<Arg, kLoopOperands> operands() const { return {Arg::kSrc, Arg::kWeights, Arg::kDst}; }

  void Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = first; i < end; ++i) {
      const float* operand = data[1] + i / op_.run() % op_.channels();
      std::int64_t x = WholeOf(static_cast<double>(data[0][i]));
      for (const IntegerStep step : op_.steps()) {
        x = Stepped(step, x, WholeOf(static_cast<double>(*operand)));
        operand += op_.channels();
      }
      data[2][i] = static_cast<float>(x);
    }
  }

 private:
  const IntegerStepsOp op_;
};

const KernelRegistration kIntegerReference("integer_steps", "reference",
                                           MakeReference<IntegerStepsOp, IntegerStepsReference>);
const KernelRegistration kIntegerNative("integer_steps", "native", MakeOmpRange<IntegerStepsLoop>);
const eigen::Registration kIntegerEigen("integer_steps", eigen::MakeRange<IntegerStepsLoop>);
const FidelityDeclaration kIntegerFidelity[] = {
    FidelityDeclaration({"integer_steps", "eigen", Fidelity::kOurs,
                         "one loop over 64-bit integers on Eigen's pool; TensorFlow has no such "
                         "operation, but one for each step"}),
    FidelityDeclaration(
        {"integer_steps", "native", Fidelity::kOurs,
         "one loop over 64-bit integers on all threads; Caffe has no such operation"}),
};

}  // namespace

}  // namespace topdnn
