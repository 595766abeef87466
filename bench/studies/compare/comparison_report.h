// A comparison as text for a person, and as JSON.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_REPORT_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bench/studies/compare/comparison.h"
#include "harness/text/style.h"

namespace topdnn {

// "0.974 to 1.011": the interval of a ratio.
std::string RatioIntervalText(const std::optional<Interval>& interval);

// The verdict in one line.
std::string VerdictLine(const Comparison& comparison);

// The verdict, the differences and the notes, and a table of the rows: those that differ first,
// then by time. Without `all` the table has the rows that differ and the longest others.
std::string ComparisonText(const Comparison& comparison, bool all, const Style& style);

// {"schema": 1, "a", "b" (the paths), "verdict", "rows", "step", "differences", ...}. "p" is
// corrected for the number of tests, "p_single" is not.
nlohmann::ordered_json ComparisonJson(const Comparison& comparison, const std::string& a,
                                      const std::string& b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_REPORT_H_
