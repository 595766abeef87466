// The memory experiment on code whose share of waiting is known (the truth): its interval must
// overlap that of the truth.
//
// The truth comes from the same code on real memory. A mix computes for some time per cache line
// and reads lines in order, or each after the one before. Run with as many accesses on a small
// buffer, which L2 holds, it takes the time without waits: truth = 1 - time(small) / time(large).
// For pure computing, and for data that L2 holds, the truth is 0.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_KNOWN_MIXES_H_
#define TOPDNN_HARNESS_EXPERIMENTS_KNOWN_MIXES_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/topology.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/status.h"

namespace topdnn {

struct MixResult {
  std::string name;
  int threads = 1;
  Interval truth;                      // 95 % intervals before and after, together
  std::optional<Interval> measured{};  // by the experiment; absent: see `reason`
  // OK: the two intervals overlap. DEGRADED: they do not, because the machine was disturbed or
  // because the technique does not hold here. SKIPPED: not measured.
  Status verdict = Status::kSkipped;
  std::string reason{};  // required unless OK
};

// Runs every mix on one thread and on `threads`. `say` is called with the name of each.
std::vector<MixResult> RunKnownMixes(const std::vector<Cache>& caches, int threads,
                                     const std::function<void(std::string_view)>& say);

// The verdict on a mix: its truth against what was measured. Pure.
void JudgeMix(MixResult& mix);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_KNOWN_MIXES_H_
