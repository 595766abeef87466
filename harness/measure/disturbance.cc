#include "harness/measure/disturbance.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "harness/machine/cgroup.h"
#include "harness/machine/thread_list.h"

namespace topdnn {

std::optional<MachineTime> ParseMachineTime(std::string_view proc_stat) {
  std::istringstream text{std::string(proc_stat)};
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("cpu ")) continue;
    std::istringstream columns(line.substr(4));
    // user nice system idle iowait irq softirq steal; guest time is within user and nice
    std::array<std::uint64_t, 8> ticks{};
    for (std::uint64_t& tick : ticks) {
      if (!(columns >> tick)) return std::nullopt;
    }
    MachineTime time;
    time.stolen = ticks[7];
    time.wanted = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
    return time;
  }
  return std::nullopt;
}

std::optional<MachineTime> ReadMachineTime() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return ParseMachineTime(line);
}

std::optional<SchedulerTime> ParseSchedulerTime(std::string_view schedstat) {
  std::istringstream columns{std::string(schedstat)};
  SchedulerTime time;
  std::uint64_t slices = 0;
  if (!(columns >> time.running >> time.waiting >> slices)) return std::nullopt;
  return time;
}

std::optional<SchedulerTime> ReadSchedulerTime(const std::filesystem::path& tasks) {
  std::optional<SchedulerTime> sum;
  std::error_code ignored;
  for (const pid_t thread : ThreadsIn(tasks, ignored)) {
    std::ifstream file(tasks / std::to_string(thread) / "schedstat");
    std::string line;
    if (!std::getline(file, line)) continue;  // the thread has ended
    const std::optional<SchedulerTime> own = ParseSchedulerTime(line);
    if (!own) continue;
    if (!sum) sum.emplace();
    sum->running += own->running;
    sum->waiting += own->waiting;
  }
  // A kernel without CONFIG_SCHED_INFO shows zeros.
  if (sum && sum->running == 0) return std::nullopt;
  return sum;
}

KernelAccounts ReadKernelAccounts() {
  KernelAccounts accounts;
  accounts.machine = ReadMachineTime();
  accounts.scheduler = ReadSchedulerTime();
  if (const auto throttling = ReadCgroupThrottling()) {
    accounts.throttled_seconds = throttling->seconds;
  }
  return accounts;
}

void AddSpent(const KernelAccounts& before, const KernelAccounts& after, Disturbance& seen) {
  if (before.machine && after.machine && after.machine->stolen >= before.machine->stolen &&
      after.machine->wanted >= before.machine->wanted) {
    seen.machine_time = MachineTime{.stolen = after.machine->stolen - before.machine->stolen,
                                    .wanted = after.machine->wanted - before.machine->wanted};
  }
  // The accounts of a thread disappear when it ends, so the sum may fall.
  if (before.scheduler && after.scheduler && after.scheduler->running > before.scheduler->running &&
      after.scheduler->waiting >= before.scheduler->waiting) {
    seen.scheduler_time =
        SchedulerTime{.running = after.scheduler->running - before.scheduler->running,
                      .waiting = after.scheduler->waiting - before.scheduler->waiting};
  }
  if (before.throttled_seconds && after.throttled_seconds &&
      *after.throttled_seconds >= *before.throttled_seconds) {
    seen.throttled_seconds = *after.throttled_seconds - *before.throttled_seconds;
  }
}

std::int64_t InvoluntarySwitches() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

