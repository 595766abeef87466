// `topdnn cosched`: a trace of jobs under several policies, on this machine or simulated.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/scheduling/machine_speed.h"
#include "harness/scheduling/policies.h"
#include "harness/scheduling/schedule.h"
#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"
#include "harness/scheduling/trace_generator.h"
#include "harness/text/style.h"

namespace topdnn {

struct CoschedPolicy {
  const Policy* policy = nullptr;
  std::optional<Schedule> real;       // absent: only simulated
  std::optional<Schedule> simulated;  // absent: interrupted before
  std::optional<RunSpeed> speed{};    // of the machine around the run; absent: not measured
  SpeedModel model{};                 // at that speed
  std::string doubt{};  // why the speed makes the figures doubtful; empty: it does not
  // An estimate: the makespan if the machine had the common speed of all policies.
  std::optional<double> common_makespan{};

  // The one that the report is about.
  const Schedule& shown() const { return real ? *real : *simulated; }
};

struct CoschedResult {
  std::vector<TraceJob> jobs;
  int cpus = 1;
  int part_width = 1;
  SpeedModel model;
  std::string model_source;  // "measured", "nominal", or a file
  // The share of the CPUs' time that other programs had while the model was measured.
  std::optional<double> model_others;
  std::vector<CoschedPolicy> policies;
  std::optional<double> common_speed;  // the median of those around the runs
  bool complete = true;                // false: interrupted
};

// The kinds of jobs of generated traces. The times of their steps are rough: they only set the
// lengths of the jobs.
std::span<const NominalJob> NominalJobs();

bool HaveNominalTimes(std::span<const TraceJob> kinds);

// A speed model of the nominal times, without measurement: an assumed serial share, no losses.
// Throws UsageError for a kind of job that has no nominal time.
SpeedModel NominalModel(std::span<const TraceJob> kinds);

// Why the measured times of steps are in doubt: other programs had the CPUs. One line; empty: they
// are not.
std::string ModelDoubt(const CoschedResult& result);

// Why the figures of the policy are in doubt, in one line; empty: they are not.
std::string DoubtOf(const CoschedPolicy& policy);

// The makespan; absent if the run is not complete, or a job failed: it did less than its work.
std::optional<double> WholeMakespan(const Schedule& schedule);

// The relative error of the simulated makespan: simulated / real - 1. Absent without either.
std::optional<double> SimulationError(const CoschedPolicy& policy);

// "3 cnn train": the number of the job, its network and its mode.
std::string JobLabel(const TraceJob& job, std::size_t number);

// {"schema", "command", "machine", "complete", "simulated", ..., "policies"}.
nlohmann::ordered_json CoschedJson(const CoschedResult& result);

// The policies side by side, then a timeline for each, of at most `most_jobs` jobs.
std::string CoschedText(const CoschedResult& result, std::size_t most_jobs, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_H_
