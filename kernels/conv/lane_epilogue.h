// What follows the sums of a convolution, by vectors of channels, compiled for several ISAs.

#ifndef TOPDNN_KERNELS_CONV_LANE_EPILOGUE_H_
#define TOPDNN_KERNELS_CONV_LANE_EPILOGUE_H_

#include <limits>

#include "kernels/simd/lane_vectors.h"

namespace topdnn {

// An addition, and the range of the results. (The bias is added before.) With a range, a ReLU takes
// two instructions, whether it has a bound or not.
struct LaneEpilogue {
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  bool sum = false;
  float least = -kInfinity;
  float most = kInfinity;
};

// `bound` of the ReLU; 0: none.
inline LaneEpilogue LaneEpilogueOf(bool sum, bool relu, float bound) {
  LaneEpilogue epilogue;
  epilogue.sum = sum;
  if (relu) epilogue.least = 0;
  if (bound != 0) epilogue.most = bound;
  return epilogue;
}

// For a vector of results at `to`. A NaN stays.
template <int kLanes>
inline void StoreResult(const LaneEpilogue& epilogue, typename Vectors<kLanes>::Floats value,
                        float* to) {
  using Floats = typename Vectors<kLanes>::Floats;
  const Floats least = epilogue.least - Floats{};
  const Floats most = epilogue.most - Floats{};
  if (epilogue.sum) value += LoadFloats<kLanes>(to);
  value = least > value ? least : value;
  value = most < value ? most : value;
  StoreFloats(value, to);
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_LANE_EPILOGUE_H_
