// Copies a tensor to another element type and layout, one element after another: for reorders
// without a library. The tables of positions are short, because a list of all positions would take
// more memory than the tensors, and more time than the copy.

#ifndef TOPDNN_KERNELS_TENSOR_TENSOR_COPY_H_
#define TOPDNN_KERNELS_TENSOR_TENSOR_COPY_H_

#include <cstddef>

#include "kernels/tensor/addressing.h"
#include "kernels/tensor/tensor.h"

namespace topdnn {

class TensorCopy {
 public:
  TensorCopy() = default;
  // Throws std::invalid_argument if the shapes differ, or a layout is opaque.
  TensorCopy(const TensorDesc& from, const TensorDesc& to);

  // Bytes that the tables of such a copy take.
  static std::size_t TableBytes(const TensorDesc& from, const TensorDesc& to);

  // Rounds to the type of `dst`, and zeroes the padding inside its blocks. OpenMP threads share the
  // work. Does not allocate, lock or throw.
  void Run(const void* src, void* dst) const noexcept;

 private:
  DataType from_type_ = DataType::kF32;
  DataType to_type_ = DataType::kF32;
  std::size_t row_major_elements_ = 0;  // if both tensors are row-major: then without tables
  FactoredOffsets from_, to_;
  std::size_t padded_bytes_ = 0;  // of dst; 0: no padding
};

// Copies a logical tensor, in row-major order, into one of another type or layout. The shapes may
// differ, as (K, C) and (K, C, 1, 1) do. Throws std::invalid_argument for another number of
// elements, and for an opaque layout.
void CopyTensor(const TensorDesc& from, const void* src, const TensorDesc& to, void* dst);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_TENSOR_COPY_H_
