// Vectors of kLanes channels that are next to each other, for code that is compiled for several
// ISAs. Each number of lanes is instantiated in files of one ISA only, so the linker may keep any
// copy (cmake/Isa.cmake).

#ifndef TOPDNN_KERNELS_SIMD_LANE_VECTORS_H_
#define TOPDNN_KERNELS_SIMD_LANE_VECTORS_H_

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace topdnn {

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

template <int kLanes>
inline typename Vectors<kLanes>::Floats LoadFloats(const float* from) {
  typename Vectors<kLanes>::Floats values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

template <typename Floats>
inline void StoreFloats(const Floats& values, float* to) {
  std::memcpy(to, &values, sizeof(values));
}

// Stores past the caches, if the ISA has such a store of kLanes. `to` is aligned to a vector. Call
// FenceStreams before another thread reads.
template <int kLanes>
inline void StreamFloats(const typename Vectors<kLanes>::Floats& values, float* to) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    _mm512_stream_ps(to, __builtin_bit_cast(__m512, values));
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (kLanes == 8) {
    _mm256_stream_ps(to, __builtin_bit_cast(__m256, values));
    return;
  }
#endif
  StoreFloats(values, to);
}

template <int kLanes>
inline void FenceStreams() {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}

// Bytes as integers. GCC 12 converts a vector of bytes one by one.
template <int kLanes>
inline typename Vectors<kLanes>::Ints LoadBytes(const std::uint8_t* from) {
  using Ints = typename Vectors<kLanes>::Ints;
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {  // (maskz: GCC 12 warns about the form without a mask)
    __m128i bytes;
    std::memcpy(&bytes, from, sizeof(bytes));
    return __builtin_bit_cast(Ints, _mm512_maskz_cvtepu8_epi32(0xFFFF, bytes));
  }
#endif
#if defined(__AVX2__)
  if constexpr (kLanes == 8) {
    std::int64_t bytes;
    std::memcpy(&bytes, from, sizeof(bytes));
    return __builtin_bit_cast(Ints, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes)));
  }
#endif
  typename Vectors<kLanes>::Bytes bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return __builtin_convertvector(bytes, Ints);
}

// Integers from 0 to 255 as bytes.
template <int kLanes>
inline void StoreBytes(const typename Vectors<kLanes>::Ints& values, std::uint8_t* to) {
  const auto bytes = __builtin_convertvector(values, typename Vectors<kLanes>::Bytes);
  std::memcpy(to, &bytes, sizeof(bytes));
}

// The first channel of a vector. The last vector overlaps the one before it if the channels are no
// multiple of a vector.
template <int kLanes>
inline std::int64_t VectorAt(std::int64_t next, std::int64_t channels) {
  return next + kLanes <= channels ? next : channels - kLanes;
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_SIMD_LANE_VECTORS_H_
