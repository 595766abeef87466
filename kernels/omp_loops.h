// What vectorised OpenMP loops share. They serve a backend whose library lacks an operation, as a
// framework on that library does: Caffe pools and activates in loops of its own and gives OpenBLAS
// the products. They compute in f32 on row-major (NCHW) tensors.

#ifndef TOPDNN_KERNELS_OMP_LOOPS_H_
#define TOPDNN_KERNELS_OMP_LOOPS_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "kernels/plain_kernel.h"

namespace topdnn {

// From this many elements on a loop that touches each a few times is worth a team of threads: below
// it the few microseconds that waking one takes exceed the loop itself.
inline constexpr std::int64_t kElementsWorthATeam = 32768;

// A piece is a page, so that a team shares the work whatever the shape.
inline void CopyBytes(const void* from, std::size_t bytes, void* to) {
  constexpr std::size_t kPiece = 4096;
#pragma omp parallel for if (bytes >= kElementsWorthATeam * sizeof(float))
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                std::min(kPiece, bytes - at));
  }
}

class LoopsKernel : public PlainKernel {
 protected:
  explicit LoopsKernel(const KernelRequest& request) : PlainKernel(request, "omp loops") {}
};

// Why such loops cannot serve the request; empty when they can.
inline std::string LoopsRefusal(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32) {
    return fmt::format("the loops compute in f32, not {}", NameOf(request.execution.type));
  }
  return RowMajorRefusal(request, "a loop");
}

// `KernelType` is constructible from the request and the operation.
template <typename OpType, typename KernelType>
KernelOrRefusal MakeLoops(const KernelRequest& request) {
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<KernelType>(request, dynamic_cast<const OpType&>(*request.op));
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_OMP_LOOPS_H_
