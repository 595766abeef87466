// The shared part of kernels that are written as loops: operands whose memory is bound by role. It
// is the base of the reference's plain loops and of the vectorised loops.

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
    indexed_.clear();
    for (const KernelOperand& operand : operands_) {
      void* data = memory.at(operand.arg);
      if (operand.arg < Arg::kIndexedSrc) {
        data_[static_cast<std::size_t>(operand.arg)] = data;
      } else {
        indexed_.push_back(data);
      }
    }
  }

 protected:
  PlainKernel(const KernelRequest& request, std::string implementation) : Kernel(request) {
    implementation_ = std::move(implementation);
  }

  // Memory of an operand, bound by Prepare. nullptr when the request has no such operand.
  template <typename T>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg)]);
  }
  // Memory of IndexedSrc(i) or IndexedDiffSrc(i), whichever operand the pass has.
  template <typename T>
  T* Indexed(int i) const {
    return static_cast<T*>(indexed_[static_cast<std::size_t>(i)]);
  }

 private:
  std::array<void*, static_cast<std::size_t>(Arg::kIndexedSrc)> data_ = {};  // by role
  std::vector<void*> indexed_;
};

// The reason why row-major loops (named `whose` in the message) cannot use the request's layouts;
// empty when they can.
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
