#include "kernels/sgd/adam.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/sgd/sgd.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

AdamOp::AdamOp(std::int64_t n, AdamSettings settings) : n_(n), settings_(settings) {
  CheckExtents("adam", Shape{n});
}

std::string AdamOp::Problem() const {
  const std::string problem = fmt::format("n{}", n_);
  return settings_.weight_decay == 0 ? problem
                                     : fmt::format("{}_decay{}", problem, settings_.weight_decay);
}

std::vector<Operand> AdamOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  const DataType type = execution.type;
  const Shape flat{n_};
  return {{Arg::kDiffWeights, Direction::kIn, flat, type},
          {Arg::kLearningRate, Direction::kIn, Shape{}, type},
          {Arg::kWeights, Direction::kInOut, flat, type},
          {Arg::kMomentum, Direction::kInOut, flat, type},
          {Arg::kSecondMoment, Direction::kInOut, flat, type},
          {Arg::kStep, Direction::kInOut, Shape{}, DataType::kS32}};
}

Arithmetic AdamOp::ArithmeticOf(const Execution& /*execution*/) const {
  const int decay = settings_.weight_decay != 0 ? 2 : 0;
  return {.flops = (12 + decay) * n_};
}

double CorrectedRate(double rate, const AdamSettings& settings, std::int32_t step) {
  const double first = 1.0 - std::pow(static_cast<double>(settings.beta1), step);
  const double second = 1.0 - std::pow(static_cast<double>(settings.beta2), step);
  return rate * std::sqrt(second) / first;
}

namespace {

template <typename T>
class AdamReference : public ReferenceKernel {
 public:
  AdamReference(const KernelRequest& request, const AdamOp& op)
      : ReferenceKernel(request), n_(op.size()), settings_(op.settings()) {}

  void Run() noexcept override {
    const T* gradient = Data<T>(Arg::kDiffWeights);
    T* weights = Data<T>(Arg::kWeights);
    T* momentum = Data<T>(Arg::kMomentum);
    T* second = Data<T>(Arg::kSecondMoment);
    const std::int32_t step = ++*Data<std::int32_t>(Arg::kStep);
    const double rate =
        CorrectedRate(static_cast<double>(*Data<T>(Arg::kLearningRate)), settings_, step);
    const auto beta1 = static_cast<double>(settings_.beta1);
    const auto beta2 = static_cast<double>(settings_.beta2);
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto weight = static_cast<double>(weights[i]);
      auto g = static_cast<double>(gradient[i]);
      if (settings_.weight_decay != 0) g += static_cast<double>(settings_.weight_decay) * weight;
      const double m = beta1 * static_cast<double>(momentum[i]) + (1 - beta1) * g;
      const double v = beta2 * static_cast<double>(second[i]) + (1 - beta2) * g * g;
      momentum[i] = static_cast<T>(m);
      second[i] = static_cast<T>(v);
      weights[i] = static_cast<T>(
          weight - rate * m / (std::sqrt(v) + static_cast<double>(settings_.epsilon)));
    }
  }

 private:
  const std::int64_t n_;
  const AdamSettings settings_;
};

class AdamLoops : public LoopsKernel {
 public:
  AdamLoops(const KernelRequest& request, const AdamOp& op)
      : LoopsKernel(request), n_(op.size()), settings_(op.settings()) {}

  void Run() noexcept override { settings_.weight_decay == 0 ? Update<false>() : Update<true>(); }

 private:
  // Without decay its arithmetic is left out, so that the work counted is the work done.
  template <bool kDecays>
  void Update() {
    const float* gradient = Data<float>(Arg::kDiffWeights);
    float* weights = Data<float>(Arg::kWeights);
    float* momentum = Data<float>(Arg::kMomentum);
    float* second = Data<float>(Arg::kSecondMoment);
    const std::int32_t step = ++*Data<std::int32_t>(Arg::kStep);
    const auto rate = static_cast<float>(
        CorrectedRate(static_cast<double>(*Data<float>(Arg::kLearningRate)), settings_, step));
    const float beta1 = settings_.beta1;
    const float beta2 = settings_.beta2;
    const float decay = settings_.weight_decay;
    const float epsilon = settings_.epsilon;
#pragma omp parallel for simd if (parallel : n_ >= kMinParallelElements)
    for (std::int64_t i = 0; i < n_; ++i) {
      const float g = kDecays ? gradient[i] + decay * weights[i] : gradient[i];
      const float m = beta1 * momentum[i] + (1 - beta1) * g;
      const float v = beta2 * second[i] + (1 - beta2) * g * g;
      momentum[i] = m;
      second[i] = v;
      weights[i] -= rate * m / (std::sqrt(v) + epsilon);
    }
  }

  const std::int64_t n_;
  const AdamSettings settings_;
};

const KernelRegistration kAdamReference("adam", "reference", MakeReference<AdamOp, AdamReference>);
const KernelRegistration kOnNative("adam", "native", MakeLoops<AdamOp, AdamLoops>);
const FidelityDeclaration kFidelity(
    {"adam", "native", Fidelity::kOurs,
     "one loop; Caffe makes a pass for each operation (axpby, powx, div)",
     "solvers/adam_solver.cpp"});

std::shared_ptr<const Op> ParseAdam(const ProblemWord& word) {
  AdamSettings settings;
  settings.weight_decay = word.NumberOr("decay", 0.0F);
  return std::make_shared<AdamOp>(word.Field('n'), settings);
}

const ProblemRegistration kAdamProblem("adam", ParseAdam);

}  // namespace

}  // namespace topdnn
