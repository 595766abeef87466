// Runs steps that are fed by their input pipeline, as in training, and times the parts of each.

#ifndef TOPDNN_BENCH_PROFILE_FED_STEPS_H_
#define TOPDNN_BENCH_PROFILE_FED_STEPS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "bench/workload/input_options.h"
#include "bench/workload/workload.h"
#include "harness/results/fed_step.h"

namespace topdnn {

// The readings of the clock in one step, in the order in which they are taken.
struct FedStepMarks {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;     // the end of the previous step
  Clock::time_point arrived;   // the batch is there
  Clock::time_point computes;  // the first stage starts
  Clock::time_point computed;  // the last stage has ended

  // The times of the step's parts. `end` is the end of the step.
  FedStepTimes Until(Clock::time_point end) const;
};

struct FedStepSettings {
  std::optional<std::int64_t> iterations;
  double seconds = 5.0;  // of timed steps, without iterations
  const std::atomic<bool>* cancel = nullptr;
};

// Warms up, then times `iterations` steps, or, without them, at least three steps for `seconds`. A
// cancellation leaves fewer steps; absent if it leaves none. Throws DatasetError, and
// std::runtime_error if a library's call failed in a kernel (kernels/kernel/run_failure.h).
std::optional<FedStep> MeasureFedSteps(const WorkloadOptions& options, const InputOptions& input,
                                       const Placement& placement, const Workload& workload,
                                       const FedStepSettings& settings);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_FED_STEPS_H_
