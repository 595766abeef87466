// Parses the machine-readable output of perf-stat(1): `-x SEP` (one line of separated fields per
// count) and `-j` (one JSON object per line), with -I, -A, --per-core and hybrid PMUs.

#ifndef TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_
#define TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_

#include <optional>
#include <string>
#include <string_view>

#include "harness/topdown/event_file.h"

namespace topdnn {

// Sum an event's counts over CPUs and intervals. Throw TopdownError naming `where` and the line.
RecordedCounts ParsePerfCsv(std::string_view text, const std::string& where);
RecordedCounts ParsePerfJson(std::string_view text, const std::string& where);

// A number in any locale: "1234567", "1,234,567", "1.234.567,5", "1 234 567", "1'234". A single
// separator before exactly three digits is a grouping sign if `integral`, and otherwise the decimal
// sign. Absent if the text is not a finite number.
std::optional<double> ParseLocalNumber(std::string_view text, bool integral);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PERF_STAT_H_
