// Top-Down of recorded counts: resolves the events, evaluates the table, checks that level 1 makes
// sense, and says what is missing and why. If a file has only the metrics that perf computed, these
// are the nodes.

#ifndef TOPDNN_HARNESS_TOPDOWN_TOPDOWN_READING_H_
#define TOPDNN_HARNESS_TOPDOWN_TOPDOWN_READING_H_

#include <string>
#include <vector>

#include "harness/topdown/metric.h"
#include "harness/topdown/recorded_counts.h"
#include "harness/topdown/resolved_counts.h"

namespace topdnn {

struct TopdownReading {
  TopdownResult result;
  std::vector<std::string> not_counted;  // recorded, but without a count
  std::vector<std::string> notes;
  // Why these counts cannot be those of one run of this core; the nodes are then wrong. Empty: they
  // can.
  std::string contradiction;
};

TopdownReading ReadTopdown(const TopdownTable& table, const RecordedCounts& recorded,
                           const CountSelection& selection);

// Why level 1 is impossible: it does not add up to 1, or PERF_METRICS do not add up to the slots,
// within what the events allow. Empty: it is possible.
std::string ContradictionIn(const ResolvedCounts& resolved, const TopdownResult& result);

// "perf stat -j -e '{slots,topdown-retiring,...}',...": records what level 1 needs.
std::string RecordingCommand(const TopdownTable& table);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_TOPDOWN_READING_H_
