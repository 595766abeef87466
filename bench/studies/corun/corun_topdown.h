// The Top-Down of the workloads of `topdnn corun`, alone and beside the others, from the counts of
// their windows.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_TOPDOWN_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_TOPDOWN_H_

#include <cstddef>
#include <span>
#include <vector>

#include "bench/studies/corun/corun.h"
#include "bench/studies/corun/corun_counts.h"
#include "harness/sharing/group.h"
#include "harness/sharing/rounds.h"

namespace topdnn {

// A stage must be this many times as long as a reading of the counters.
inline constexpr double kLeastReadings = 10;

// What the processes of a group say about their counts, and their windows in which the PMU was
// read.
struct GroupCounts {
  std::vector<CountsMessage> messages;  // by member
  SharingRounds windows;
};

// Before the group is ready.
GroupCounts NoCounts(std::size_t members);

// The counts of a group that is ready. `first`: by member the one that counted the same workload
// exactly. Reads the PMU in rounds of windows, if a member can; `options` has their least length.
// Throws RunFailure.
GroupCounts CountGroup(Group& group, const std::vector<std::size_t>& first,
                       const SharingRoundOptions& options);

// Fills the counts of the member, which must have its times. `solo`, `shared`: its windows of
// counted rounds. Pure.
void AddCounts(const CountsMessage& message, std::span<const WindowSamples> solo,
               std::span<const WindowSamples> shared, const CorunCounting& counting,
               CorunMember& member);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_TOPDOWN_H_
