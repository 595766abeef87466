#include "bench/validation/known_checks.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "bench/machine/libraries.h"
#include "bench/workload/network_source.h"
#include "harness/text/nested_json.h"
#include "harness/user_cache/remembered_best.h"
#include "kernels/plugin/plugins.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostKeys = 32;

// The entries of the file, the latest first; none if it is damaged.
Json EntriesIn(const std::optional<std::string>& text) {
  Json entries = ParseForeignJson<Json>(text.value_or(""));
  return entries.is_array() ? entries : Json::array();
}

bool IsOf(const Json& entry, const Json& key) {
  return entry.is_object() && entry.contains("key") && entry["key"] == key;
}

// The variant of each pass of a layer that `auto` chose.
Json VariantsOf(const WorkloadOptions& options) {
  if (!options.variants) return nullptr;
  Json variants = Json::array();
  for (const auto& [layer, names] : *options.variants) {
    variants.push_back({layer.first, NameOf(layer.second), names});
  }
  return variants;
}

}  // namespace

std::set<std::string> SampleOfLayers(const std::vector<CheckedStage>& stages, std::size_t count,
                                     std::uint32_t seed) {
  std::set<std::string> names;
  for (const CheckedStage& stage : stages) names.insert(stage.name);
  std::set<std::string> sample;
  std::sample(names.begin(), names.end(), std::inserter(sample, sample.end()), count,
              std::mt19937(seed));
  return sample;
}

Json KeyOfChecks(const WorkloadOptions& options, bool training) {
  if (IsOnnxPath(options.network) || !options.weights.empty() || !Plugins().empty()) {
    return nullptr;
  }
  const std::vector<std::string> all = BuildIds();
  std::set<std::string> ids(all.begin(), all.end());
  ids.erase("");
  return {{"network", options.network},
          {"training", training},
          {"backend", options.backend},
          {"plan", options.plan},
          {"variants", VariantsOf(options)},
          {"fallback", options.fallback},
          {"dtype", options.dtype},
          {"classes", options.classes},
          {"size", options.size},
          {"threads", ThreadsOf(options)},
          {"seed", options.seed},
          {"optimizer", options.optimizer},
          {"learning_rate", options.learning_rate},
          {"momentum", options.momentum},
          {"weight_decay", options.weight_decay},
          {"dropout", options.dropout},
          {"draw", static_cast<int>(options.draw)},
          {"machine", ThisMachineKey(LibraryVersions().dump())},
          {"build_ids", ids}};
}

std::vector<CheckedStage> StagesOf(const Plan& plan, std::vector<StageCheck> checks) {
  std::vector<CheckedStage> stages;
  stages.reserve(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    stages.push_back({.name = stage.name,
                      .pass = std::string(NameOf(stage.pass)),
                      .implementation = stage.kernel->implementation(),
                      .check = std::move(checks[i])});
  }
  return stages;
}

bool SameStages(const std::vector<CheckedStage>& a, const std::vector<CheckedStage>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const CheckedStage& x, const CheckedStage& y) {
        return x.name == y.name && x.pass == y.pass && x.implementation == y.implementation;
      });
}

std::optional<std::vector<CheckedStage>> ReadKnownChecks(const CacheFolder& cache,
                                                         const Json& key) {
  try {
    for (const Json& entry : EntriesIn(cache.Read(kChecksFile))) {
      if (!IsOf(entry, key)) continue;
      std::vector<CheckedStage> stages;
      for (const Json& stage : entry.at("stages")) {
        stages.push_back({.name = stage.at(0).get<std::string>(),
                          .pass = stage.at(1).get<std::string>(),
                          .implementation = stage.at(2).get<std::string>(),
                          .check = {}});
      }
      return stages;
    }
  } catch (const std::exception&) {  // a damaged entry: the checks are made again
  }
  return std::nullopt;
}

void WriteKnownChecks(const CacheFolder& cache, const Json& key,
                      const std::vector<CheckedStage>& stages) {
  const bool good = std::all_of(stages.begin(), stages.end(), [](const auto& s) {
    return s.check.agrees && !s.check.mostly_zero;
  });
  if (!good && !ReadKnownChecks(cache, key)) return;
  // (a run that cannot write says so when it remembers the machine's rates)
  cache.Update(kChecksFile, [&](const std::optional<std::string>& text) {
    Json entries = Json::array();
    if (good) {
      Json entry = {{"key", key}, {"stages", Json::array()}};
      for (const CheckedStage& stage : stages) {
        entry["stages"].push_back({stage.name, stage.pass, stage.implementation});
      }
      entries.push_back(std::move(entry));
    }
    for (Json& entry : EntriesIn(text)) {
      if (entries.size() < kMostKeys && !IsOf(entry, key)) entries.push_back(std::move(entry));
    }
    return entries.dump() + "\n";
  });
}

}  // namespace topdnn
