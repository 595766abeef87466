// A library's call that failed while a kernel ran.
//
// Kernel::Run is bare and cannot throw. What it calls can fail all the same (oneDNN takes memory in
// places), and a result that was never computed must not pass for a fast one: the kernel records
// the failure here, and who ran the kernels asks.

#ifndef TOPDNN_KERNELS_RUN_FAILURE_H_
#define TOPDNN_KERNELS_RUN_FAILURE_H_

#include <string>

namespace topdnn {

// Records that `call` ended with `status`, a number of the library's. The first failure is kept.
// Any thread; neither allocates nor locks.
void RecordRunFailure(const char* call, int status) noexcept;

// The failure since the last call of this function, in one line; empty when there is none.
std::string TakeRunFailure();

// Throws std::runtime_error with that line where there is one.
void ThrowOnRunFailure();

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_RUN_FAILURE_H_
