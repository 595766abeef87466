// The shared part of the vectorised OpenMP loops of the backend `native`. They compute in f32 on
// row-major (NCHW) tensors, as Caffe's own loops for pooling and activations do.

#ifndef TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_
#define TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_

#include <fmt/format.h>
#include <omp.h>

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

// Calls run(first, end) on each thread for an equal part of n, on one thread without `parallel`.
template <typename Run>
void DivideEvenly(std::int64_t n, bool parallel, const Run& run) {
#pragma omp parallel if (parallel)
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    run(n * thread / threads, n * (thread + 1) / threads);
  }
}

// In a parallel region, after a barrier: sets `sums` to the sums of the threads' rows of `length`
// elements, which are `stride` apart. Each thread adds a part of the columns.
inline void AddRowsOfThreads(const float* rows, std::int64_t stride, std::int64_t length,
                             float* sums) {
#pragma omp for schedule(static)
  for (std::int64_t i = 0; i < length; ++i) {
    float sum = rows[i];
    for (int row = 1; row < omp_get_num_threads(); ++row) sum += rows[row * stride + i];
    sums[i] = sum;
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
  return std::make_unique<KernelType>(request, request.OpAs<OpType>());
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_OMP_LOOPS_H_
