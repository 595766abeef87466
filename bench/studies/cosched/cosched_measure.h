// Measures the speed model of the jobs of a trace (harness/scheduling/speed_model.h): real jobs run
// alone at each width in turn, then several at once. And the model as JSON.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_MEASURE_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_MEASURE_H_

#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/studies/cosched/cosched_job.h"
#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

struct SpeedSettings {
  JobLaunch launch;
  std::vector<int> cpus;  // that the jobs may use
  double window_seconds = 0.25;
  int rounds = 3;  // windows at each width; the median counts
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const std::string& what, double share)> progress = {};
};

// The kinds of jobs of the trace, in the order of their first jobs.
std::vector<TraceJob> KindsOf(std::span<const TraceJob> jobs);

// 1, 2, 4, ... and `cpus`.
std::vector<int> WidthsToMeasure(int cpus);

// SpeedCurve::startup_seconds: what a job takes besides its steps. `first` is the time from the
// start of its process to the end of its first step, `last` from the start of its last step to the
// end of its process.
double StartupSeconds(double first, double last, double step);

struct MeasuredSpeed {
  SpeedModel model;
  // The share of the CPUs' time that other programs had meanwhile; absent if it is not known.
  std::optional<double> others;
};

// Throws RunFailure. Incomplete if cancelled.
MeasuredSpeed MeasureSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings);

// {"curves": [{"network", "mode", "batch", "startup_seconds", "change_seconds", "steps": [{"width",
// "seconds"}], "serial_share"}], "losses": [{"load", "efficiency"}]}
nlohmann::ordered_json SpeedModelJson(const SpeedModel& model);

// Reads it again. Throws UsageError, in one line.
SpeedModel ReadSpeedModel(const std::string& path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_MEASURE_H_
