// What the reference backend's kernels share: row-major operands in f32 or f64, bound by role.

#ifndef TOPDNN_KERNELS_REFERENCE_H_
#define TOPDNN_KERNELS_REFERENCE_H_

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>

#include "kernels/kernel.h"

namespace topdnn {

class ReferenceKernel : public Kernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override {
    for (const KernelOperand& operand : operands_) {
      data_[static_cast<std::size_t>(operand.arg)] = memory.at(operand.arg);
    }
  }

 protected:
  explicit ReferenceKernel(const KernelRequest& request) : Kernel(request) {
    implementation_ = "plain loops";
  }

  // Memory of an operand, bound by Prepare; nullptr when the request has no such operand.
  template <typename T>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg)]);
  }

 private:
  // By role: every role has a small number up to the operations of many sources, whose kernels
  // keep their own.
  std::array<void*, static_cast<std::size_t>(Arg::kMultiple)> data_ = {};
};

// Why plain loops cannot take the request's layouts or type; empty when they can.
inline std::string ReferenceRefusal(const KernelRequest& request) {
  if (request.execution.type != DataType::kF32 && request.execution.type != DataType::kF64) {
    return fmt::format("the reference computes in f32 and f64, not {}",
                       NameOf(request.execution.type));
  }
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return fmt::format("the reference takes row-major tensors, not {} as {}", layout.tag(),
                         NameOf(operand.arg));
    }
  }
  return {};
}

// A reference kernel in the request's type. `KernelOf<T>` is constructible from the request and the
// operation.
template <typename OpType, template <typename> class KernelOf>
KernelOrRefusal MakeReference(const KernelRequest& request) {
  if (std::string why = ReferenceRefusal(request); !why.empty()) return Refusal{std::move(why)};
  const auto& op = dynamic_cast<const OpType&>(*request.op);
  if (request.execution.type == DataType::kF64) {
    return std::make_unique<KernelOf<double>>(request, op);
  }
  return std::make_unique<KernelOf<float>>(request, op);
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_REFERENCE_H_
