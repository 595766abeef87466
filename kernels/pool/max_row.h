// Rows of a max pooling, forward and backward, by vectors of channels, compiled for several ISAs:
// see max_loops.cc.

#ifndef TOPDNN_KERNELS_POOL_MAX_ROW_H_
#define TOPDNN_KERNELS_POOL_MAX_ROW_H_

#include <cstdint>

#include "kernels/simd/lane_vectors.h"

namespace topdnn {

// Channels that are next to each other in memory: all of them, or a block. A piece of an image is
// (H, W, channels) in src and diff_src, and (OH, OW, channels) in dst, diff_dst and winners.
struct MaxRows {
  std::int64_t h = 0, w = 0, channels = 0, oh = 0, ow = 0;
  std::int64_t r = 0, s = 0, stride_h = 0, stride_w = 0, pad_top = 0, pad_left = 0;
  const float* src = nullptr;
  float* dst = nullptr;
  std::uint8_t* winners = nullptr;  // written by forward (nullptr: not wanted), read by backward
  const float* diff_dst = nullptr;
  float* diff_src = nullptr;
};

// Computes row `y` of a piece.
using MaxRowFunction = void (*)(const MaxRows& rows, std::int64_t piece, std::int64_t y);

// Row `y` of the results of a piece.
template <int kLanes, bool kWinners>
void MaxRow(const MaxRows& rows, std::int64_t piece, std::int64_t y) {
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;
  const std::int64_t top = y * rows.stride_h - rows.pad_top;
  const std::int64_t r_first = top < 0 ? -top : 0;
  const std::int64_t r_end = rows.h - top < rows.r ? rows.h - top : rows.r;
  const float* image = rows.src + piece * rows.h * rows.w * rows.channels;
  const std::int64_t out = (piece * rows.oh + y) * rows.ow * rows.channels;
  for (std::int64_t x = 0; x < rows.ow; ++x) {
    const std::int64_t left = x * rows.stride_w - rows.pad_left;
    const std::int64_t s_first = left < 0 ? -left : 0;
    const std::int64_t s_end = rows.w - left < rows.s ? rows.w - left : rows.s;
    for (std::int64_t next = 0; next < rows.channels; next += kLanes) {
      const std::int64_t c = VectorAt<kLanes>(next, rows.channels);
      const auto value_at = [&](std::int64_t r, std::int64_t s) {
        return image + ((top + r) * rows.w + left + s) * rows.channels + c;
      };
      Floats best = LoadFloats<kLanes>(value_at(r_first, s_first));
      Ints winner = Ints{} + static_cast<std::int32_t>(r_first * rows.s + s_first);
      for (std::int64_t r = r_first; r < r_end; ++r) {
        for (std::int64_t s = s_first; s < s_end; ++s) {
          const Floats value = LoadFloats<kLanes>(value_at(r, s));
          // A NaN wins against every number, and the first NaN stays.
          const Ints wins = ~(value <= best) & (best == best);
          best = wins ? value : best;
          if constexpr (kWinners) {
            winner = wins ? Ints{} + static_cast<std::int32_t>(r * rows.s + s) : winner;
          }
        }
      }
      StoreFloats(best, rows.dst + out + x * rows.channels + c);
      if constexpr (kWinners) {
        StoreBytes<kLanes>(winner, rows.winners + out + x * rows.channels + c);
      }
    }
  }
}

// The same, with winners if they are wanted.
template <int kLanes>
void MaxRowOf(const MaxRows& rows, std::int64_t piece, std::int64_t y) {
  if (rows.winners != nullptr) {
    MaxRow<kLanes, true>(rows, piece, y);
  } else {
    MaxRow<kLanes, false>(rows, piece, y);
  }
}

// The gradients of a block of kStride x kStride elements of src, whose first windows have the same
// origin, at channel c: the sum over the windows that an element won, in the order of the windows.
// Block (i, j) starts at row i * kStride and column j * kStride of the padded image. kEdge: the
// block or one of its windows may be outside the image.
template <int kLanes, int kWindow, int kStride, bool kEdge>
inline void MaxGradientBlock(const MaxRows& rows, std::int64_t piece, std::int64_t i,
                             std::int64_t j, std::int64_t c) {
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;
  // The windows per axis that reach into a block. The last one starts with the block.
  constexpr int kReach = (kWindow + kStride - 1) / kStride;
  Floats sums[kStride][kStride] = {};
#pragma GCC unroll 4
  for (int a = kReach - 1; a >= 0; --a) {
    const std::int64_t y = i - a;
    if (kEdge && (y < 0 || y >= rows.oh)) continue;
#pragma GCC unroll 4
    for (int b = kReach - 1; b >= 0; --b) {
      const std::int64_t x = j - b;
      if (kEdge && (x < 0 || x >= rows.ow)) continue;
      const std::int64_t at = ((piece * rows.oh + y) * rows.ow + x) * rows.channels + c;
      const Floats gradient = LoadFloats<kLanes>(rows.diff_dst + at);
      const Ints winner = LoadBytes<kLanes>(rows.winners + at);
#pragma GCC unroll 4
      for (int p = 0; p < kStride; ++p) {
#pragma GCC unroll 4
        for (int q = 0; q < kStride; ++q) {
          const int r = a * kStride + p;
          const int s = b * kStride + q;
          if (r >= kWindow || s >= kWindow) continue;
          sums[p][q] += winner == r * kWindow + s ? gradient : Floats{};
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kStride; ++p) {
    const std::int64_t row = i * kStride + p - rows.pad_top;
    if (kEdge && (row < 0 || row >= rows.h)) continue;
#pragma GCC unroll 4
    for (int q = 0; q < kStride; ++q) {
      const std::int64_t column = j * kStride + q - rows.pad_left;
      if (kEdge && (column < 0 || column >= rows.w)) continue;
      StoreFloats(sums[p][q],
                  rows.diff_src + ((piece * rows.h + row) * rows.w + column) * rows.channels + c);
    }
  }
}

// Row `i` of the blocks of a piece.
template <int kLanes, int kWindow, int kStride>
void MaxGradientRow(const MaxRows& rows, std::int64_t piece, std::int64_t i) {
  constexpr std::int64_t kReach = (kWindow + kStride - 1) / kStride;
  const std::int64_t top = i * kStride - rows.pad_top;
  const bool inside = top >= 0 && top + kStride <= rows.h && i >= kReach - 1 && i < rows.oh;
  const std::int64_t blocks = (rows.w - 1 + rows.pad_left) / kStride + 1;
  for (std::int64_t j = rows.pad_left / kStride; j < blocks; ++j) {
    const std::int64_t left = j * kStride - rows.pad_left;
    const bool interior =
        inside && left >= 0 && left + kStride <= rows.w && j >= kReach - 1 && j < rows.ow;
    for (std::int64_t next = 0; next < rows.channels; next += kLanes) {
      const std::int64_t c = VectorAt<kLanes>(next, rows.channels);
      if (interior) {
        MaxGradientBlock<kLanes, kWindow, kStride, false>(rows, piece, i, j, c);
      } else {
        MaxGradientBlock<kLanes, kWindow, kStride, true>(rows, piece, i, j, c);
      }
    }
  }
}

// The function for the windows and strides of `rows`; nullptr: there is none.
template <int kLanes>
MaxRowFunction MaxGradientRowOf(const MaxRows& rows) {
  if (rows.r != rows.s || rows.stride_h != rows.stride_w) return nullptr;
  if (rows.r == 2 && rows.stride_h == 2) return MaxGradientRow<kLanes, 2, 2>;
  if (rows.r == 3 && rows.stride_h == 2) return MaxGradientRow<kLanes, 3, 2>;
  if (rows.r == 3 && rows.stride_h == 1) return MaxGradientRow<kLanes, 3, 1>;
  return nullptr;
}

// Need the ISA of their file.
void MaxRowAvx2(const MaxRows& rows, std::int64_t piece, std::int64_t y);
void MaxRowAvx512(const MaxRows& rows, std::int64_t piece, std::int64_t y);
MaxRowFunction MaxGradientRowAvx2(const MaxRows& rows);
MaxRowFunction MaxGradientRowAvx512(const MaxRows& rows);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_MAX_ROW_H_
