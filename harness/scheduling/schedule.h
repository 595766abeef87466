// What happened to the jobs of a trace, in a simulation or on the machine, and its metrics. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_SCHEDULE_H_
#define TOPDNN_HARNESS_SCHEDULING_SCHEDULE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

// A time in which a job has one width.
struct WidthSegment {
  double begin = 0, end = 0;  // seconds
  int width = 0;
};

struct JobRun {
  double arrival = 0;  // seconds, as all times here
  std::optional<double> begin{}, end{};
  std::vector<WidthSegment> segments{};
  std::optional<double> alone{};  // at its maximum width, without other jobs
  std::string failure{};          // why it has no result; empty: it has one
};

struct Schedule {
  std::vector<JobRun> jobs;
  double cpus = 0;         // the mean number of CPUs
  double cpu_seconds = 0;  // that the jobs used
  bool complete = true;    // every job has ended, with or without a result
  // The share of the CPUs' time that other programs had, and the host of a virtual machine. Absent
  // in a simulation, and where it is not known.
  std::optional<double> others{};
};

std::optional<double> WaitOf(const JobRun& run);
std::optional<double> ServiceOf(const JobRun& run);
std::optional<double> TurnaroundOf(const JobRun& run);
// Turnaround, divided by the time alone at the maximum width. Absent for a job that failed.
std::optional<double> SlowdownOf(const JobRun& run);

// Other programs with more than this share of the CPUs' time make figures doubtful.
inline constexpr double kMostOthers = 0.05;

// Why other programs make the times doubtful; empty: they do not.
std::string DisturbanceOf(const Schedule& schedule);

// Means are of the jobs that have a result; absent if there are none.
struct ScheduleMetrics {
  std::size_t done = 0, failed = 0;
  std::optional<double> makespan;  // from the first arrival to the last end
  std::optional<double> wait, service, turnaround;
  std::optional<double> mean_slowdown, max_slowdown;
  // The smallest alone / turnaround divided by the largest (harness/sharing/group_metrics.h).
  std::optional<double> fairness;
  std::optional<double> cpu_use;          // share of the CPUs' time
  std::optional<double> jobs_per_minute;  // with a result
};
ScheduleMetrics MetricsOf(const Schedule& schedule);

// A row for each of the first `most` jobs, at most `columns` wide: its label, then the time from
// the first arrival to the last end. Each column shows the width that the job has for most of the
// column's time: 1 to 9, then a to z for 10 to 35, then +; '.' while it waits.
std::string TimelineText(const Schedule& schedule, std::span<const std::string> labels,
                         std::size_t most, std::size_t columns);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_SCHEDULE_H_
