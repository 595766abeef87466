// Simulates a policy on a trace: event driven, with a speed model. A job's work is the time of its
// start, of its changes of width, and of its steps; between two events its speed is constant. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_SIMULATOR_H_
#define TOPDNN_HARNESS_SCHEDULING_SIMULATOR_H_

#include <cstddef>
#include <span>
#include <vector>

#include "harness/scheduling/policies.h"
#include "harness/scheduling/schedule.h"
#include "harness/scheduling/speed_model.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

struct SimulatorSettings {
  int cpus = 1;
  int part_width = 1;         // QueueState::part_width
  bool keep_segments = true;  // JobRun::segments
};

// For each job, the index of the model's curve of the same network, pass and batch. Throws
// std::invalid_argument if one is missing, with its name.
std::vector<std::size_t> CurvesOf(std::span<const TraceJob> jobs, const SpeedModel& model);

// Seconds of a job alone at a width, with its start.
double SecondsAlone(const TraceJob& job, const SpeedCurve& curve, int width);

// `jobs` ascend by their arrival. Throws std::invalid_argument for a missing curve.
Schedule Simulate(std::span<const TraceJob> jobs, const SpeedModel& model, const Policy& policy,
                  const SimulatorSettings& settings);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_SIMULATOR_H_
