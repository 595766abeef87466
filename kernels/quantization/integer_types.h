// The integer types of quantized tensors, s8 and u8: their ranges, rounding to them, and their
// names in the words of problems.

#ifndef TOPDNN_KERNELS_QUANTIZATION_INTEGER_TYPES_H_
#define TOPDNN_KERNELS_QUANTIZATION_INTEGER_TYPES_H_

#include <algorithm>
#include <string_view>

#include "kernels/op/problem.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

inline bool IsQuantizedType(DataType type) {
  return type == DataType::kS8 || type == DataType::kU8;
}

struct IntegerRange {
  float least, most;
};

inline IntegerRange RangeOf(DataType type) {
  return type == DataType::kS8 ? IntegerRange{-128.0F, 127.0F} : IntegerRange{0.0F, 255.0F};
}

// The nearest integer in the range, a tie to the even one. A NaN gives the least. Below 2^22 the
// addition of 3 * 2^22 leaves no place for a fraction, so it rounds as the processor does; unlike
// std::nearbyint it is vectorised for every ISA.
inline float RoundedWithin(const IntegerRange& range, float x) {
  constexpr float kRound = 12582912.0F;  // 3 * 2^22
  const float limited = std::min(x > range.least ? x : range.least, range.most);
  return (limited + kRound) - kRound;
}

// The type of the flag "_NAMEu8" or "_NAMEs8" of a problem; u8 without the flag. Throws
// ProblemError for another type.
DataType QuantizedTypeOf(const ProblemWord& word, std::string_view name);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_QUANTIZATION_INTEGER_TYPES_H_
