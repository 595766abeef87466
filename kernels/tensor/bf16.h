// bfloat16 stored as its bits, which are the upper half of an f32.

#ifndef TOPDNN_KERNELS_TENSOR_BF16_H_
#define TOPDNN_KERNELS_TENSOR_BF16_H_

#include <bit>
#include <cstdint>
#include <type_traits>

namespace topdnn {

inline float Bf16ToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Rounds to nearest, ties to even, as vcvtneps2bf16 does. A NaN becomes a quiet NaN.
inline std::uint16_t Bf16FromFloat(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

// For loops that are written once for f32 and bf16: T is float or std::uint16_t.
inline float ToF32(float value) { return value; }
inline float ToF32(std::uint16_t bits) { return Bf16ToFloat(bits); }

template <typename T>
T FromF32(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return Bf16FromFloat(value);
  }
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_BF16_H_
