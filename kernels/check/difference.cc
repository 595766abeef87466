#include "kernels/check/difference.h"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

#include "kernels/tensor/addressing.h"
#include "kernels/tensor/typed_elements.h"

namespace topdnn {

Difference DifferenceOf(const TensorDesc& a_desc, const void* a, const TensorDesc& b_desc,
                        const void* b, double rounding) {
  if (a_desc.shape != b_desc.shape) {
    throw std::invalid_argument(fmt::format("a tensor of {} cannot be compared with one of {}",
                                            a_desc.shape.ToString(), b_desc.shape.ToString()));
  }
  const bool row_major = AreRowMajor(a_desc, b_desc);
  const auto elements = static_cast<std::size_t>(row_major ? a_desc.shape.elements() : 0);
  const FactoredOffsets a_at = row_major ? FactoredOffsets() : FactoredOffsetsOf(a_desc);
  const FactoredOffsets b_at = row_major ? FactoredOffsets() : FactoredOffsetsOf(b_desc);
  Difference all(rounding);
  VisitElements(a_desc.type, const_cast<void*>(a), [&](const auto* left, auto to_left, auto) {
    VisitElements(b_desc.type, const_cast<void*>(b), [&](const auto* right, auto to_right, auto) {
#pragma omp parallel
      {
        Difference part(rounding);
#pragma omp for nowait
        for (std::size_t i = 0; i < elements; ++i) part.Add(to_left(left[i]), to_right(right[i]));
#pragma omp for nowait
        for (std::size_t i = 0; i < a_at.outer.size(); ++i) {
          const auto* const left_row = left + a_at.outer[i];
          const auto* const right_row = right + b_at.outer[i];
          for (std::size_t j = 0; j < a_at.inner.size(); ++j) {
            part.Add(to_left(left_row[a_at.inner[j]]), to_right(right_row[b_at.inner[j]]));
          }
        }
#pragma omp critical
        all.Join(part);
      }
    });
  });
  return all;
}

}  // namespace topdnn
