// The threads of a library and the memory that their work recycles.

#ifndef TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_
#define TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>

#include "kernels/eigen/operands.h"
#include "kernels/eigen/per_isa/tensor.h"

namespace topdnn::eigen {

// Gives back the blocks that it got back, by sizes rounded up to powers of two, so that a kernel's
// second run finds those of its first. Eigen's evaluators allocate at every run otherwise.
class RecyclingAllocator : public Eigen::Allocator {
 public:
  RecyclingAllocator() = default;
  ~RecyclingAllocator() override;
  RecyclingAllocator(const RecyclingAllocator&) = delete;
  RecyclingAllocator& operator=(const RecyclingAllocator&) = delete;

  // On a cache line boundary. Throws std::bad_alloc.
  void* allocate(std::size_t bytes) const override;
  void deallocate(void* memory) const override;

 private:
  struct Block;
  mutable std::mutex mutex_;
  mutable std::array<Block*, 64> free_ = {};  // lists by the exponent of the size
};

// Threads in which OpenMP is one wide: what a contraction calls there must stay there (the width
// is a setting of the thread).
struct NarrowThreads : Eigen::StlThreadEnvironment {
  EnvThread* CreateThread(std::function<void()> work);
};

struct Pool {
  explicit Pool(int width) : threads(width), device(&threads, width, &allocator) {}

  // Calls body(first, end) for ranges that cover [0, n), in parallel where `cycles` (of one
  // element) and `bytes` (that it moves) make that worth it.
  void For(Index n, double bytes, double cycles,
           const std::function<void(Index, Index)>& body) const {
    device.parallelFor(n, Eigen::TensorOpCost(bytes, 0, cycles), body);
  }

  RecyclingAllocator allocator;
  Eigen::ThreadPoolTempl<NarrowThreads> threads;
  Eigen::ThreadPoolDevice device;
};

}  // namespace topdnn::eigen

#endif  // TOPDNN_KERNELS_EIGEN_PER_ISA_POOL_H_
