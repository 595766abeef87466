// The shared part of the reference backend's kernels: row-major operands in f32 or f64, bound by
// role.

#ifndef TOPDNN_KERNELS_KERNEL_REFERENCE_H_
#define TOPDNN_KERNELS_KERNEL_REFERENCE_H_

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "kernels/kernel/bound_kernel.h"

namespace topdnn {

class ReferenceKernel : public BoundKernel {
 protected:
  explicit ReferenceKernel(const KernelRequest& request) : BoundKernel(request, "plain loops") {}
};

// The reason why the reference cannot use the request's layouts or type; empty when it can.
inline std::string ReferenceRefusal(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32 && request.execution.type != DataType::kF64) {
    return fmt::format("the reference computes in f32 and f64, not {}",
                       NameOf(request.execution.type));
  }
  return RowMajorRefusal(request, "the reference");
}

// Makes a reference kernel in the request's type. `KernelOf<T>` must have a constructor that takes
// the request and the operation.
template <typename OpType, template <typename> class KernelOf>
KernelOrRefusal MakeReference(const KernelRequest& request) {
  if (std::string why = ReferenceRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = request.OpAs<OpType>();
  if (request.execution.type == DataType::kF64) {
    return std::make_unique<KernelOf<double>>(request, op);
  }
  return std::make_unique<KernelOf<float>>(request, op);
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_REFERENCE_H_
