// The threads of a library and the recycled memory for their work.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>

#include "kernels/eigen/operands.h"
#include "kernels/eigen/per_isa/tensor.h"

namespace topdnn::eigen {

// Reuses freed blocks, whose sizes are powers of two. So a kernel's second run uses the blocks of
// its first; Eigen's default allocator would allocate the evaluators' buffers in every run.
class RecyclingAllocator : public Eigen::Allocator {
 public:
  RecyclingAllocator() = default;
  ~RecyclingAllocator() override;
  RecyclingAllocator(const RecyclingAllocator&) = delete;
  RecyclingAllocator& operator=(const RecyclingAllocator&) = delete;

  // Aligned to a cache line. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) const override;
  void deallocate(void* memory) const override;

 private:
  struct Block;
  mutable std::mutex mutex_;
  mutable std::array<Block*, 64> free_ = {};  // lists, indexed by the exponent of the size
};

// Threads with an OpenMP width of 1 (the width is a setting of each thread). oneDNN's sgemm inside
// a contraction uses OpenMP, and must stay on the thread that calls it.
struct SerialOpenMpThreads : Eigen::StlThreadEnvironment {
  EnvThread* CreateThread(std::function<void()> work);
};

struct Pool {
  explicit Pool(int width) : threads(width), device(&threads, width, &allocator) {}

  // Calls body(first, end) for ranges that cover [0, n), in parallel when the cost of an index,
  // `bytes` of memory traffic and `cycles` of work, makes that faster. The calling thread may take
  // part.
  void For(Index n, double bytes, double cycles,
           const std::function<void(Index, Index)>& body) const {
    device.parallelFor(n, Eigen::TensorOpCost(bytes, 0, cycles), body);
  }

  RecyclingAllocator allocator;
  Eigen::ThreadPoolTempl<SerialOpenMpThreads> threads;
  Eigen::ThreadPoolDevice device;
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_
