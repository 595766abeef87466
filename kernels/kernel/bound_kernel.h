// The base of kernels that work on plain pointers: it binds each operand to its memory by role and
// owns scratch memory. The reference, loops, Eigen's functions and BLAS calls use it.

#ifndef TOPDNN_KERNELS_KERNEL_BOUND_KERNEL_H_
#define TOPDNN_KERNELS_KERNEL_BOUND_KERNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel/kernel.h"

namespace topdnn {

class BoundKernel : public Kernel {
 public:
  void Prepare(const std::map<Arg, void*>& memory) override;

 protected:
  BoundKernel(const KernelRequest& request, std::string implementation, std::string isa = {});

  // What the request asked for.
  Pass pass() const { return execution_.pass; }
  bool forward() const { return execution_.pass == Pass::kForward; }
  bool training() const { return execution_.training; }

  // Memory of the only operand in a role, bound by Prepare. nullptr when the computation has none.
  template <typename T = float>
  T* Data(Arg arg) const {
    return static_cast<T*>(data_[static_cast<std::size_t>(arg.role)]);
  }
  // Memory of IndexedSrc(i) or IndexedDiffSrc(i), whichever operand the pass has.
  template <typename T = float>
  T* Indexed(int i) const {
    return static_cast<T*>(indexed_[static_cast<std::size_t>(i)]);
  }
  // Memory of either kind of operand.
  template <typename T = float>
  T* DataOf(Arg arg) const {
    return arg.is_indexed() ? Indexed<T>(arg.index) : Data<T>(arg);
  }

  // Reserves scratch memory of the kernel's own. Call it in the constructor. The first Prepare
  // allocates the memory, zeroed; Run finds what the previous Run left there.
  void ReserveScratch(std::int64_t floats) {
    scratch_floats_ = static_cast<std::size_t>(floats);
    scratch_bytes_ = scratch_floats_ * sizeof(float);
  }
  // Reserves scratch memory that kernels may share, contents undefined (Kernel::run_scratch_bytes).
  // Call it in the constructor, and not together with ReserveScratch: there is one Scratch().
  void ReserveRunScratch(std::int64_t floats) {
    run_scratch_bytes_ = static_cast<std::size_t>(floats) * sizeof(float);
  }
  // The reserved memory, from Prepare on.
  float* Scratch() const { return scratch_data_; }

 private:
  const Execution execution_;
  std::array<void*, Arg::kRoles> data_ = {};  // by role
  std::vector<void*> indexed_;                // by index
  std::size_t scratch_floats_ = 0;
  AlignedMemory scratch_;
  float* scratch_data_ = nullptr;  // scratch_, or the memory bound as Arg::kScratch
};

// The reason why row-major loops (named `whose` in the message) cannot use the request's layouts;
// empty when they can.
std::string RowMajorRefusal(const KernelRequest& request, std::string_view whose);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_BOUND_KERNEL_H_
