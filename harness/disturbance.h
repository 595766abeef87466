// Whether the machine disturbed a measurement: what is watched around it, and the judgement.
//
// A record is DEGRADED only when the disturbance plausibly reached the medians. One preempted
// iteration in a hundred is what the median is for.

#ifndef TOPDNN_HARNESS_DISTURBANCE_H_
#define TOPDNN_HARNESS_DISTURBANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/status.h"

namespace topdnn {

// CPU time of the whole machine since boot, in the kernel's ticks (proc(5), /proc/stat).
struct MachineTime {
  std::uint64_t stolen = 0;  // wanted by this machine, given by the hypervisor to another
  std::uint64_t wanted = 0;  // all but idle and waiting for I/O; with the stolen
};

// From the text of /proc/stat; absent when it lacks the line `cpu` or its column `steal`.
std::optional<MachineTime> ParseMachineTime(std::string_view proc_stat);
std::optional<MachineTime> ReadMachineTime();

// Involuntary context switches of every thread of the process so far.
std::int64_t InvoluntarySwitches() noexcept;

// What was seen around one measurement. What was not watched is absent.
struct Disturbance {
  double seconds = 0;  // that the measurement took
  std::int64_t iterations = 0;
  std::int64_t switched_iterations = 0;   // with an involuntary switch in any thread
  std::int64_t involuntary_switches = 0;  // in them
  // Median of all iterations over that of the unswitched ones, less 1: what the switches really did
  // to the median. Absent with fewer than kLeastUnswitched of those.
  std::optional<double> switched_excess;
  std::optional<MachineTime> machine_time;  // spent during the measurement
  std::optional<double> core_hertz_before;
  std::optional<double> core_hertz_after;
  // Speed of a probe now against the same probe on the quiet machine: 1 = undisturbed; the worst.
  std::optional<double> quiet_ratio;
};

// Stolen time above this share of the time wanted moves a median by as much: above what two runs
// on a quiet machine differ by (1 to 2 %).
inline constexpr double kMostStolen = 0.02;
// Ticks are 10 ms, so fewer stolen ones than this are no measure of a share.
inline constexpr std::uint64_t kLeastStolenTicks = 5;
// A core clock that moved by more than this moves compute-bound stages by as much; turbo steps and
// the probe's own noise stay below it.
inline constexpr double kMostClockChange = 0.03;
// Up to this share of disturbed iterations leaves the median and the 90th percentile alone.
inline constexpr double kMostSwitchedIterations = 0.10;
// ... but a long iteration meets a switch now and then without suffering. One costs at most about a
// scheduling slice of 3 ms (CFS, sched_min_granularity on a few cores); all of them together must
// be able to take more than this share of the time.
inline constexpr double kSliceSeconds = 0.003;
inline constexpr double kMostSwitchedTime = 0.02;
// A probe slower than this means that a neighbour takes caches, memory bandwidth or issue slots;
// probes on a quiet shared machine repeat within some 5 %.
inline constexpr double kLeastQuietRatio = 0.90;

// Unswitched iterations whose median can be believed; with so many, what counts is by how much the
// switches moved the median, not how many they were: the kernel's own threads preempt for
// microseconds, another program for milliseconds.
inline constexpr std::size_t kLeastUnswitched = 10;
inline constexpr double kMostSwitchedExcess = 0.01;

// OK, or DEGRADED with every threshold that was passed.
Verdict JudgeDisturbance(const Disturbance& seen);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_DISTURBANCE_H_
