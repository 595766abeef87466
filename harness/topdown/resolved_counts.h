// From recorded lines to the counts that a table reads: finds each event under its spelling, and
// adds the lines that are parts of one count.

#ifndef TOPDNN_HARNESS_TOPDOWN_RESOLVED_COUNTS_H_
#define TOPDNN_HARNESS_TOPDOWN_RESOLVED_COUNTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/topdown/metric.h"
#include "harness/topdown/recorded_counts.h"

namespace topdnn {

// The part of a file to evaluate. Absent: every interval; the counts outside of control groups.
struct CountSelection {
  std::optional<std::string> group{};
  std::optional<std::string> interval{};
  // The counts that may belong to it, of RecordedCounts::counts; absent: all of them.
  std::optional<std::vector<RecordedCount>> counts{};
};

struct ResolvedCounts {
  std::map<std::string, double, std::less<>> counts;  // by the table's event names
  // The table's events that the file has, but without a count.
  std::vector<std::string> not_counted;
  // Whether one of the counts is an estimate from a part of the time.
  bool multiplexed = false;
  std::vector<std::string> notes;  // multiplexed events, and what was left out
};

// The counts that a table reads, found by the vendor's name, perf's name or the raw code. On hybrid
// CPUs the other core type's counts are omitted. A part or interval in which nothing was counted is
// idle and adds nothing; one in which only some of the events were counted is left out, so that all
// events cover the same time. Throws TopdownError if an event is listed twice with different
// counts.
ResolvedCounts ResolveCounts(const TopdownTable& table, const RecordedCounts& recorded,
                             const CountSelection& selection = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_RESOLVED_COUNTS_H_
