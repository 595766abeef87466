// One row of a max pooling by vectors of channels, compiled for several ISAs: see max_loops.cc.

#ifndef TOPDNN_KERNELS_POOL_MAX_ROW_H_
#define TOPDNN_KERNELS_POOL_MAX_ROW_H_

#include <cstdint>
#include <cstring>

namespace topdnn {

// Channels that are next to each other in memory: all of them, or a block. A piece of an image is
// (H, W, channels) in src and (OH, OW, channels) in dst and winners.
struct MaxRows {
  std::int64_t h = 0, w = 0, channels = 0, oh = 0, ow = 0;
  std::int64_t r = 0, s = 0, stride_h = 0, stride_w = 0, pad_top = 0, pad_left = 0;
  const float* src = nullptr;
  float* dst = nullptr;
  std::uint8_t* winners = nullptr;  // nullptr: not wanted
};

// GCC 12 ignores a vector's size that depends on a template's parameter.
template <int kLanes>
struct Vectors;
template <>
struct Vectors<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Ints [[gnu::vector_size(16)]] = std::int32_t;
  using Bytes [[gnu::vector_size(4)]] = std::uint8_t;
};
template <>
struct Vectors<8> {
  using Floats [[gnu::vector_size(32)]] = float;
  using Ints [[gnu::vector_size(32)]] = std::int32_t;
  using Bytes [[gnu::vector_size(8)]] = std::uint8_t;
};
template <>
struct Vectors<16> {
  using Floats [[gnu::vector_size(64)]] = float;
  using Ints [[gnu::vector_size(64)]] = std::int32_t;
  using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
};

// Row `y` of the results of a piece. Each number of lanes is instantiated in one file, for its ISA,
// and nothing here uses a function of another header (cmake/Isa.cmake). The last vector overlaps
// the one before it if the channels are no multiple of a vector.
template <int kLanes, bool kWinners>
void MaxRow(const MaxRows& rows, std::int64_t piece, std::int64_t y) {
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;
  using Bytes = typename Vectors<kLanes>::Bytes;
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
      const std::int64_t c = next + kLanes <= rows.channels ? next : rows.channels - kLanes;
      const auto value_at = [&](std::int64_t r, std::int64_t s) {
        return image + ((top + r) * rows.w + left + s) * rows.channels + c;
      };
      Floats best;
      Ints winner = Ints{} + static_cast<std::int32_t>(r_first * rows.s + s_first);
      std::memcpy(&best, value_at(r_first, s_first), sizeof(best));
      for (std::int64_t r = r_first; r < r_end; ++r) {
        for (std::int64_t s = s_first; s < s_end; ++s) {
          Floats value;
          std::memcpy(&value, value_at(r, s), sizeof(value));
          // A NaN wins against every number, and the first NaN stays.
          const Ints wins = ~(value <= best) & (best == best);
          best = wins ? value : best;
          if constexpr (kWinners) {
            winner = wins ? Ints{} + static_cast<std::int32_t>(r * rows.s + s) : winner;
          }
        }
      }
      std::memcpy(rows.dst + out + x * rows.channels + c, &best, sizeof(best));
      if constexpr (kWinners) {
        const Bytes bytes = __builtin_convertvector(winner, Bytes);
        std::memcpy(rows.winners + out + x * rows.channels + c, &bytes, sizeof(bytes));
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

// Need the ISA of their file.
void MaxRowAvx2(const MaxRows& rows, std::int64_t piece, std::int64_t y);
void MaxRowAvx512(const MaxRows& rows, std::int64_t piece, std::int64_t y);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_POOL_MAX_ROW_H_
