// What kernels written as OpenMP loops share. They stand in for a backend that has no such
// operation (Caffe computes its layers beside the BLAS in loops): f32 on row-major tensors.

#ifndef TOPDNN_KERNELS_LOOPS_H_
#define TOPDNN_KERNELS_LOOPS_H_

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kernels/reference.h"

namespace topdnn {

// From this many elements on a loop is worth a team of threads: below it the few microseconds that
// waking one takes exceed the work itself.
inline constexpr std::int64_t kLoopWorthATeam = 32768;

class LoopKernel : public ReferenceKernel {
 protected:
  explicit LoopKernel(const KernelRequest& request) : ReferenceKernel(request) {
    implementation_ = "omp loops";
  }
};

// Why loops cannot take the request's layouts; empty when they can.
inline std::string LayoutRefusal(const KernelRequest& request) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return fmt::format("the loops of {} take row-major tensors, not {} as {}", request.op->kind(),
                         layout.tag(), NameOf(operand.arg));
    }
  }
  return {};
}

// Why loops in f32 cannot take the request; empty when they can.
inline std::string LoopRefusal(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32) {
    return fmt::format("the loops of {} compute in f32, not {}", request.op->kind(),
                       NameOf(request.execution.type));
  }
  return LayoutRefusal(request);
}

// `LoopsOf` is constructible from the request and the operation.
template <typename OpType, typename LoopsOf>
KernelOrRefusal MakeLoopKernel(const KernelRequest& request) {
  if (std::string why = LoopRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<LoopsOf>(request, dynamic_cast<const OpType&>(*request.op));
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_LOOPS_H_
