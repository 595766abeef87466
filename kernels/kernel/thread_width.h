// The number of OpenMP threads in a scope.
//
// A oneDNN primitive is made for one number of threads. OpenBLAS and topdnn's own loops read the
// number when they run. So the code that makes or runs the kernels of a plan holds a ThreadWidth.

#ifndef TOPDNN_KERNELS_KERNEL_THREAD_WIDTH_H_
#define TOPDNN_KERNELS_KERNEL_THREAD_WIDTH_H_

#include <omp.h>

namespace topdnn {

class ThreadWidth {
 public:
  explicit ThreadWidth(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadWidth() { omp_set_num_threads(before_); }
  ThreadWidth(const ThreadWidth&) = delete;
  ThreadWidth& operator=(const ThreadWidth&) = delete;

 private:
  int before_;
};

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_KERNEL_THREAD_WIDTH_H_
