// Decides whether other work on the machine disturbed a measurement: what is observed around it,
// and the verdict.
//
// What can be distinguished is judged sample by sample (undisturbed.h). What is left is what moved
// during the whole measurement: the clock, the speed of arithmetic, the speed of memory. Each
// condemns only the regions that depend on it.

#ifndef TOPDNN_HARNESS_MEASURE_DISTURBANCE_H_
#define TOPDNN_HARNESS_MEASURE_DISTURBANCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "harness/probes/quiet.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/status.h"

namespace topdnn {

// CPU time of the whole machine since boot, in the kernel's ticks (proc(5), /proc/stat).
struct MachineTime {
  std::uint64_t stolen = 0;  // requested by this machine, given by the hypervisor to another
  std::uint64_t wanted = 0;  // all time except idle and waiting for I/O; includes the stolen time
};

// From the text of /proc/stat; absent when it lacks the line `cpu` or its column `steal`.
std::optional<MachineTime> ParseMachineTime(std::string_view proc_stat);
std::optional<MachineTime> ReadMachineTime();

// Time of all threads of the process since they started, in nanoseconds (the Linux kernel's
// Documentation/scheduler/sched-stats.rst, /proc/PID/task/TID/schedstat).
struct SchedulerTime {
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;  // ready to run, while another thread had the CPU
};

// Of one thread, from the text of its schedstat; absent when that is not three numbers.
std::optional<SchedulerTime> ParseSchedulerTime(std::string_view schedstat);
// Sums over the folders of `tasks`; absent if the kernel does not keep these accounts.
std::optional<SchedulerTime> ReadSchedulerTime(
    const std::filesystem::path& tasks = "/proc/self/task");

// Involuntary context switches of every thread of the process so far.
std::int64_t InvoluntarySwitches() noexcept;

// The kernel's accounts at one moment. Accounts that it does not keep are absent.
struct KernelAccounts {
  std::optional<MachineTime> machine;
  std::optional<SchedulerTime> scheduler;
  // Time for which the CPU quotas of this control group and its parents stopped the threads, summed
  // over CPUs.
  std::optional<double> throttled_seconds;
};
KernelAccounts ReadKernelAccounts();

// The observations around one measurement. Those that were not made are absent.
struct Disturbance {
  double seconds = 0;  // duration of the measurement
  std::int64_t iterations = 0;
  std::int64_t switched_iterations = 0;   // with an involuntary switch in any thread
  std::int64_t involuntary_switches = 0;  // in them
  // Median of all iterations over that of the iterations without a switch, less 1: the effect of
  // the switches on the median. Absent with fewer than kMinUnswitched of the latter.
  std::optional<double> switched_excess;
  // Spent during the measurement.
  std::optional<MachineTime> machine_time;
  std::optional<SchedulerTime> scheduler_time;
  std::optional<double> throttled_seconds;
  std::optional<double> core_hertz_before;
  std::optional<double> core_hertz_after;
  // The samples were judged one by one. False in recordings of earlier versions.
  bool judged = false;
  // Speeds of the probes around the kept samples of the step, divided by their best known speeds on
  // this machine: 1 = undisturbed (SpeedsOf).
  std::optional<double> arithmetic_ratio;
  std::optional<double> memory_ratio;
  bool by_pace = false;  // see Speeds
  // The lower of both, in recordings of earlier versions.
  std::optional<double> quiet_ratio;
};

// What moved around a measurement.
struct Speeds {
  std::optional<double> clock_change;  // of the core clock, after / before - 1
  std::optional<double> arithmetic;    // as Disturbance::arithmetic_ratio
  std::optional<double> memory;        // as Disturbance::memory_ratio
  bool by_pace = false;  // `arithmetic` is the cores' pace around each sample (CorePace)
};
Speeds SpeedsAround(const Disturbance& seen);

// Adds the differences of the accounts between two moments. Accounts that went backwards are left
// out.
void AddSpent(const KernelAccounts& before, const KernelAccounts& after, Disturbance& seen);

// Stolen time above this share of the requested time changes a median by the same share, which
// exceeds the difference between two runs on a quiet machine (1 to 2 %).
inline constexpr double kMaxStolen = 0.02;
// Ticks are 10 ms, so a share of fewer stolen ticks than this is not significant.
inline constexpr std::uint64_t kMinStolenTicks = 5;
// A change of the core clock above this share changes compute-bound stages by the same share. Turbo
// steps and the probe's own noise stay below it.
inline constexpr double kMaxClockChange = 0.03;
// Disturbed iterations up to this share do not affect the median and the 90th percentile.
inline constexpr double kMaxSwitchedIterations = 0.10;
// A long iteration may include a switch without a visible effect. A switch costs at most about a
// scheduling slice of 3 ms (CFS, sched_min_granularity on a few cores). The switches count as a
// disturbance only if together they can take more than this share of the time.
inline constexpr double kSliceSeconds = 0.003;
inline constexpr double kMaxSwitchedTime = 0.02;
// Threads that wait for a CPU for more than this share of their time take longer by the same share,
// unless the iterations without a switch have the same median.
inline constexpr double kMaxWaiting = 0.02;
// Above this share another program runs almost all the time. It then also shares caches and memory
// with the iterations without a switch.
inline constexpr double kMaxWaitingAtAll = 0.10;
// A quota that stops the threads for more than this share of the time changes the median.
inline constexpr double kMaxThrottled = 0.01;
// A probe below this share means that a neighbour uses caches, memory bandwidth or issue slots.
// Probes on a quiet shared machine repeat within about 5 %.
inline constexpr double kMinQuietRatio = 0.90;

// With at least this many iterations without a switch, their median is a reference. The effect on
// the median then decides, not the number of switches: kernel threads preempt for microseconds,
// other programs for milliseconds.
inline constexpr std::size_t kMinUnswitched = 10;
inline constexpr double kMaxSwitchedExcess = 0.01;

inline constexpr double kMaxMemoryLoss = kMemoryNoise;
// Slow memory changes the time of a region by its loss times the share of the time that the region
// waits for memory. A smaller change is in the interval of its time.
inline constexpr double kMaxMemoryInfluence = 0.10;

// By which factors the speeds may have changed the time of a region that waits for memory for
// `memory_share` of it: its time at the best speeds is in [low, high] times the measured one.
Interval InfluenceOf(const Speeds& speeds, const Interval& memory_share);

// DEGRADED if the speeds that the region depends on moved: the clock and arithmetic matter for the
// time without waits for memory, memory for the waits. `memory_share` is [0, 1] if nothing is
// known.
Verdict JudgeSpeeds(const Speeds& speeds, const Interval& memory_share);

// The verdict on what is not judged sample by sample. For recordings of earlier versions: of every
// observation, for any region.
Verdict JudgeWholeRun(const Disturbance& seen);

// Both, for a region of which nothing is known.
Verdict JudgeDisturbance(const Disturbance& seen);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_DISTURBANCE_H_
