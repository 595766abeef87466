// Checks that an earlier run of the same program made, in a folder, so that the cases of a sweep do
// not repeat them.

#ifndef TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_
#define TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "networks/check.h"
#include "networks/plan.h"

namespace topdnn {

// A stage and its check. A stage of another plan with the same name, pass and implementation has
// the same check.
struct CheckedStage {
  std::string name;
  std::string pass;
  std::string implementation;
  StageCheck check;
};

struct NetworkChecks {
  std::int64_t batch = 0;
  std::string image;  // "3x64x64"
  std::vector<CheckedStage> stages;
};

// `checks`: one per stage.
std::vector<CheckedStage> StagesOf(const Plan& plan, std::vector<StageCheck> checks);

// Whether two lists have the same stages by the same implementations, in the same order.
bool SameStages(const std::vector<CheckedStage>& a, const std::vector<CheckedStage>& b);

// What decides the checks of a network's stages besides its images: the options, the program and
// the libraries by their build IDs, the CPU and its ISAs. Null if a file outside the program
// decides them, too (an ONNX network, weights, a plug-in), or the choice of `auto`.
nlohmann::ordered_json KeyOfChecks(const WorkloadOptions& options, bool training);

// The checks in the folder under this key; absent if there are none, or they are damaged.
std::optional<NetworkChecks> ReadKnownChecks(const std::string& folder,
                                             const nlohmann::ordered_json& key);

// Adds checks of stages that all agree, on results that are not mostly zero; otherwise it does
// nothing, so that the next run checks again. Throws ReportError if the file cannot be written.
void WriteKnownChecks(const std::string& folder, const nlohmann::ordered_json& key,
                      const NetworkChecks& checks);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_
