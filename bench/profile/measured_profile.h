// Acquires the measurements that `topdnn profile` presents: from a run on this machine, or from a
// recording of an earlier run.

#ifndef TOPDNN_BENCH_PROFILE_MEASURED_PROFILE_H_
#define TOPDNN_BENCH_PROFILE_MEASURED_PROFILE_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/profile/experiments.h"
#include "bench/profile/hot_stages.h"
#include "bench/profile/plan_profile.h"
#include "bench/profile/profile_options.h"
#include "bench/profile/recorded_profile.h"
#include "bench/workload/workload.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/text/style.h"

namespace topdnn {

struct MeasuredProfile {
  Workload workload;
  PlanProfile profile;
  std::optional<FedStep> fed_step;  // if requested
  // Warm-up and measuring, without planning and checks; absent in an old recording.
  std::optional<double> measuring_seconds;
  std::vector<Ceiling> ceilings;
  std::optional<CoreRates> rates;  // absent in a recording of a version without them
  std::vector<Cache> caches;
  nlohmann::ordered_json machine;
  nlohmann::ordered_json subject;
  bool smt = false;
  std::vector<std::string> source_notes;
  std::optional<RecordedChoice> choice;          // of `auto`
  std::vector<AddExperiment> add_experiments;    // of those that were run
  std::vector<std::string> experiment_failures;  // why others were not: a line each
  bool wants_tree = true;                        // experiments were not excluded
  std::vector<std::string> warnings;             // what was asked for and is not done
  std::string denormal_note;                     // PlanDenormals
  std::vector<std::string> denormals;            // per stage; empty in a replay
  std::vector<RegionBlocks> hot_blocks;          // per stage; empty: not counted
  std::string code_names;                        // of generated code, for `hot_blocks`
};

// Sets options.variants for the backend `auto`, and returns a line about the choice, as
// ChooseInNetwork of bench/choice/ does.
using ChooseVariants = std::function<std::string(WorkloadOptions& options, bool training)>;

// Plans, checks and measures the network, with the machine's ceilings before and after. Throws
// UsageError, and NothingMeasured if --counters perf finds no PMU.
MeasuredProfile MeasureProfile(ProfileOptions options, const ChooseVariants& choose,
                               ProgressLine& progress);

// Plans the network, counts a step exactly, then checks the stages; nothing is timed. Returns
// ExactCountsJson. Throws UsageError, NothingMeasured if this machine cannot count exactly, and
// RunFailure if a stage's result is wrong.
nlohmann::ordered_json CountProfile(ProfileOptions options, ProgressLine& progress);

// Plans the network and reads the measurements from `file`; nothing is measured. Throws
// InputError.
MeasuredProfile ReplayProfile(ProfileOptions options, const std::string& file);

// Scales the counts of events that were on a counter for part of the time.
void ScaleAllCounts(PlanProfile& profile);

// Writes the raw samples to a file that ReplayProfile reads.
void WriteRecording(const MeasuredProfile& measured, const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_MEASURED_PROFILE_H_
