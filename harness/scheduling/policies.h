// Co-scheduling policies: which jobs run, and how wide. Each is a pure function, which the
// simulator and the real scheduler both call at each arrival, at each end of a job, and when the
// number of CPUs changes.

#ifndef TOPDNN_HARNESS_SCHEDULING_POLICIES_H_
#define TOPDNN_HARNESS_SCHEDULING_POLICIES_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "harness/scheduling/trace.h"

namespace topdnn {

inline constexpr int kNoPart = -1;

// The width of a job. 0: it waits.
struct JobWidth {
  int width = 0;
  int part = kNoPart;  // of a static partition

  bool operator==(const JobWidth&) const = default;
};

// A job that has arrived and has not ended.
struct QueuedJob {
  std::size_t job = 0;  // its number in the trace
  int priority = 0;
  int min_width = 1, max_width = 1;
  JobWidth now = {};  // what it has at present
};

// Inserts job number `job`. The order of the queue: by priority, then by number.
void Enqueue(std::size_t job, const TraceJob& description, std::vector<QueuedJob>& queue);

struct QueueState {
  int cpus = 1;
  int part_width = 1;  // CPUs of a part of a static partition
  // In the order of the queue. The numbers of a trace's jobs ascend with their arrivals.
  std::span<const QueuedJob> jobs;
};

struct Policy {
  std::string_view name;
  std::string_view what;
  std::string_view source;
  // Whether each job has CPUs that no other job has. False: all jobs use all CPUs.
  bool own_cpus = true;
  // A width for each job of the state, in its order. A job that runs cannot be paused: its width is
  // at least its minimum. A width is at most the job's maximum. If a policy has own CPUs, the sum
  // of the widths is at most the CPUs. After a loss of CPUs it can be more: the jobs that run keep
  // their minimum widths, and fcfs does not change a width.
  std::vector<JobWidth> (*decide)(const QueueState& state) = nullptr;
};

// "fcfs", "uncontrolled", "static", "proportional", "equal".
std::span<const Policy> Policies();

// Null if there is none of that name.
const Policy* FindPolicy(std::string_view name);

struct WidthDemand {
  double weight = 1;
  int least = 1, most = 1;
};
// Divides `cpus` in proportion to the weights, each width within its limits, as whole numbers. The
// sum is `cpus`, or the sum of the maximum widths if that is less, or of the minimum widths if that
// is more. The limits are handled as in the CSS flexible box layout (section 9.7): while a width is
// outside its limits, the widths that violate the limits with the larger total are fixed at them.
// The CPUs that rounding down leaves go to the largest remainders, in order. Throws nothing.
std::vector<int> DivideCpus(int cpus, std::span<const WidthDemand> jobs);

// The CPUs of a part that a static partition has by default: half of the mean maximum width,
// rounded up, but at least the largest minimum width.
int DefaultPartWidth(std::span<const WidthDemand> jobs);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_POLICIES_H_
