// The stages of a profile as columns: the HTML report writes each key and each repeated text once,
// which makes it a third as large.

#ifndef TOPDNN_HARNESS_REPORT_HTML_STAGE_COLUMNS_H_
#define TOPDNN_HARNESS_REPORT_HTML_STAGE_COLUMNS_H_

#include <nlohmann/json.hpp>

namespace topdnn {

// {"count": n, "texts": [...], "text": {"name": [index or null...]...},
//  "number": {"flops": [x or null...]...}, "time": {"seconds": [[median, min, p90, n] or null...]},
//  "nodes": {"topdown": {"names": [...], "rows": [[value or [low, high]...] or null...],
//                        "basis": {NAME: text}}...},
//  "roofline": [[FLOP/s, L1 intensity, DRAM intensity, attainable, index of its name] or null...],
//  "events": {"names": [...], "rows": [...]}}
// Events that are 0 in every stage are omitted, and so are columns without values.
// Throws nlohmann::json::exception if a stage is not an object.
nlohmann::ordered_json StageColumns(const nlohmann::ordered_json& stages);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_STAGE_COLUMNS_H_
