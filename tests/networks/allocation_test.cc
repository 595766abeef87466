// The program allocates nothing in a measured step. Each call of operator new during the step is
// assigned to the module that makes it. Calls by libraries are not counted: oneDNN 2.6 builds a map
// of arguments at every execution, and Eigen's evaluators make tasks in the libraries of Eigen code
// (kernels/eigen/kernel.h).

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/kernel/thread_width.h"
#include "networks/graph/zoo.h"
#include "networks/parameters/parameters.h"
#include "networks/planning/planner.h"

namespace {

std::atomic<bool> watching = false;
std::atomic<int> own_allocations = 0;

// Whether the code at `address` belongs to this program, and not to a library.
bool IsOwn(void* address) {
  Dl_info caller;
  Dl_info self;
  if (dladdr(address, &caller) == 0) return false;  // generated code
  dladdr(reinterpret_cast<void*>(&IsOwn), &self);
  return caller.dli_fbase == self.dli_fbase;
}

void* Allocate(std::size_t size, std::size_t alignment, void* caller) {
  if (watching && IsOwn(caller)) ++own_allocations;
  void* memory = alignment == 0
                     ? std::malloc(size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) & -alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return Allocate(size, 0, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
// (if only this function is inlined, and not its operator new, GCC 12 reports a mismatch)
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace topdnn {
namespace {

class AllocationTest : public testing::TestWithParam<std::string> {};

TEST_P(AllocationTest, AStepAllocatesNothing) {
  PlanRequest request;
  request.backend = GetParam();
  request.threads = 2;
  const auto plan = MakePlan(FindNetwork("cnn")->build({2, {3, 32, 32}, 10}), request);
  plan->Allocate();
  InitializeParameters(*plan, 1);
  plan->Run();  // objects that are created at first use exist now
  own_allocations = 0;
  watching = true;
  plan->Run();
  watching = false;
  EXPECT_EQ(own_allocations, 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, AllocationTest,
                         testing::Values("onednn", "eigen", "eigen-sgemm", "reference"));

TEST(AllocationWatchTest, AnAllocationIsCounted) {
  own_allocations = 0;
  watching = true;
  void* memory = operator new(100);  // (a new expression may be optimized away)
  watching = false;
  operator delete(memory);
  EXPECT_EQ(own_allocations, 1);
}

}  // namespace
}  // namespace topdnn
