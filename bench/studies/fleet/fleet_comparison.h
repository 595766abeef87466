// The machines of a study side by side: each stage's time on each machine, as a ratio to that on a
// chosen machine, and as a share of the machine's own ceiling.

#ifndef TOPDNN_BENCH_STUDIES_FLEET_FLEET_COMPARISON_H_
#define TOPDNN_BENCH_STUDIES_FLEET_FLEET_COMPARISON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/studies/compare/comparison.h"
#include "bench/studies/fleet/fleet_collection.h"
#include "harness/text/style.h"

namespace topdnn {

// A machine, compared with the chosen one (side A).
struct ComparedMachine {
  std::string name{};
  Comparison comparison{};
};

struct FleetComparison {
  std::string chosen{};
  std::vector<ComparedMachine> others{};
  std::vector<std::string> left_out{};  // "MACHINE: why it is not compared"
};

// `chosen`: the name of a machine, or the beginning of only one name. Throws UsageError for another
// text, and if no other machine has a case in common with the chosen one.
FleetComparison CompareMachines(const Collection& collection, const std::string& chosen);

// A table of the steps; with `all`, of the stages, too.
std::string FleetComparisonText(const FleetComparison& comparison, bool all, const Style& style);

// {"chosen", "machines": [{"name", and the keys of a comparison}], "left_out"}.
nlohmann::ordered_json FleetComparisonJson(const FleetComparison& comparison);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_FLEET_FLEET_COMPARISON_H_
