// What kernels written as loops share: operands whose memory is bound by role. The reference's
// plain loops and the vectorised ones that serve a backend without such an operation both stand on
// it.

#ifndef TOPDNN_KERNELS_PLAIN_KERNEL_H_
#define TOPDNN_KERNELS_PLAIN_KERNEL_H_

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace topdnn {

class PlainKernel : public Kernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override {
    multiple_.clear();
    for (const KernelOperand& operand : operands_) {
      void* data = memory.at(operand.arg);
      if (operand.arg < Arg::kMultiple) {
        data_[static_cast<std::size_t>(operand.arg)] = data;
      } else {
        multiple_.push_back(data);
      }
    }
  }

 protected:
  PlainKernel(const KernelRequest& request, std::string implementation) : Kernel(request) {
    implementation_ = std::move(implementation);
  }

  // Memory of an operand, bound by Prepare; nullptr when the request has no such operand.
  template <typename T>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg)]);
  }
  // Memory of MultipleSrc(i) or MultipleDiffSrc(i), whichever the pass has.
  template <typename T>
  T* Multiple(int i) const {
    return static_cast<T*>(multiple_[static_cast<std::size_t>(i)]);
  }

 private:
  std::array<void*, static_cast<std::size_t>(Arg::kMultiple)> data_ = {};  // by role
  std::vector<void*> multiple_;
};

// Why `whose` loops over row-major tensors cannot take the request's layouts; empty when they can.
inline std::string RowMajorRefusal(const KernelRequest& request, std::string_view whose) {
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const Layout layout = request.LayoutOf(operand.arg);
    if (!layout.is_any() && !layout.IsPlainFor(operand.shape)) {
      return fmt::format("{} takes row-major tensors, not {} as {}", whose, layout.tag(),
                         NameOf(operand.arg));
    }
  }
  return {};
}

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_PLAIN_KERNEL_H_
