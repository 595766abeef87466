// The tables of `topdnn corun`.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_TABLE_H_
#define TOPDNN_BENCH_STUDIES_CORUN_TABLE_H_

#include <cstddef>
#include <span>
#include <string>

#include "bench/studies/corun.h"
#include "harness/report/style.h"

namespace topdnn {

// For each workload a table of its stages, the largest loss first and at most `most_stages`; then
// the line of the group.
std::string CorunTable(const CorunGroup& group, std::size_t most_stages, const Style& style);

// A row for each victim, a column for each aggressor.
std::string CorunMatrixTable(std::span<const CorunPair> matrix, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_TABLE_H_
