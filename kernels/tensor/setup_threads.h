// Work of set-up, shared by several threads.

#ifndef TOPDNN_KERNELS_TENSOR_SETUP_THREADS_H_
#define TOPDNN_KERNELS_TENSOR_SETUP_THREADS_H_

#include <cstddef>
#include <functional>

namespace topdnn {

// How many threads share `parts` parts of work: at most one for each CPU and part, and at most 8.
std::size_t SetupThreads(std::size_t parts);

// Calls `work` with the numbers 0 to `threads` - 1, each on its own thread, and waits for all. If
// not all threads can be started, the caller does the work of those that are missing. They are not
// OpenMP threads, because a team of kernels that are timed later would start here at another width.
void OnSetupThreads(std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_TENSOR_SETUP_THREADS_H_
