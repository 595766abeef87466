// A comparison of exact counts as text for a person, and as JSON.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_EXACT_REPORT_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_EXACT_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/studies/compare/exact_comparison.h"
#include "harness/text/style.h"

namespace topdnn {

// Two listings beside each other, `columns` wide in all. Lines that only one of them has are marked
// with "<" or ">".
std::vector<std::string> BesideEachOther(const std::vector<std::string>& a,
                                         const std::vector<std::string>& b, std::size_t columns);

// The verdict, the settings that differ, a table of the stages that differ, and the hottest loop
// that differs of the stages with the largest differences, or with `all` of each.
std::string ExactText(const ExactComparison& comparison, bool all, const Style& style);

// {"schema": 1, "a", "b" (the paths), "exact": true, "verdict", "summary", "rows", "step",
// "differences"}. `a` and `b` of a row are its instructions; "counts" has every count of both.
nlohmann::ordered_json ExactJson(const ExactComparison& comparison, const std::string& a,
                                 const std::string& b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_EXACT_REPORT_H_
