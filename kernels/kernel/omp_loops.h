// The shared part of the vectorised OpenMP loops of the backend `native`. They compute in f32 on
// row-major (NCHW) tensors, as Caffe's own loops for pooling and activations do.

#ifndef TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_
#define TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "kernels/kernel/bound_kernel.h"

namespace topdnn {

// The smallest number of elements for which a loop runs in parallel, when it touches each element a
// few times. Below it, waking the threads (a few microseconds) takes longer than the loop.
inline constexpr std::int64_t kMinParallelElements = 32768;

// Copies by pages (4 KiB), so that the threads share the work for any shape.
inline void CopyBytes(const void* from, std::size_t bytes, void* to) {
  constexpr std::size_t kPiece = 4096;
#pragma omp parallel for if (bytes >= kMinParallelElements * sizeof(float))
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                std::min(kPiece, bytes - at));
  }
}

class LoopsKernel : public BoundKernel {
 protected:
  explicit LoopsKernel(const KernelRequest& request) : BoundKernel(request, "omp loops") {}
};

// The reason why these loops cannot serve the request; empty when they can.
inline std::string LoopsRefusal(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32) {
    return fmt::format("the loops compute in f32, not {}", NameOf(request.execution.type));
  }
  if (std::string why = RecomputingRefusal(request, "the loops"); !why.empty()) return why;
  return RowMajorRefusal(request, "a loop");
}

// `KernelType` must have a constructor that takes the request and the operation.
template <typename OpType, typename KernelType>
KernelOrRefusal MakeLoops(const KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<KernelType>(request, dynamic_cast<const OpType&>(*request.op));
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_
