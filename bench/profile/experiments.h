// The experiments of `topdnn profile --experiment NAME`. Each one's file registers it, so adding an
// experiment means adding one file.

#ifndef TOPDNN_BENCH_PROFILE_EXPERIMENTS_H_
#define TOPDNN_BENCH_PROFILE_EXPERIMENTS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/profile/limits/stage_bounds.h"
#include "bench/profile/plan_profile.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/experiments/interleaved.h"
#include "harness/machine/topology.h"
#include "harness/results/record.h"
#include "networks/plan/plan.h"

namespace topdnn {

// What an experiment runs on: the plan of a profile, which is ready to run.
struct ExperimentSubject {
  const WorkloadOptions& options;
  bool training;
  Plan& plan;
  TrainingImages& images;
  const Topology& topology;
  const ProfileSettings& settings;
  bool by_default = false;  // it was not asked for, so it takes no more time than the settings say
};

// Adds an experiment's results to the records of a report, after the validity pass: a record
// without a valid time gets none.
using AddExperiment = std::function<void(const BoundsMachine& machine, Report& report)>;

struct ProfileExperiment {
  std::string name;
  std::string help;  // what it answers, and how
  std::vector<Regime> regimes;
  // Called once the plan is allocated, before anything is measured. Throws NothingMeasured if this
  // machine cannot run the experiment, and UsageError if the options do not allow it.
  void (*check)(const ExperimentSubject& subject);
  // Takes about twice the time of the profile's timed steps. Throws ExperimentError.
  AddExperiment (*run)(const ExperimentSubject& subject);
  // Runs without being asked for, where the machine and the options allow it.
  bool by_default = false;
};

// Throws std::logic_error if an experiment of that name is registered.
class ExperimentRegistration {
 public:
  explicit ExperimentRegistration(ProfileExperiment experiment);
};

// RunInterleaved for about twice the time of the subject's timed steps; `waited` as of
// RoundOptions.
ConditionTimes RunRounds(const ExperimentSubject& subject, std::span<const Condition> conditions,
                         ConditionTimes& waited);

// The undisturbed rounds of one record.
struct RecordRounds {
  std::vector<std::size_t> rounds;
  std::vector<std::vector<double>> seconds;  // by condition, in these rounds
  std::string why_not;                       // WhyNoResult
};
using AddRecord = std::function<void(std::size_t stage, const RecordRounds& own, Record& record)>;
// Calls `add` for each stage and, with the number of stages, for the step.
void AddRounds(const ConditionTimes& times, const ConditionTimes& waited, Report& report,
               const AddRecord& add);
// Why the record may have no result: "the record is FAILED"; or empty.
std::string WhyNoResult(const Record& record);

// Sorted by name.
const std::vector<ProfileExperiment>& ProfileExperiments();
std::vector<std::string> ExperimentNames();
// The experiments to run. Those on request must be possible: throws as their `check` does. One by
// default that is not possible is left out, with a line in `left_out` that says why.
std::vector<const ProfileExperiment*> ChosenExperiments(const std::vector<std::string>& requested,
                                                        bool by_default,
                                                        const ExperimentSubject& subject,
                                                        std::vector<std::string>& left_out);
// "memory: how much ...; width: ...".
std::string ExperimentsHelp();
// nullptr if there is none of this name.
const ProfileExperiment* FindExperiment(const std::string& name);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_EXPERIMENTS_H_
