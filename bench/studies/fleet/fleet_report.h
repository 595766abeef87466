// How far a study on a cluster is, and what was collected, as text for a person, and as JSON.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_FLEET_REPORT_H_
#define TOPDNN_BENCH_STUDIES_FLEET_FLEET_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/studies/fleet/fleet.h"
#include "bench/studies/fleet/fleet_collection.h"
#include "harness/text/style.h"

namespace topdnn {

std::string StatusText(const std::vector<FleetTask>& tasks, const Style& style);
// {"schema", "fleet", "cases", "finished", "tasks": [{"kind", "set", "job", "state", "node",
// "cases", "finished", "problem"}]}.
nlohmann::ordered_json StatusJson(const Fleet& fleet, const std::vector<FleetTask>& tasks);

std::string CollectionText(const Collection& collection, const Style& style);
// {"schema", "fleet", "cases", "finished", "partial", "machines": [{"name", "cpu", "hosts",
// "folder", "cases", "finished", "measured"}]}.
nlohmann::ordered_json CollectionJson(const Fleet& fleet, const Collection& collection);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_FLEET_REPORT_H_
