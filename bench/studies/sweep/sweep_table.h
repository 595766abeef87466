// The rows of a sweep for a person: what the cases differ in, and where their steps spend the time.

#ifndef TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_TABLE_H_
#define TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_TABLE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "harness/text/style.h"

namespace topdnn {

// The table of the cases in the order of the grid. The lines below it are about cases without
// times, cases that were left out, and the sweep's own time.
std::string SweepTable(const nlohmann::ordered_json& index, const Style& style);

// "12.3 ms (OK)"
std::string SweepRowText(const nlohmann::ordered_json& row);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SWEEP_SWEEP_TABLE_H_
