// What a region executed, counted instruction by instruction, and what follows from it.
//
// The floating-point classes are those of Intel's FP_ARITH_INST_RETIRED events (Intel SDM vol. 3,
// "Performance Monitoring Events"), so they can be compared with a PMU: a fused multiply-add counts
// 2, masked lanes count in full, comparisons and conversions do not count.

#ifndef TOPDNN_HARNESS_EXACT_INSTRUCTIONS_COUNTS_H_
#define TOPDNN_HARNESS_EXACT_INSTRUCTIONS_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace topdnn {

enum FpElement { kF32, kF64, kF16, kFpElements };
enum FpWidth { kScalar, kPacked128, kPacked256, kPacked512, kFpWidths };

// Counts that do not depend on data: of a block, or a sum over blocks.
struct Tally {
  std::uint64_t instructions = 0;
  std::uint64_t fp[kFpElements][kFpWidths] = {};  // as FP_ARITH_INST_RETIRED counts them
  std::uint64_t x87 = 0;  // x87 additions, multiplications, divisions, square roots
  std::uint64_t bf16_dot[kFpWidths] = {};         // vdpbf16ps, by width
  std::uint64_t vnni[kFpWidths] = {};             // vpdpbusd, vpdpwssd, by width
  std::uint64_t vnni_ops = 0;                     // their integer multiplications and additions
  std::uint64_t loads = 0, stores = 0;            // instructions that read or write memory
  std::uint64_t load_bytes = 0, store_bytes = 0;  // masked lanes in full
  std::uint64_t conditional_branches = 0;
  std::uint64_t unconditional_branches = 0;  // direct jumps and calls
  std::uint64_t indirect_branches = 0;  // jumps and calls through a register or memory, returns
  std::uint64_t system_calls = 0;
  std::uint64_t atomic_instructions = 0;  // and `pause`
  // Instructions that may take much longer than a load followed by a multiply-add: divisions,
  // square roots, gathers, atomic, string, x87 and serializing instructions.
  std::uint64_t slow_instructions = 0;
  // No-operations and moves between general registers; some cores fuse them with a neighbour.
  std::uint64_t fusible_instructions = 0;
  std::uint64_t instruction_bytes = 0;  // bytes of code, once per execution

  // Adds `other`, executed `times` times.
  void Add(const Tally& other, std::uint64_t times);
};

// ASSUMED: a predictor learns a branch whose pattern repeats within this many branches of the
// region, as long as few are missed: others spoil the history that it looks up. Skylake keeps the
// last 93 taken branches, and later cores more (Yavarzadeh and others, Half&Half, IEEE S&P 2023);
// `topdnn validate` measures a pattern of 50.
inline constexpr std::uint64_t kLearnedBranches = 64;
inline constexpr std::uint64_t kBranchesPerMiss = 32;
// Of a pair of runs of unexpected lengths: each end where it was expected, and where it was not.
inline constexpr std::uint64_t kMissesOfPair = 4;
// Of a branch in a thread, until its pattern is known. ASSUMED.
inline constexpr std::uint64_t kLearningMisses = 16;

struct ExactCounts : Tally {
  std::uint64_t conditional_taken = 0;
  // Sum over all conditional branches of min(taken, not taken): the fewest mispredictions of any
  // static prediction.
  std::uint64_t minority_branches = 0;
  // The mispredictions of a predictor that expects each branch to repeat its last pair of runs
  // (ExecutedBranch), and otherwise the more frequent direction of the way in which its block was
  // entered. If they are more than one of kBranchesPerMiss, those of the best static one.
  std::uint64_t missed_branches = 0;
  // Instructions in the shares of workers with which threads may wait for each other: atomic ones,
  // `pause` and system calls.
  std::uint64_t synchronizing_instructions = 0;
  std::uint64_t amx_bf16 = 0, amx_int8 = 0;            // tile dot products (instructions)
  std::uint64_t amx_bf16_flops = 0, amx_int8_ops = 0;  // with the tile configuration in use
  std::uint64_t code_bytes = 0, blocks = 0;            // distinct code executed
  // Instructions of the OpenMP runtime that start teams and wait for them. Their number differs
  // from run to run.
  std::uint64_t openmp_instructions = 0;
  // Conditional and indirect branches of the OpenMP runtime.
  std::uint64_t openmp_branches = 0;
  std::uint64_t openmp_slow_instructions = 0;      // `pause` while it waits, atomic ones
  int threads = 1;                                 // threads that contributed
  std::vector<std::uint64_t> thread_instructions;  // of each, without `openmp_instructions`
  bool complete = false;                           // false: the counts are lower bounds
  std::string incomplete_reason;  // what was not counted and where; empty if complete

  std::uint64_t branches_taken() const {
    return conditional_taken + unconditional_branches + indirect_branches;
  }
  // Floating-point operations of all vector lanes, dot products and tiles.
  std::uint64_t flops() const;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXACT_INSTRUCTIONS_COUNTS_H_
