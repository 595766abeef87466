// Runs the jobs of a trace on this machine under a policy of harness/scheduling/policies.h.

#ifndef TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_RUN_H_
#define TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_RUN_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "bench/studies/cosched/cosched_job.h"
#include "harness/scheduling/policies.h"
#include "harness/scheduling/schedule.h"
#include "harness/scheduling/trace.h"

namespace topdnn {

struct CoschedRunSettings {
  JobLaunch launch;
  int part_width = 1;                              // QueueState::part_width
  std::function<std::vector<int>()> cpus;          // that may be used now; never empty
  const std::atomic<bool>* cancel = nullptr;       // ends all jobs
  std::function<void(std::size_t done)> progress;  // jobs that have ended
};

// The CPUs that this process may use: first one CPU of each core, then the others.
std::vector<int> UsableCpus();

// Arrival, begin and end of each job, in seconds since the call, and its widths as they were
// decided. `JobRun::alone` stays absent. A job that fails has a reason, and the others continue.
// Throws std::system_error.
Schedule RunSchedule(std::span<const TraceJob> jobs, const Policy& policy,
                     const CoschedRunSettings& settings);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COSCHED_COSCHED_RUN_H_
