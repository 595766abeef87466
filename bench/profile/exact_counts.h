// The exact counts of a plan's stages as a document to keep and to compare: what each stage
// executes and its hottest loops, without any time. The same program writes the same document again
// on the same CPU, whatever else the machine does.

#ifndef TOPDNN_BENCH_PROFILE_EXACT_COUNTS_H_
#define TOPDNN_BENCH_PROFILE_EXACT_COUNTS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/profile/hot_stages.h"
#include "bench/profile/profile_options.h"

namespace topdnn {

// The key of the document in a baseline's file.
inline constexpr const char* kExactCounts = "exact_counts";

// {"format": 1, "subject": {"network", "batch", ...}, "cpu": {...}, "libraries": {...},
// "stages": [{"name", "pass", "implementation", "counts": {...} or null, "reason", "left_out",
// "loops": [{"code", "iterations", ...}]}], "code": {"CODE": {"place", "listing"}}}.
// `machine` and `subject`: as in the JSON of a profile. `code_names`: of generated code, as a perf
// map.
nlohmann::ordered_json ExactCountsJson(const Plan& plan, const std::vector<RegionBlocks>& regions,
                                       const std::string& code_names,
                                       const nlohmann::ordered_json& machine,
                                       const nlohmann::ordered_json& subject);

// The file of `--exact-baseline`: the document with a line for each stage, loop and instruction, so
// that a difference of two files shows what changed.
std::string ExactBaselineText(const nlohmann::ordered_json& counts);

// "counted 8 stages: 20,124,992 instructions, ...", and a line for each stage without a count.
std::string ExactSummary(const nlohmann::ordered_json& counts);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_EXACT_COUNTS_H_
