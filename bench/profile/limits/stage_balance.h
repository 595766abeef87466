// How evenly the threads of a step share its work.
//
// The shares are exact counts of instructions, so nothing is timed, and a machine with two CPUs can
// judge 64 threads. If one thread executes N instructions for a stage, and of several threads the
// one with most executes I, then with a CPU for each thread the stage runs at most N / I times as
// fast (Amdahl, AFIPS 1967). Caches, memory and the clock may limit it further.

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BALANCE_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BALANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/workload/workload.h"

namespace topdnn {

struct StageShares {
  std::string label;  // "conv1 forward"
  // Of each thread that took part, without starting teams and waiting for them; most first.
  std::vector<std::uint64_t> instructions;
  std::string reason;  // why the counts are not complete; empty: they are

  std::uint64_t sum() const;
  std::uint64_t most() const { return instructions.empty() ? 0 : instructions.front(); }
};

// Prepares the planned workload, runs a step, and counts the stages of a second one. Throws
// UsageError, and NothingMeasured if this machine cannot count exactly.
std::vector<StageShares> CountShares(const WorkloadOptions& options, Workload& planned);

// 2, 4, 8, ... and `threads`.
std::vector<int> WidthsUpTo(int threads);

// The last of the widths, in ascending order, that is worth its threads: each width until then adds
// at least a quarter of what ideal scaling would add. `speed_ups` are those of the widths.
int LastWidthThatHelps(const std::vector<int>& widths, const std::vector<double>& speed_ups);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BALANCE_H_
