// Rows of a batch normalization by vectors of channels, compiled for several ISAs: see
// channel_loops.cc.

#ifndef TOPDNN_KERNELS_BATCHNORM_CHANNEL_ROWS_H_
#define TOPDNN_KERNELS_BATCHNORM_CHANNEL_ROWS_H_

#include <cstdint>

#include "kernels/simd/lane_vectors.h"

namespace topdnn {

// (rows, channels) in src, diff_dst, result and passed. The other arrays have one value per
// channel.
struct ChannelRows {
  std::int64_t rows = 0, channels = 0;
  const float* src = nullptr;
  const float* diff_dst = nullptr;
  float* result = nullptr;         // dst, or diff_src
  std::uint8_t* passed = nullptr;  // 1 where the ReLU passes its source; nullptr: no such array
  const float* center = nullptr;   // subtracted from src
  const float* factor = nullptr;
  const float* shift = nullptr;  // forward: of the operation; backward: the mean of the gradient
  const float* slope = nullptr;  // backward
  float* sums = nullptr;         // of the differences src - center, or of the gradient
  float* products = nullptr;     // of the differences with themselves, or with the gradient
  float bound = 0;               // of the ReLU; 0: none
  bool streams = false;          // `result` is aligned to vectors and written past the caches
};

// The gradient of the batch normalization: that of dst where the ReLU passed.
template <int kLanes, bool kMasked>
inline typename Vectors<kLanes>::Floats GradientAt(const ChannelRows& r, std::int64_t at) {
  using Floats = typename Vectors<kLanes>::Floats;
  const Floats gradient = LoadFloats<kLanes>(r.diff_dst + at);
  if constexpr (!kMasked) {
    return gradient;
  } else {
    return LoadBytes<kLanes>(r.passed + at) != 0 ? gradient : Floats{};
  }
}

// Adds kRows rows to the sums of the vector of channels at `c`.
template <int kLanes, bool kBackward, bool kMasked, int kRows>
inline void AddRows(const ChannelRows& r, std::int64_t row, std::int64_t c,
                    typename Vectors<kLanes>::Floats& sum,
                    typename Vectors<kLanes>::Floats& product) {
  using Floats = typename Vectors<kLanes>::Floats;
  const Floats center = LoadFloats<kLanes>(r.center + c);
  // Two chains of additions, which are added at the end.
  Floats sums[2] = {};
  Floats products[2] = {};
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    const std::int64_t at = (row + i) * r.channels + c;
    const Floats difference = LoadFloats<kLanes>(r.src + at) - center;
    Floats added = difference;
    if constexpr (kBackward) added = GradientAt<kLanes, kMasked>(r, at);
    sums[i % 2] += added;
    products[i % 2] += added * difference;
  }
  sum += sums[0] + sums[1];
  product += products[0] + products[1];
}

template <int kLanes, bool kBackward, bool kMasked>
void AddAllRows(const ChannelRows& rows) {
  using Floats = typename Vectors<kLanes>::Floats;
  constexpr int kTogether = 4;
  const ChannelRows r = rows;  // a local copy: stores cannot change it
  const std::int64_t last = r.rows % kTogether;
  if (r.channels == kLanes) {
    Floats sum = {}, product = {};
    std::int64_t row = 0;
    for (; row + kTogether <= r.rows; row += kTogether) {
      AddRows<kLanes, kBackward, kMasked, kTogether>(r, row, 0, sum, product);
    }
    for (; row < r.rows; ++row) AddRows<kLanes, kBackward, kMasked, 1>(r, row, 0, sum, product);
    StoreFloats(LoadFloats<kLanes>(r.sums) + sum, r.sums);
    StoreFloats(LoadFloats<kLanes>(r.products) + product, r.products);
    return;
  }
  for (std::int64_t row = 0; row < r.rows; row += kTogether) {
    for (std::int64_t c = 0; c < r.channels; c += kLanes) {
      Floats sum = LoadFloats<kLanes>(r.sums + c);
      Floats product = LoadFloats<kLanes>(r.products + c);
      if (row + kTogether <= r.rows) {
        AddRows<kLanes, kBackward, kMasked, kTogether>(r, row, c, sum, product);
      } else {
        for (std::int64_t i = 0; i < last; ++i) {
          AddRows<kLanes, kBackward, kMasked, 1>(r, row + i, c, sum, product);
        }
      }
      StoreFloats(sum, r.sums + c);
      StoreFloats(product, r.products + c);
    }
  }
}

template <int kLanes>
inline void StoreResult(const ChannelRows& r, const typename Vectors<kLanes>::Floats& values,
                        std::int64_t at) {
  if (r.streams) {
    StreamFloats<kLanes>(values, r.result + at);
  } else {
    StoreFloats(values, r.result + at);
  }
}

enum class ReluKind { kNone, kUnbounded, kBounded };

