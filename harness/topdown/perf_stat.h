// Parses the machine-readable output of perf-stat(1): `-x SEP` (one line of separated fields per
// count) and `-j` (one JSON object per count), of every version since 3.16.
//
// A line of `-x`, with the options that add a field (tools/perf/util/stat-display.c; perf-stat(1),
// "CSV FORMAT"):
//   [time (-I) | "summary"] [part [number of CPUs] (-A, --per-*)] count unit event
//   [cgroup (--for-each-cgroup, -G)] [noise% (-r)] run-time percent-running [metric unit]
// A metric's own line leaves count, unit and event (and cgroup, run-time, percent) empty.

#ifndef TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_
#define TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_

#include <optional>
#include <string>
#include <string_view>

#include "harness/topdown/recorded_counts.h"

namespace topdnn {

// Throw TopdownError naming `where` and the line.
RecordedCounts ParsePerfCsv(std::string_view text, const std::string& where);
RecordedCounts ParsePerfJson(std::string_view text, const std::string& where);

// Throws TopdownError: perf stat --metric-only writes no counts.
[[noreturn]] void RefuseMetricsOnly(const std::string& where);

// A number in any locale: "1234567", "1,234,567", "1.234.567,5", "1 234 567", "1'234". A single
// separator before exactly three digits is a grouping sign if `integral`, and otherwise the decimal
// sign. Absent if the text is not a finite number, or longer than any number that perf prints.
std::optional<double> ParseLocalNumber(std::string_view text, bool integral);

// The count of a line or object; absent for <not counted> and <not supported>. Throws TopdownError.
RecordedCount ParsePerfCount(std::string_view text, bool integral, std::string_view event,
                             const std::string& where);

// A share of the time, from a percentage; 1 if it is absent.
double RunningFraction(std::string_view percent);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_
