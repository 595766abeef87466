// Updates of parameters as in TensorFlow 2.5 (training_ops.cc). SGD is device expressions. Adam
// works block by block, with three expressions for each, so that the block stays in the cache.
// Without weight decay, the code leaves its arithmetic out, because the operation's work does not
// include it then.

#include <algorithm>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

template <typename Gradient>
void Sgd(const Eigen::ThreadPoolDevice& device, float rate, float keep, const Gradient& gradient,
         Flat weights, float* momentum) {
  if (momentum == nullptr) {
    weights.device(device) -= gradient * rate;
    return;
  }
  Flat velocity(momentum, weights.size());
  velocity.device(device) = velocity * keep + gradient;
  weights.device(device) -= velocity * rate;
}

template <typename Gradient>
void ByAdam(const Adam& s, const Gradient& gradient, Flat weights, Flat first, Flat second) {
  first += (gradient - first) * (1.0F - s.beta1);
  second += (gradient.square() - second) * (1.0F - s.beta2);
  weights -= first * s.rate / (second.sqrt() + s.epsilon);
}

// TensorFlow's estimate of the cost of one vector: four operands and three results, and the cycles
// of the arithmetic, all multiplied by the number of vectors. So even small parameters are divided
// into blocks.
Eigen::TensorOpCost CostOfAdam(Index vectors) {
  using Cost = Eigen::TensorOpCost;
  constexpr auto kBytes = static_cast<double>(Eigen::internal::packet_traits<float>::size * 4);
  const double cycles = Cost::AddCost<int>() * 5 + Cost::MulCost<int>() * 2 +
                        Cost::AddCost<float>() * 10 + Cost::MulCost<float>() * 6 +
                        Cost::DivCost<float>();
  const auto n = static_cast<double>(vectors);
  return {n * kBytes * 4, n * kBytes * 3, n * cycles};
}

void UpdateBySgd(Pool* pool, std::int64_t n, float rate, float keep, float weight_decay,
                 const float* gradient, float* weights, float* momentum) {
  const ConstFlat g(gradient, n);
  const Flat w(weights, n);
  if (weight_decay == 0.0F) {
    Sgd(pool->device, rate, keep, g, w, momentum);
  } else {
    Sgd(pool->device, rate, keep, g + w * weight_decay, w, momentum);
  }
}

void UpdateByAdam(Pool* pool, std::int64_t n, const Adam& settings, const float* gradient,
                  float* weights, float* momentum, float* second_moment) {
  constexpr Index kLanes = Eigen::internal::packet_traits<float>::size;
  const Index vectors = (n + kLanes - 1) / kLanes;
  pool->device.parallelFor(vectors, CostOfAdam(vectors), [&](Index first, Index end) {
    const Index begin = first * kLanes;
    const Index count = std::min<Index>(end * kLanes, n) - begin;
    const ConstFlat g(gradient + begin, count);
    const Flat w(weights + begin, count);
    const Flat m(momentum + begin, count);
    const Flat v(second_moment + begin, count);
    if (settings.weight_decay == 0.0F) {
      ByAdam(settings, g, w, m, v);
    } else {
      ByAdam(settings, g + w * settings.weight_decay, w, m, v);
    }
  });
}

const Entry kUpdateBySgd(&Functions::sgd, UpdateBySgd);
const Entry kUpdateByAdam(&Functions::adam, UpdateByAdam);

}  // namespace

}  // namespace topdnn::eigen
