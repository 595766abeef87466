// Products of small matrices whose sums stay in registers, by vectors of columns, compiled for
// several ISAs: see winograd_steps.h.

#ifndef TOPDNN_KERNELS_CONV_REGISTER_PRODUCT_H_
#define TOPDNN_KERNELS_CONV_REGISTER_PRODUCT_H_

#include <cstdint>
#include <utility>

#include "kernels/simd/lane_vectors.h"

namespace topdnn {

// The most vectors of columns of the right factor.
inline constexpr int kMostVectors = 2;

// The factors of a product: (rows, terms) and (terms, vectors).
struct ProductFactors {
  const float* left;
  const float* right;
};

// sums (kRows, kVectors) = left * right, in registers; with `adds`: +=. The terms of a row of
// `left` are next to each other, and rows `stride` apart; kTransposed: the rows are next to each
// other. Fetches the factors of the next product into the caches: a hardware prefetcher does not
// follow several short rows.
template <int kLanes, int kVectors, bool kTransposed, int kRows>
void MultiplyRows(const ProductFactors& factors, const ProductFactors& next, std::int64_t terms,
                  std::int64_t stride, bool adds, float* sums) {
  using Floats = typename Vectors<kLanes>::Floats;
  constexpr int kLine = 16;  // floats in a line of the caches
  const float* left = factors.left;
  const float* right = factors.right;
  const float* next_left = next.left;
  const float* next_right = next.right;
  Floats sum[kRows][kVectors] = {};
  if (adds) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        sum[row][v] = LoadFloats<kLanes>(sums + (row * kVectors + v) * kLanes);
      }
    }
  }
  for (std::int64_t term = 0; term < terms; ++term) {
    Floats of_right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      of_right[v] = LoadFloats<kLanes>(right + (term * kVectors + v) * kLanes);
      __builtin_prefetch(next_right + (term * kVectors + v) * kLanes, 0, 2);
    }
    __builtin_prefetch(next_left + (kTransposed ? term * stride : term * kLine));
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const float of_left = kTransposed ? left[term * stride + row] : left[row * stride + term];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[row][v] += of_left * of_right[v];
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      StoreFloats(sum[row][v], sums + (row * kVectors + v) * kLanes);
    }
  }
}

// The most rows whose sums, of two vectors, fit into the registers with the factors: 32 registers
// of 16 lanes (AVX-512), 16 of others.
template <int kLanes>
inline constexpr int kMostRows = kLanes == 16 ? 14 : 6;

using MultiplyFunction = void (*)(const ProductFactors& factors, const ProductFactors& next,
                                  std::int64_t terms, std::int64_t stride, bool adds, float* sums);

// By the number of rows less one.
template <int kMost>
struct MultiplyFunctions {
  MultiplyFunction of[kMost];
};

template <int kLanes, int kVectors, bool kTransposed, int... kRows>
constexpr MultiplyFunctions<sizeof...(kRows)> MultiplyFunctionsOf(
    std::integer_sequence<int, kRows...> /*rows*/) {
  return {{MultiplyRows<kLanes, kVectors, kTransposed, kRows + 1>...}};
}

template <int kLanes, int kVectors, bool kTransposed>
inline constexpr MultiplyFunctions<kMostRows<kLanes>> kMultiplyFunctions =
    MultiplyFunctionsOf<kLanes, kVectors, kTransposed>(
        std::make_integer_sequence<int, kMostRows<kLanes>>());

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_REGISTER_PRODUCT_H_
