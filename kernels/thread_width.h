// The number of OpenMP threads that a scope runs on.
//
// oneDNN bakes the width into a primitive when it is made, and OpenBLAS and our own loops take it
// when they run; so makers and runs of one plan hold one of these.

#ifndef TOPDNN_KERNELS_THREAD_WIDTH_H_
#define TOPDNN_KERNELS_THREAD_WIDTH_H_

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

#endif  // TOPDNN_KERNELS_THREAD_WIDTH_H_
