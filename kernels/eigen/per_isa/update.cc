// Updates of parameters as device expressions, as in TensorFlow's training_ops.cc. Without decay
// its arithmetic is left out, because the operation's work then does not include it.

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
void ByAdam(const Eigen::ThreadPoolDevice& device, const Adam& s, const Gradient& gradient,
            Flat weights, Flat first, Flat second) {
  first.device(device) = first * s.beta1 + gradient * (1.0F - s.beta1);
  second.device(device) = second * s.beta2 + gradient.square() * (1.0F - s.beta2);
  weights.device(device) -= first * s.rate / (second.sqrt() + s.epsilon);
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
  const ConstFlat g(gradient, n);
  const Flat w(weights, n);
  const Flat m(momentum, n);
  const Flat v(second_moment, n);
  if (settings.weight_decay == 0.0F) {
    ByAdam(pool->device, settings, g, w, m, v);
  } else {
    ByAdam(pool->device, settings, g + w * settings.weight_decay, w, m, v);
  }
}

const Entry kUpdateBySgd(&Functions::sgd, UpdateBySgd);
const Entry kUpdateByAdam(&Functions::adam, UpdateByAdam);

}  // namespace

}  // namespace topdnn::eigen