namespace {

constexpr double kRounding = 1e-9;  // of differences of ratios

std::string JudgeSteal(const Disturbance& seen) {
  if (!seen.machine_time || seen.machine_time->wanted == 0) return "";
  const double share = static_cast<double>(seen.machine_time->stolen) /
                       static_cast<double>(seen.machine_time->wanted);
  if (seen.machine_time->stolen < kMinStolenTicks || share <= kMaxStolen) return "";
  return fmt::format("the hypervisor stole {:.1f} % of the CPU time", 100 * share);
}

std::string JudgeSwitches(const Disturbance& seen) {
  if (seen.iterations <= 0 || !(seen.seconds > 0)) return "";
  const double share =
      static_cast<double>(seen.switched_iterations) / static_cast<double>(seen.iterations);
  const double away = static_cast<double>(seen.involuntary_switches) * kSliceSeconds;
  if (share <= kMaxSwitchedIterations || away / seen.seconds <= kMaxSwitchedTime) return "";
  if (seen.switched_excess && *seen.switched_excess <= kMaxSwitchedExcess) return "";
  return fmt::format("{} of {} iterations were interrupted by other processes",
                     seen.switched_iterations, seen.iterations);
}

std::string JudgeWaiting(const Disturbance& seen) {
  if (!seen.scheduler_time) return "";
  const auto waiting = static_cast<double>(seen.scheduler_time->waiting);
  const double share = waiting / (waiting + static_cast<double>(seen.scheduler_time->running));
  const bool harmless = seen.switched_excess && *seen.switched_excess <= kMaxSwitchedExcess;
  if (share <= (harmless ? kMaxWaitingAtAll : kMaxWaiting)) return "";
  return fmt::format("its threads waited for a CPU for {:.0f} % of their time", 100 * share);
}

std::string JudgeThrottling(const Disturbance& seen) {
  if (!seen.throttled_seconds || !(*seen.throttled_seconds > 0)) return "";
  // Both are sums: over the CPUs that were stopped, and over the threads that ran.
  const double ran =
      seen.scheduler_time ? 1e-9 * static_cast<double>(seen.scheduler_time->running) : seen.seconds;
  const double share = *seen.throttled_seconds / (*seen.throttled_seconds + ran);
  if (share <= kMaxThrottled) return "";
  return fmt::format("the CPU quota of the control group stopped it for {:.0f} % of the time",
                     100 * share);
}

// What the clock at both ends of the run says. The pace includes the clock around each sample.
double ClockChange(const Speeds& speeds) {
  return speeds.by_pace ? 0 : speeds.clock_change.value_or(0);
}

std::string JudgeClock(const Speeds& speeds, const Interval& memory_share) {
  const double change = ClockChange(speeds);
  if (std::abs(change) * (1 - memory_share.low) <= kMaxClockChange) return "";
  return fmt::format("the core clock moved by {:+.1f} %", 100 * change);
}

std::string SlowProbe(std::string_view what, double share) {
  return fmt::format("{} ran at {:.0f} % of the best known speed of this machine", what,
                     100 * share);
}

std::string JudgeQuiet(const Disturbance& seen) {
  if (!seen.quiet_ratio || *seen.quiet_ratio >= kMinQuietRatio) return "";
  return SlowProbe("a probe", *seen.quiet_ratio);
}

bool MemoryMoved(const Speeds& speeds) {
  return speeds.memory && *speeds.memory < 1 - kMaxMemoryLoss;
}

}  // namespace

Speeds SpeedsAround(const Disturbance& seen) {
  Speeds speeds = {.clock_change = {},
                   .arithmetic = seen.arithmetic_ratio,
                   .memory = seen.memory_ratio,
                   .by_pace = seen.by_pace};
  if (seen.core_hertz_before && seen.core_hertz_after && *seen.core_hertz_before > 0) {
    speeds.clock_change = *seen.core_hertz_after / *seen.core_hertz_before - 1;
  }
  return speeds;
}

Interval InfluenceOf(const Speeds& speeds, const Interval& memory_share) {
  const double busy = 1 - memory_share.low;
  const double change = std::abs(ClockChange(speeds));
  const double slower = std::max(change, 1 - speeds.arithmetic.value_or(1));
  const double memory = MemoryMoved(speeds) ? 1 - *speeds.memory : 0;
  return {.low = std::max(0.0, 1 - busy * slower - memory_share.high * memory),
          .high = 1 + busy * change};
}

Verdict JudgeSpeeds(const Speeds& speeds, const Interval& memory_share) {
  Verdict verdict;
  const auto degrade = [&verdict](const std::string& reason) {
    if (!reason.empty()) Worsen(verdict, Status::kDegraded, reason);
  };
  degrade(JudgeClock(speeds, memory_share));
  const double least = speeds.by_pace ? kMinPace : kMinQuietRatio;
  if (const double slow = 1 - speeds.arithmetic.value_or(1);
      slow * (1 - memory_share.low) > 1 - least + kRounding) {
    degrade(SlowProbe(speeds.by_pace ? "the cores" : "a probe of arithmetic", *speeds.arithmetic));
  }
  if (MemoryMoved(speeds) && (1 - *speeds.memory) * memory_share.high > kMaxMemoryInfluence) {
    degrade(SlowProbe("a probe of memory", *speeds.memory));
  }
  return verdict;
}

Verdict JudgeWholeRun(const Disturbance& seen) {
  Verdict verdict;
  if (seen.judged) return verdict;
  for (const std::string& reason : {JudgeSteal(seen), JudgeSwitches(seen), JudgeWaiting(seen),
                                    JudgeThrottling(seen), JudgeQuiet(seen)}) {
    if (!reason.empty()) Worsen(verdict, Status::kDegraded, reason);
  }
  return verdict;
}

Verdict JudgeDisturbance(const Disturbance& seen) {
  Verdict verdict = JudgeWholeRun(seen);
  const Verdict speeds = JudgeSpeeds(SpeedsAround(seen), {.low = 0, .high = 1});
  if (speeds.status != Status::kOk) Worsen(verdict, speeds.status, speeds.reason);
  return verdict;
}

}  // namespace topdnn
