// An experiment on known code, as a table and as JSON.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_KNOWN_MIXES_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_KNOWN_MIXES_TABLE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/experiments/known_mixes.h"
#include "harness/text/style.h"

namespace topdnn {

// `what`: the title of the first column.
std::string MixesText(std::string_view what, const std::vector<MixResult>& mixes,
                      const Style& style);
nlohmann::ordered_json ToJson(const MixResult& mix);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_KNOWN_MIXES_TABLE_H_