// result = factor * (src - center) + shift, then the ReLU, for the vector at `at`.
template <int kLanes, ReluKind kRelu, bool kMask>
inline void NormalizeVector(const ChannelRows& r, std::int64_t at,
                            typename Vectors<kLanes>::Floats center,
                            typename Vectors<kLanes>::Floats factor,
                            typename Vectors<kLanes>::Floats shift) {
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;
  Floats y = (LoadFloats<kLanes>(r.src + at) - center) * factor + shift;
  if constexpr (kRelu != ReluKind::kNone) {
    // A NaN stays.
    Ints passes = y > Floats{};
    y = y < Floats{} ? Floats{} : y;
    if constexpr (kRelu == ReluKind::kBounded) {
      const Floats bound = Floats{} + r.bound;
      passes &= y < bound;
      y = y > bound ? bound : y;
    }
    if constexpr (kMask) StoreBytes<kLanes>(passes & 1, r.passed + at);
  }
  StoreResult<kLanes>(r, y, at);
}

template <int kLanes, ReluKind kRelu, bool kMask>
void NormalizeAll(const ChannelRows& rows) {
  const ChannelRows r = rows;  // a local copy: stores cannot change it
  if (r.channels == kLanes) {
    const auto center = LoadFloats<kLanes>(r.center);
    const auto factor = LoadFloats<kLanes>(r.factor);
    const auto shift = LoadFloats<kLanes>(r.shift);
    for (std::int64_t row = 0; row < r.rows; ++row) {
      NormalizeVector<kLanes, kRelu, kMask>(r, row * kLanes, center, factor, shift);
    }
    FenceStreams<kLanes>();
    return;
  }
  for (std::int64_t row = 0; row < r.rows; ++row) {
    for (std::int64_t c = 0; c < r.channels; c += kLanes) {
      NormalizeVector<kLanes, kRelu, kMask>(
          r, row * r.channels + c, LoadFloats<kLanes>(r.center + c),
          LoadFloats<kLanes>(r.factor + c), LoadFloats<kLanes>(r.shift + c));
    }
  }
  FenceStreams<kLanes>();
}

template <int kLanes, ReluKind kRelu>
void NormalizeWithRelu(const ChannelRows& rows) {
  if (rows.passed != nullptr) {
    NormalizeAll<kLanes, kRelu, true>(rows);
  } else {
    NormalizeAll<kLanes, kRelu, false>(rows);
  }
}

template <int kLanes>
void NormalizeRelu(const ChannelRows& rows) {
  if (rows.bound == 0) {
    NormalizeWithRelu<kLanes, ReluKind::kUnbounded>(rows);
  } else {
    NormalizeWithRelu<kLanes, ReluKind::kBounded>(rows);
  }
}

// result = factor * (gradient - shift - (src - center) * slope).
template <int kLanes, bool kMasked>
void GradientRows(const ChannelRows& rows) {
  using Floats = typename Vectors<kLanes>::Floats;
  const ChannelRows r = rows;  // a local copy: stores cannot change it
  const auto compute = [&r](std::int64_t at, Floats center, Floats factor, Floats shift,
                            Floats slope) {
    const Floats difference = LoadFloats<kLanes>(r.src + at) - center;
    const Floats gradient = GradientAt<kLanes, kMasked>(r, at);
    StoreResult<kLanes>(r, (gradient - shift - difference * slope) * factor, at);
  };
  if (r.channels == kLanes) {
    const Floats center = LoadFloats<kLanes>(r.center), factor = LoadFloats<kLanes>(r.factor);
    const Floats shift = LoadFloats<kLanes>(r.shift), slope = LoadFloats<kLanes>(r.slope);
    for (std::int64_t row = 0; row < r.rows; ++row) {
      compute(row * kLanes, center, factor, shift, slope);
    }
    FenceStreams<kLanes>();
    return;
  }
  for (std::int64_t row = 0; row < r.rows; ++row) {
    for (std::int64_t c = 0; c < r.channels; c += kLanes) {
      compute(row * r.channels + c, LoadFloats<kLanes>(r.center + c),
              LoadFloats<kLanes>(r.factor + c), LoadFloats<kLanes>(r.shift + c),
              LoadFloats<kLanes>(r.slope + c));
    }
  }
  FenceStreams<kLanes>();
}

// The functions for kLanes channels at a time; `channels` is a multiple of it.
struct ChannelRowFunctions {
  int lanes;
  void (*add_squares)(const ChannelRows& rows);    // of src
  void (*add_gradients)(const ChannelRows& rows);  // of diff_dst, masked if `passed` is given
  void (*normalize)(const ChannelRows& rows);
  void (*normalize_relu)(const ChannelRows& rows);
  void (*gradient)(const ChannelRows& rows);
};

template <int kLanes>
ChannelRowFunctions ChannelRowFunctionsOf(bool masked) {
  return {kLanes,
          AddAllRows<kLanes, false, false>,
          masked ? AddAllRows<kLanes, true, true> : AddAllRows<kLanes, true, false>,
          NormalizeAll<kLanes, ReluKind::kNone, false>,
          NormalizeRelu<kLanes>,
          masked ? GradientRows<kLanes, true> : GradientRows<kLanes, false>};
}

// `masked`: whether the gradient passes a ReLU. The functions need the ISA of their file.
ChannelRowFunctions ChannelRowFunctionsAvx2(bool masked);
ChannelRowFunctions ChannelRowFunctionsAvx512(bool masked);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BATCHNORM_CHANNEL_ROWS_H_
