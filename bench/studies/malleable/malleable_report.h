// The table and the JSON of `topdnn malleable`.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_REPORT_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/studies/malleable/malleable.h"
#include "harness/text/style.h"

namespace topdnn {

std::string MalleableTable(const MalleableResult& result, std::int64_t batch, double bound,
                           const Style& style);

// Adds the figures to the head (MalleableHead).
void AddMalleableFigures(const MalleableResult& result, std::int64_t batch, double bound,
                         nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_REPORT_H_
