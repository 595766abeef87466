// What a case's process left behind, as a row of the sweep.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_RESULT_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_RESULT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "bench/studies/process/child_program.h"

namespace topdnn {

// Fills a row from the profile that the case wrote. A FAILED step has no times.
void AddProfile(const nlohmann::ordered_json& profile, const std::string& file,
                nlohmann::ordered_json& row);

// Fills a row from a process that wrote no profile: CRASHED, TIMEOUT, OUT_OF_MEMORY, SKIPPED (the
// case is not possible here) or FAILED, with the reason.
void AddEnd(const ChildOutcome& outcome, nlohmann::ordered_json& row);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_RESULT_H_
