#include "kernels/eigen/per_isa/pool.h"

#include <omp.h>

#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

// The header before each block of memory; it keeps the block's alignment.
struct alignas(64) RecyclingAllocator::Block {
  Block* next;
  std::size_t size_class;
};

RecyclingAllocator::~RecyclingAllocator() {
  for (Block* block : free_) {
    while (block != nullptr) std::free(std::exchange(block, block->next));
  }
}

void* RecyclingAllocator::allocate(std::size_t bytes) const {
  const auto size_class = static_cast<std::size_t>(std::bit_width(bytes | (sizeof(Block) - 1)));
  const std::lock_guard lock(mutex_);
  Block* block = free_[size_class];
  if (block != nullptr) {
    free_[size_class] = block->next;
    return block + 1;
  }
  void* memory = std::aligned_alloc(alignof(Block), sizeof(Block) + (std::size_t{1} << size_class));
  if (memory == nullptr) throw std::bad_alloc();
  return new (memory) Block{nullptr, size_class} + 1;
}

void RecyclingAllocator::deallocate(void* memory) const {
  if (memory == nullptr) return;
  Block* block = static_cast<Block*>(memory) - 1;
  const std::lock_guard lock(mutex_);
  block->next = free_[block->size_class];
  free_[block->size_class] = block;
}

Eigen::StlThreadEnvironment::EnvThread* SerialOpenMpThreads::CreateThread(
    std::function<void()> work) {
  return new EnvThread([work = std::move(work)] {
    omp_set_num_threads(1);
    work();
  });
}

namespace {

void ForRanges(Pool* pool, std::int64_t n, double bytes, double cycles,
               void (*body)(const void* context, std::int64_t first, std::int64_t end),
               const void* context) {
  pool->For(n, bytes, cycles, [=](Index first, Index end) { body(context, first, end); });
}

const Entry kForRanges(&Functions::for_ranges, ForRanges);
const Entry kMakePool(&Functions::make_pool, [](int threads) { return new Pool(threads); });
const Entry kReleasePool(&Functions::release_pool, [](Pool* pool) { delete pool; });

}  // namespace

}  // namespace topdnn::eigen
