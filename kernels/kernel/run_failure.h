// A library's call that failed while a kernel ran.
//
// Kernel::Run cannot throw. The library calls in it can fail, for example when oneDNN cannot
// allocate memory. The result is then missing, and its time must not be published. So the kernel
// records the failure here, and the code that ran the kernels checks for it.

#ifndef TOPDNN_KERNELS_KERNEL_RUN_FAILURE_H_
#define TOPDNN_KERNELS_KERNEL_RUN_FAILURE_H_

#include <string>

namespace topdnn {

// Records that `call` ended with `status`, a number of the library's. The first failure is kept.
// Any thread; neither allocates nor locks.
void RecordRunFailure(const char* call, int status) noexcept;

// The failure since the last call of this function, in one line; empty when there is none.
std::string TakeRunFailure();

// Throws KernelFailed with that line if there is one.
void ThrowOnRunFailure();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_RUN_FAILURE_H_
