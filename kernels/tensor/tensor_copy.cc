#include "kernels/tensor/tensor_copy.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "kernels/tensor/typed_elements.h"

namespace topdnn {

TensorCopy::TensorCopy(const TensorDesc& from, const TensorDesc& to)
    : from_type_(from.type), to_type_(to.type) {
  if (from.shape != to.shape) {
    throw std::invalid_argument(fmt::format("a tensor of {} cannot be copied to one of {}",
                                            from.shape.ToString(), to.shape.ToString()));
  }
  const std::int64_t elements = to.shape.elements();
  if (AreRowMajor(from, to)) {
    row_major_elements_ = static_cast<std::size_t>(elements);
    return;
  }
  from_ = FactoredOffsetsOf(from);
  to_ = FactoredOffsetsOf(to);
  padded_bytes_ = to.layout.PaddedElements(to.shape) == elements ? 0 : to.bytes();
}

std::size_t TensorCopy::TableBytes(const TensorDesc& from, const TensorDesc& to) {
  if (AreRowMajor(from, to)) return 0;
  std::int64_t outer = 1;
  const int split = OuterDimensions(to.shape);
  for (int d = 0; d < split; ++d) outer *= to.shape[d];
  std::int64_t inner = 1;
  for (int d = split; d < to.shape.rank(); ++d) inner *= to.shape[d];
  return static_cast<std::size_t>(outer + inner) * 2 * sizeof(std::int64_t);
}

void TensorCopy::Run(const void* src, void* dst) const noexcept {
  if (padded_bytes_ > 0) std::memset(dst, 0, padded_bytes_);
  VisitElements(from_type_, const_cast<void*>(src), [&](const auto* from, auto to_double, auto) {
    VisitElements(to_type_, dst, [&](auto* to, auto, auto from_double) {
#pragma omp parallel for if (row_major_elements_ > 0)
      for (std::size_t i = 0; i < row_major_elements_; ++i) to[i] = from_double(to_double(from[i]));
#pragma omp parallel for if (row_major_elements_ == 0)
      for (std::size_t i = 0; i < from_.outer.size(); ++i) {
        const auto* const from_row = from + from_.outer[i];
        auto* const to_row = to + to_.outer[i];
        for (std::size_t j = 0; j < from_.inner.size(); ++j) {
          to_row[to_.inner[j]] = from_double(to_double(from_row[from_.inner[j]]));
        }
      }
    });
  });
}

void CopyTensor(const TensorDesc& from, const void* src, const TensorDesc& to, void* dst) {
  if (from.shape.elements() != to.shape.elements()) {
    throw std::invalid_argument(fmt::format("a tensor of {} does not fill one of {}",
                                            from.shape.ToString(), to.shape.ToString()));
  }
  TensorDesc given = from;
  if (from.layout == Layout::Plain(from.shape.rank())) {  // of any shape: the order is the same
    given = {to.shape, from.type, Layout::Plain(to.shape.rank())};
  }
  if (given.shape == to.shape) {
    TensorCopy(given, to).Run(src, dst);
  } else if (from.type == DataType::kF32) {
    FromFloat(ToFloat(from, src), to, dst);
  } else {
    FromDouble(ToDouble(from, src), to, dst);
  }
}

}  // namespace topdnn
