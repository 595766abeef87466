// Checks that earlier runs of the same program made, in the user's cache. A later run repeats a
// sample of them.

#ifndef TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_
#define TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "harness/user_cache/cache_folder.h"
#include "networks/plan/check.h"
#include "networks/plan/plan.h"

namespace topdnn {

// A stage and its check. A stage of another plan with the same name, pass and implementation has
// the same check.
struct CheckedStage {
  std::string name{};
  std::string pass{};
  std::string implementation{};
  StageCheck check{};
};

// `checks`: one per stage.
std::vector<CheckedStage> StagesOf(const Plan& plan, std::vector<StageCheck> checks);

// Whether two lists have the same stages by the same implementations, in the same order.
bool SameStages(const std::vector<CheckedStage>& a, const std::vector<CheckedStage>& b);

// The names of up to `count` different layers, chosen at random. A layer's passes are checked
// together, because a backward pass reads what the forward one saved. Pure.
std::set<std::string> SampleOfLayers(const std::vector<CheckedStage>& stages, std::size_t count,
                                     std::uint32_t seed);

// What decides the checks of a network's stages besides its images: the options, the program and
// the libraries by their build IDs, the CPU and its ISAs. Null if a file outside the program
// decides them, too: an ONNX network, weights, a plug-in.
nlohmann::ordered_json KeyOfChecks(const WorkloadOptions& options, bool training);

// The stages under this key, whose checks all agreed; absent if there are none, or the file is
// damaged.
std::optional<std::vector<CheckedStage>> ReadKnownChecks(const CacheFolder& cache,
                                                         const nlohmann::ordered_json& key);

// Adds checks of stages that all agree, on results that are not mostly zero, and keeps those of the
// latest 32 keys. Other checks only remove the key, so that the next run checks again. Does nothing
// if the cache cannot be written.
void WriteKnownChecks(const CacheFolder& cache, const nlohmann::ordered_json& key,
                      const std::vector<CheckedStage>& stages);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_KNOWN_CHECKS_H_
