// Calls code with a pointer of a tensor's element type, and with the conversions between that type
// and double.

#ifndef TOPDNN_KERNELS_TENSOR_TYPED_ELEMENTS_H_
#define TOPDNN_KERNELS_TENSOR_TYPED_ELEMENTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/tensor/bf16.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

// IEEE binary16. GCC 12 knows the name _Float16 in C++ only for x86.
#if defined(__aarch64__)
using Half = __fp16;
#else
using Half = _Float16;
#endif

template <typename T>
T RoundTo(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    const double low = static_cast<double>(std::numeric_limits<T>::lowest());
    const double high = static_cast<double>(std::numeric_limits<T>::max());
    if (value >= high) return std::numeric_limits<T>::max();  // (2^63 as a double has no int64)
    return static_cast<T>(std::nearbyint(std::max(value, low)));
  }
}

template <typename T, typename Visit>
void VisitAs(T* data, Visit visit) {
  visit(
      data, [](T x) { return static_cast<double>(x); }, [](double x) { return RoundTo<T>(x); });
}

// Calls visit(pointer, to_double, from_double) with a pointer of the element type.
template <typename Visit>
void VisitElements(DataType type, void* data, Visit visit) {
  switch (type) {
    case DataType::kF32:
      return VisitAs(static_cast<float*>(data), visit);
    case DataType::kF64:
      return VisitAs(static_cast<double*>(data), visit);
    case DataType::kS64:
      return VisitAs(static_cast<std::int64_t*>(data), visit);
    case DataType::kS32:
      return VisitAs(static_cast<std::int32_t*>(data), visit);
    case DataType::kS8:
      return VisitAs(static_cast<std::int8_t*>(data), visit);
    case DataType::kU8:
      return VisitAs(static_cast<std::uint8_t*>(data), visit);
    case DataType::kBF16:
      return visit(
          static_cast<std::uint16_t*>(data),
          [](std::uint16_t x) { return static_cast<double>(Bf16ToFloat(x)); },
          [](double x) { return Bf16FromFloat(static_cast<float>(x)); });
    case DataType::kF16:
      return visit(
          static_cast<Half*>(data), [](Half x) { return static_cast<double>(x); },
          [](double x) { return static_cast<Half>(x); });
  }
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_TYPED_ELEMENTS_H_
