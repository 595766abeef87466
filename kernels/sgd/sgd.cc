#include "kernels/sgd/sgd.h"

#include <fmt/format.h>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/reference.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/tensor/extents.h"

namespace topdnn {

SgdOp::SgdOp(std::int64_t n, SgdSettings settings) : n_(n), settings_(settings) {
  CheckExtents("sgd", Shape{n});
}

std::string SgdOp::Problem() const {
  std::string problem = fmt::format("n{}", n_);
  if (settings_.momentum != 0) problem += fmt::format("_momentum{}", settings_.momentum);
  if (settings_.weight_decay != 0) problem += fmt::format("_decay{}", settings_.weight_decay);
  return problem;
}

std::vector<Operand> SgdOp::Operands(const Execution& execution) const {
  if (execution.pass != Pass::kForward) return {};
  const DataType type = execution.type;
  const Shape flat{n_};
  std::vector<Operand> operands = {{Arg::kDiffWeights, Direction::kIn, flat, type},
                                   {Arg::kLearningRate, Direction::kIn, Shape{}, type},
                                   {Arg::kWeights, Direction::kInOut, flat, type}};
  if (settings_.momentum != 0) operands.push_back({Arg::kMomentum, Direction::kInOut, flat, type});
  return operands;
}

Arithmetic SgdOp::ArithmeticOf(const Execution& /*execution*/) const {
  const int terms = 1 + (settings_.momentum != 0 ? 1 : 0) + (settings_.weight_decay != 0 ? 1 : 0);
  return {.flops = 2 * terms * n_};
}

namespace {

template <typename T>
class SgdReference : public ReferenceKernel {
 public:
  SgdReference(const KernelRequest& request, const SgdOp& op)
      : ReferenceKernel(request), n_(op.size()), settings_(op.settings()) {}

  void Run() noexcept override {
    const T* gradient = Data<T>(Arg::kDiffWeights);
    T* weights = Data<T>(Arg::kWeights);
    T* momentum = settings_.momentum != 0 ? Data<T>(Arg::kMomentum) : nullptr;
    const auto rate = static_cast<double>(*Data<T>(Arg::kLearningRate));
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto weight = static_cast<double>(weights[i]);
      auto step = static_cast<double>(gradient[i]);
      if (settings_.weight_decay != 0) step += static_cast<double>(settings_.weight_decay) * weight;
      if (momentum != nullptr) {
        step += static_cast<double>(settings_.momentum) * static_cast<double>(momentum[i]);
        momentum[i] = static_cast<T>(step);
      }
      weights[i] = static_cast<T>(weight - rate * step);
    }
  }

 private:
  const std::int64_t n_;
  const SgdSettings settings_;
};

// oneDNN and OpenBLAS have no optimizer, so those backends use these loops.
class SgdLoops : public LoopsKernel {
 public:
  SgdLoops(const KernelRequest& request, const SgdOp& op)
      : LoopsKernel(request), n_(op.size()), settings_(op.settings()) {}

  void Run() noexcept override { settings_.weight_decay == 0 ? Update<false>() : Update<true>(); }

 private:
  // Without decay its arithmetic is left out, so that the work counted is the work done.
  template <bool kDecays>
  void Update() {
    const float* gradient = Data<float>(Arg::kDiffWeights);
    float* weights = Data<float>(Arg::kWeights);
    const float rate = *Data<float>(Arg::kLearningRate);
    const float decay = settings_.weight_decay;
    if (settings_.momentum == 0) {
#pragma omp parallel for simd if (parallel : n_ >= kMinParallelElements)
      for (std::int64_t i = 0; i < n_; ++i) {
        weights[i] -= rate * (kDecays ? gradient[i] + decay * weights[i] : gradient[i]);
      }
      return;
    }
    const float keep = settings_.momentum;
    float* momentum = Data<float>(Arg::kMomentum);
#pragma omp parallel for simd if (parallel : n_ >= kMinParallelElements)
    for (std::int64_t i = 0; i < n_; ++i) {
      const float g = kDecays ? gradient[i] + decay * weights[i] : gradient[i];
      const float step = keep * momentum[i] + g;
      momentum[i] = step;
      weights[i] -= rate * step;
    }
  }

  const std::int64_t n_;
  const SgdSettings settings_;
};

const KernelRegistration kSgdReference("sgd", "reference", MakeReference<SgdOp, SgdReference>);
const KernelRegistration kOnNative("sgd", "native", MakeLoops<SgdOp, SgdLoops>);
const FidelityDeclaration kFidelity({"sgd", "native", Fidelity::kOurs,
                                     "one loop; Caffe calls axpby, copy and axpy",
                                     "solvers/sgd_solver.cpp"});

std::shared_ptr<const Op> ParseSgd(const ProblemWord& word) {
  SgdSettings settings;
  settings.momentum = word.NumberOr("momentum", 0.0F);
  settings.weight_decay = word.NumberOr("decay", 0.0F);
  return std::make_shared<SgdOp>(word.Field('n'), settings);
}

const ProblemRegistration kSgdProblem("sgd", ParseSgd);

}  // namespace

}  // namespace topdnn
