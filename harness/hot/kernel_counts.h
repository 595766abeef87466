// What a region's own code executes: the part of an exact count that the same program repeats from
// run to run, so that two programs can be compared by it.
//
// Left out, and named: the OpenMP runtime and the loops that wait for other threads, whose number
// of instructions depends on the other threads; the C library's allocator, copies and dynamic
// linker, which depend on the state of the heap, on alignment and on the first call.

#ifndef TOPDNN_HARNESS_HOT_KERNEL_COUNTS_H_
#define TOPDNN_HARNESS_HOT_KERNEL_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/exact/block_profile.h"
#include "harness/exact/instructions/counts.h"
#include "harness/hot/code_place.h"

namespace topdnn {

// A loop without the loops inside it.
struct CountedLoop {
  std::string code{};   // a hash of its instructions, the same wherever they are loaded
  std::string place{};  // its function: "libdnnl.so.2!gemm_kernel", "JIT jit_uni_pool_kernel"
  std::uint64_t iterations = 0, entries = 0;
  std::uint64_t instructions = 0;  // executed
  std::vector<std::string> listing{};
};

struct KernelCounts {
  // Why another run has other counts; empty: it has the same.
  std::string reason;
  // The sums over the code that is not left out. The bytes that string and tile instructions move
  // are in none: the counter knows them only for the whole region.
  ExactCounts counts;
  std::map<std::string, std::uint64_t> left_out;  // instructions, by library or reason
  std::vector<CountedLoop> loops;                 // those with most instructions first
};

// The reason in `left_out` for loops that wait, with `pause` or a similar instruction.
inline constexpr std::string_view kWaitingLoops = "waiting loops";

KernelCounts KernelCountsOf(const BlockProfile& blocks, CodePlaces& places);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_HOT_KERNEL_COUNTS_H_
