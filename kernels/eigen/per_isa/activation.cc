// Activations as device expressions.

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

// The gradient where the result is above one bound and, if there is a second, below it; 0
// elsewhere. It is a mask, so that an infinite gradient outside the bounds gives 0 and not a NaN.
struct PassedGradient {
  float lowest, highest;
  bool has_highest;

  float operator()(float diff_dst, float dst) const {
    return dst > lowest && (!has_highest || dst < highest) ? diff_dst : 0.0F;
  }

  template <typename Packet>
  Packet packetOp(const Packet& diff_dst, const Packet& dst) const {
    using namespace Eigen::internal;  // NOLINT: packet functions exist only in this namespace
    const Packet passed = pand(diff_dst, pcmp_lt(pset1<Packet>(lowest), dst));
    return has_highest ? pand(passed, pcmp_lt(dst, pset1<Packet>(highest))) : passed;
  }
};

// The gradient of the sigmoid as one function of two arguments, as in TensorFlow
// (cwise_ops_gradients.h).
struct SigmoidGradient {
  float operator()(float diff_dst, float dst) const { return diff_dst * (dst * (1.0F - dst)); }

  template <typename Packet>
  Packet packetOp(const Packet& diff_dst, const Packet& dst) const {
    using namespace Eigen::internal;  // NOLINT: packet functions exist only in this namespace
    return pmul(diff_dst, pmul(dst, psub(pset1<Packet>(1.0F), dst)));
  }
};

}  // namespace

}  // namespace topdnn::eigen

template <>
struct Eigen::internal::functor_traits<topdnn::eigen::SigmoidGradient> {
  enum {
    Cost = NumTraits<float>::AddCost + 2 * NumTraits<float>::MulCost,
    PacketAccess = true,
  };
};

template <>
struct Eigen::internal::functor_traits<topdnn::eigen::PassedGradient> {
  enum { Cost = 3 * NumTraits<float>::AddCost, PacketAccess = true };
};

namespace topdnn::eigen {

namespace {

void Activate(Pool* pool, const Activation& activation, std::int64_t n, const float* src,
              float* dst) {
  const ConstFlat x(src, n);
  Flat y(dst, n);
  switch (activation.function) {
    case Activation::Function::kRelu:
      y.device(pool->device) = x.cwiseMax<Eigen::PropagateNaN>(0.0F);
      break;
    case Activation::Function::kClip:
      y.device(pool->device) = x.cwiseMax<Eigen::PropagateNaN>(activation.lowest)
                                   .cwiseMin<Eigen::PropagateNaN>(activation.highest);
      break;
    case Activation::Function::kSigmoid:
      y.device(pool->device) = x.sigmoid();
      break;
    case Activation::Function::kHardSigmoid:
      y.device(pool->device) = (x * activation.alpha + activation.beta)
                                   .cwiseMax<Eigen::PropagateNaN>(0.0F)
                                   .cwiseMin<Eigen::PropagateNaN>(1.0F);
      break;
  }
}

void ActivateBackward(Pool* pool, const Activation& activation, std::int64_t n,
                      const float* diff_dst, const float* dst, float* diff_src) {
  const ConstFlat gradient(diff_dst, n);
  const ConstFlat y(dst, n);
  Flat result(diff_src, n);
  switch (activation.function) {
    case Activation::Function::kRelu:
      result.device(pool->device) = gradient.binaryExpr(y, PassedGradient{0.0F, 0.0F, false});
      break;
    case Activation::Function::kClip:
      result.device(pool->device) =
          gradient.binaryExpr(y, PassedGradient{activation.lowest, activation.highest, true});
      break;
    case Activation::Function::kSigmoid:
      result.device(pool->device) = gradient.binaryExpr(y, SigmoidGradient{});
      break;
    case Activation::Function::kHardSigmoid:
      result.device(pool->device) =
          gradient.binaryExpr(y, PassedGradient{0.0F, 1.0F, true}) * activation.alpha;
      break;
  }
}

const Entry kActivate(&Functions::activate, Activate);
const Entry kActivateBackward(&Functions::activate_backward, ActivateBackward);

}  // namespace

}  // namespace topdnn::eigen
