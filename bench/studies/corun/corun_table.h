// The tables of `topdnn corun`.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_TABLE_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_TABLE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "bench/studies/corun/corun.h"
#include "harness/sharing/rounds.h"
#include "harness/statistics/summary.h"
#include "harness/text/style.h"

namespace topdnn {

// For each workload a table of its stages, the largest loss first and at most `most_stages`; then
// the line of the group.
std::string CorunTable(const CorunGroup& group, std::size_t most_stages, const Style& style);

// The median of a slowdown, and its 95 % interval as "1.002-1.043". A median that is absent is n/a,
// an interval that is absent is empty.
std::string SlowdownText(const std::optional<Slowdown>& value);
std::string SlowdownRangeText(const std::optional<Slowdown>& value);

// Absent if there is no time.
std::optional<double> MedianOf(const std::optional<Summary>& seconds);

// "3.5 MiB".
std::string MebibytesText(double bytes);

// A row for each victim, a column for each aggressor.
std::string CorunMatrixTable(std::span<const CorunPair> matrix, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_TABLE_H_
