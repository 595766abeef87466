// ReLU as device expressions.

#include "kernels/eigen/per_isa/operations.h"
#include "kernels/eigen/per_isa/pool.h"

namespace topdnn::eigen {

namespace {

// The gradient where the result is above 0 and below the bound, else 0: a mask, so that an infinite
// gradient that does not pass leaves no NaN.
struct PassedGradient {
  float bound;  // 0: none

  float operator()(float diff_dst, float dst) const {
    return dst > 0.0F && (bound == 0.0F || dst < bound) ? diff_dst : 0.0F;
  }

  template <typename Packet>
  Packet packetOp(const Packet& diff_dst, const Packet& dst) const {
    using namespace Eigen::internal;  // NOLINT: packets' functions have no other names
    const Packet passed = pand(diff_dst, pcmp_lt(pset1<Packet>(0.0F), dst));
    return bound == 0.0F ? passed : pand(passed, pcmp_lt(dst, pset1<Packet>(bound)));
  }
};

}  // namespace

}  // namespace topdnn::eigen

template <>
struct Eigen::internal::functor_traits<topdnn::eigen::PassedGradient> {
  enum { Cost = 3 * NumTraits<float>::AddCost, PacketAccess = true };
};

namespace topdnn::eigen {

void Relu(Pool* pool, std::int64_t n, float bound, const float* src, float* dst) {
  const ConstFlat x(src, n);
  Flat y(dst, n);
  if (bound == 0.0F) {
    y.device(pool->device) = x.cwiseMax<Eigen::PropagateNaN>(0.0F);
  } else {
    y.device(pool->device) =
        x.cwiseMax<Eigen::PropagateNaN>(0.0F).cwiseMin<Eigen::PropagateNaN>(bound);
  }
}

void ReluBackward(Pool* pool, std::int64_t n, float bound, const float* diff_dst, const float* dst,
                  float* diff_src) {
  Flat(diff_src, n).device(pool->device) =
      ConstFlat(diff_dst, n).binaryExpr(ConstFlat(dst, n), PassedGradient{bound});
}

}  // namespace topdnn::eigen
