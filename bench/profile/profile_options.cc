#include "bench/profile/profile_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/nearest.h"
#include "bench/profile/experiments.h"
#include "bench/profile/meter_energy.h"
#include "bench/workload/network_source.h"
#include "harness/files/atomic_file.h"
#include "harness/report/registry.h"

namespace topdnn {

namespace {

void CheckExperiment(const ProfileOptions& options, const std::string& name) {
  CheckName("experiment", name, ExperimentNames());
  const ProfileExperiment& experiment = *FindExperiment(name);
  std::vector<std::string> regimes;
  for (const Regime regime : experiment.regimes) {
    regimes.push_back(RegimeNames().at(static_cast<std::size_t>(regime)));
  }
  if (std::find(regimes.begin(), regimes.end(), options.regime) == regimes.end()) {
    throw UsageError(fmt::format("--experiment {}: takes --regime {}, not {}", experiment.name,
                                 fmt::join(regimes, " or "), options.regime));
  }
  if (!ReplayedFile(options.counters).empty()) {
    throw UsageError(
        "--experiment: nothing runs when a recording is replayed: run without replay:FILE");
  }
  if (options.no_experiments) {
    throw UsageError(
        fmt::format("--experiment {} and --no-experiments: take one of them", experiment.name));
  }
}

// `counted`: what `option` counts.
void CheckCountedExactly(const ProfileOptions& options, const char* option, const char* counted) {
  if (options.counters == "auto" || options.counters == "exact") return;
  throw UsageError(fmt::format("{}: the {} are counted exactly: take --counters exact, not {}",
                               option, counted, options.counters));
}

void CheckExactBaseline(const ProfileOptions& options) {
  const bool other_file = std::any_of(options.files.begin(), options.files.end(),
                                      [](const auto& file) { return !file.second.empty(); });
  if (other_file || !options.record.empty() || options.hot || !options.experiments.empty()) {
    throw UsageError(
        "--exact-baseline: only counts, and writes this file alone: leave out the other files, "
        "--hot and --experiment");
  }
  CheckCountedExactly(options, "--exact-baseline", "stages");
  if (options.workload.backend == kAutoBackend) {
    throw UsageError(
        "--exact-baseline: --backend auto chooses kernels by their times, so another run may count "
        "others: name a backend");
  }
}

}  // namespace

bool ProfileOptions::default_experiments() const {
  return !no_experiments && counters != "clock" && counters != "none" &&
         ReplayedFile(counters).empty();
}

std::vector<std::string> ProfileOptions::Outputs() const {
  std::vector<std::string> paths = {record, exact_baseline};
  for (const auto& [name, path] : files) paths.push_back(path);
  return paths;
}

StageTableOptions StageTableOf(const ProfileOptions& options) {
  StageTableOptions table = options.console.stages;
  if (!table.sort.empty()) CheckName("order for --sort", table.sort, StageSortNames());
  if (options.top && *options.top < 1) {
    throw UsageError(fmt::format("--top {}: must be 1 or more", *options.top));
  }
  if (options.top) table.top = static_cast<std::size_t>(*options.top);
  table.columns = SplitAtCommas(options.columns);
  for (const std::string& column : table.columns) {
    CheckName("column", column, StageColumnNames());
  }
  return table;
}

Regime RegimeOf(const std::string& name) {
  const std::vector<std::string> names = RegimeNames();
  CheckName("regime", name, names);
  return static_cast<Regime>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::string ReplayedFile(const std::string& counters) {
  constexpr std::string_view kReplay = "replay:";
  return counters.starts_with(kReplay) ? counters.substr(kReplay.size()) : "";
}

void TakeExports(ProfileOptions& options) {
  std::vector<std::string> formats;
  for (const FileReport& file : FileReports()) formats.push_back(file.name);
  for (const std::string& word : options.exports) {
    const std::size_t equals = word.find('=');
    CheckName("format for --export", word.substr(0, equals), formats);
    if (equals == std::string::npos || equals + 1 == word.size()) {
      throw UsageError(fmt::format("--export {}: lacks the file; write FORMAT=FILE", word));
    }
    std::string& path = options.files[word.substr(0, equals)];
    if (!path.empty()) {
      throw UsageError(fmt::format("--export {}: {} is written to {} already", word,
                                   word.substr(0, equals), path));
    }
    path = word.substr(equals + 1);
  }
  options.exports.clear();
}

void CheckOptions(const ProfileOptions& options) {
  if (options.train && options.infer) {
    throw UsageError("--train and --infer: take one of them");
  }
  RegimeOf(options.regime);
  if (options.iterations && *options.iterations < 1) {
    throw UsageError(fmt::format("--iterations {}: must be 1 or more", *options.iterations));
  }
  for (const std::string& name : options.experiments) CheckExperiment(options, name);
  if (options.hot && !ReplayedFile(options.counters).empty()) {
    throw UsageError("--hot: nothing runs when a recording is replayed: run without replay:FILE");
  }
  if (options.hot) CheckCountedExactly(options, "--hot", "loops");
  if (!options.exact_baseline.empty()) CheckExactBaseline(options);
  CheckInputOptions(options.input);
  if (!options.energy.empty()) {
    if (!ReplayedFile(options.counters).empty()) {
      throw UsageError("--energy: a recording was not metered; leave out replay");
    }
    CheckMeterFile(options.energy);
  }
  if (!(options.seconds > 0)) throw UsageError("--seconds: must be above 0");
  if (!options.wait_quiet.empty()) ParseDuration("--wait-quiet", options.wait_quiet);
  StageTableOf(options);
  auto inputs = InputFiles(options.workload.network, options.workload.weights);
  inputs.push_back(ReplayedFile(options.counters));
  inputs.push_back(options.energy);
  CheckOutputs(options.Outputs(), inputs);
}

}  // namespace topdnn
