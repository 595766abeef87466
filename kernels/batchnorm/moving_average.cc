#include "kernels/batchnorm/moving_average.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

MovingAverageOp::MovingAverageOp(std::int64_t n, float momentum) : n_(n), momentum_(momentum) {
  CheckExtents("moving average", Shape{n});
  if (!(momentum >= 0 && momentum <= 1)) {
    throw std::invalid_argument(
        fmt::format("moving average with momentum {}: it must be between 0 and 1", momentum));
  }
}

std::string MovingAverageOp::Problem() const {
  if (momentum_ == kDefaultMomentum) return fmt::format("n{}", n_);
  return fmt::format("n{}_momentum{}", n_, momentum_);
}

std::vector<Operand> MovingAverageOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  return {{Arg::kSrc, Direction::kIn, Shape{n_}, execution.type},
          {Arg::kDst, Direction::kInOut, Shape{n_}, execution.type}};
}

Arithmetic MovingAverageOp::ArithmeticOf(const Execution& execution) const {
  return {.flops = execution.pass == Pass::kForward ? 3 * n_ : 0};
}

namespace {

template <typename T>
class MovingAverageReference : public ReferenceKernel {
 public:
  MovingAverageReference(const KernelRequest& request, const MovingAverageOp& op)
      : ReferenceKernel(request), n_(op.size()), keep_(static_cast<double>(op.momentum())) {}

  void Run() noexcept override {
    const T* src = Data<T>(Arg::kSrc);
    T* dst = Data<T>(Arg::kDst);
    for (std::int64_t i = 0; i < n_; ++i) {
      dst[i] = static_cast<T>(keep_ * static_cast<double>(dst[i]) +
                              (1 - keep_) * static_cast<double>(src[i]));
    }
  }

 private:
  const std::int64_t n_;
  const double keep_;
};

class MovingAverageLoops : public LoopsKernel {
 public:
  MovingAverageLoops(const KernelRequest& request, const MovingAverageOp& op)
      : LoopsKernel(request), n_(op.size()), keep_(op.momentum()) {}

  void Run() noexcept override {
    const float* src = Data<float>(Arg::kSrc);
    float* dst = Data<float>(Arg::kDst);
    const float take = 1 - keep_;
#pragma omp parallel for simd if (parallel : n_ >= kMinParallelElements)
    for (std::int64_t i = 0; i < n_; ++i) dst[i] = keep_ * dst[i] + take * src[i];
  }

 private:
  const std::int64_t n_;
  const float keep_;
};

std::shared_ptr<const Op> ParseMovingAverage(const ProblemWord& word) {
  return std::make_shared<MovingAverageOp>(
      word.Field('n'), word.NumberOr("momentum", MovingAverageOp::kDefaultMomentum));
}

const KernelRegistration kMovingAverageReference(
    "moving_average", "reference", MakeReference<MovingAverageOp, MovingAverageReference>);
const KernelRegistration kOnNative("moving_average", "native",
                                   MakeLoops<MovingAverageOp, MovingAverageLoops>);
const FidelityDeclaration kFidelity(
    {"moving_average", "native", Fidelity::kOurs,
     "a loop; Caffe calls axpby, with a correction for the first steps",
     "layers/batch_norm_layer.cpp"});
const ProblemRegistration kMovingAverageProblem("moving_average", ParseMovingAverage);

}  // namespace

}  // namespace topdnn
