// bfloat16 as its 16 bits: the upper half of a float.

#ifndef TOPDNN_KERNELS_BF16_H_
#define TOPDNN_KERNELS_BF16_H_

#include <bit>
#include <cstdint>

namespace topdnn {

inline float FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Round to nearest, ties to even, as vcvtneps2bf16 does (NaN stays a quiet NaN).
inline std::uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<std::uint16_t>(value != value ? (bits >> 16) | 0x40 : rounded);
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_BF16_H_
