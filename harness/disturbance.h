// Whether other work on the machine disturbed a measurement: what is watched, and the judgement.
//
// A record is DEGRADED only when the disturbance plausibly reached its median. A median tolerates
// one preempted iteration in a hundred.

#ifndef TOPDNN_HARNESS_DISTURBANCE_H_
#define TOPDNN_HARNESS_DISTURBANCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/status.h"

namespace topdnn {

// CPU time of the whole machine since boot, in the kernel's ticks (proc(5), /proc/stat).
struct MachineTime {
  std::uint64_t stolen = 0;  // wanted by this machine, given by the hypervisor to another
  std::uint64_t wanted = 0;  // all but idle and waiting for I/O; includes the stolen time
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
// Sums over the folders of `tasks`; absent where the kernel keeps no such accounts.
std::optional<SchedulerTime> ReadSchedulerTime(
    const std::filesystem::path& tasks = "/proc/self/task");

// Involuntary context switches of every thread of the process so far.
std::int64_t InvoluntarySwitches() noexcept;

// The kernel's accounts at one moment. What it does not keep is absent.
struct KernelAccounts {
  std::optional<MachineTime> machine;
  std::optional<SchedulerTime> scheduler;
  // That the CPU quotas of this control group and those above it stopped them, summed over CPUs.
  std::optional<double> throttled_seconds;
};
KernelAccounts ReadKernelAccounts();

// What was seen around one measurement. What was not watched is absent.
struct Disturbance {
  double seconds = 0;  // that the measurement took
  std::int64_t iterations = 0;
  std::int64_t switched_iterations = 0;   // with an involuntary switch in any thread
  std::int64_t involuntary_switches = 0;  // in them
  // Median of all iterations over that of the iterations without a switch, less 1: the effect of
  // the switches on the median. Absent with fewer than kLeastUnswitched of the latter.
  std::optional<double> switched_excess;
  // Spent during the measurement.
  std::optional<MachineTime> machine_time;
  std::optional<SchedulerTime> scheduler_time;
  std::optional<double> throttled_seconds;
  std::optional<double> core_hertz_before;
  std::optional<double> core_hertz_after;
  // Speed of a probe over the best speed known of it on this machine: 1 = undisturbed. The lowest
  // of the readings around the measurement.
  std::optional<double> quiet_ratio;
};

// Adds what the accounts gained between two moments. Accounts that went backwards are left out.
void AddSpent(const KernelAccounts& before, const KernelAccounts& after, Disturbance& seen);

// Stolen time above this share of the time wanted moves a median by as much: above what two runs
// on a quiet machine differ by (1 to 2 %).
inline constexpr double kMostStolen = 0.02;
// Ticks are 10 ms, so a share of fewer stolen ticks than this is not significant.
inline constexpr std::uint64_t kLeastStolenTicks = 5;
// A core clock that moved by more than this moves compute-bound stages by as much. Turbo steps and
// the probe's own noise stay below it.
inline constexpr double kMostClockChange = 0.03;
// Up to this share of disturbed iterations leaves the median and the 90th percentile alone.
inline constexpr double kMostSwitchedIterations = 0.10;
// A long iteration meets a switch now and then without a visible effect. A switch costs at most
// about a scheduling slice of 3 ms (CFS, sched_min_granularity on a few cores). All of them
// together must be able to take more than this share of the time.
inline constexpr double kSliceSeconds = 0.003;
inline constexpr double kMostSwitchedTime = 0.02;
// Threads that wait for a CPU for more than this share of their time take as much longer, unless
// the iterations without a switch show the same median.
inline constexpr double kMostWaiting = 0.02;
// Above this share another program runs nearly all the time. It shares caches and memory with the
// iterations without a switch, too.
inline constexpr double kMostWaitingAtAll = 0.10;
// A quota that stops the threads for more than this share of the time moves the median.
inline constexpr double kMostThrottled = 0.01;
// A probe below this share means that a neighbour takes caches, memory bandwidth or issue slots.
// Probes on a quiet shared machine repeat within some 5 %.
inline constexpr double kLeastQuietRatio = 0.90;

// With so many iterations without a switch, their median is a reference. Then the effect on the
// median counts, and not the number of switches: threads of the kernel preempt for microseconds,
// another program for milliseconds.
inline constexpr std::size_t kLeastUnswitched = 10;
inline constexpr double kMostSwitchedExcess = 0.01;

// OK, or DEGRADED with every threshold that was passed.
Verdict JudgeDisturbance(const Disturbance& seen);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_DISTURBANCE_H_
