// The loops that a region executes, as JSON.

#ifndef TOPDNN_HARNESS_REPORT_HOT_JSON_H_
#define TOPDNN_HARNESS_REPORT_HOT_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "harness/hot/hot_loops.h"

namespace topdnn {

nlohmann::ordered_json ToJson(const HotLoops& hot);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HOT_JSON_H_
