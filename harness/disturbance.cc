#include "harness/disturbance.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <fstream>
#include <sstream>

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

std::int64_t InvoluntarySwitches() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

namespace {

std::string JudgeSteal(const Disturbance& seen) {
  if (!seen.machine_time || seen.machine_time->wanted == 0) return "";
  const double share = static_cast<double>(seen.machine_time->stolen) /
                       static_cast<double>(seen.machine_time->wanted);
  if (seen.machine_time->stolen < kLeastStolenTicks || share <= kMostStolen) return "";
  return fmt::format("the hypervisor stole {:.1f} % of the CPU time", 100 * share);
}

std::string JudgeSwitches(const Disturbance& seen) {
  if (seen.iterations <= 0 || !(seen.seconds > 0)) return "";
  const double share =
      static_cast<double>(seen.switched_iterations) / static_cast<double>(seen.iterations);
  const double away = static_cast<double>(seen.involuntary_switches) * kSliceSeconds;
  if (share <= kMostSwitchedIterations || away / seen.seconds <= kMostSwitchedTime) return "";
  if (seen.switched_excess && *seen.switched_excess <= kMostSwitchedExcess) return "";
  return fmt::format("{} of {} iterations were interrupted by other processes",
                     seen.switched_iterations, seen.iterations);
}

std::string JudgeClock(const Disturbance& seen) {
  if (!seen.core_hertz_before || !seen.core_hertz_after || !(*seen.core_hertz_before > 0)) {
    return "";
  }
  const double change = *seen.core_hertz_after / *seen.core_hertz_before - 1;
  if (std::abs(change) <= kMostClockChange) return "";
  return fmt::format("the core clock moved by {:+.1f} % (from {:.2f} to {:.2f} GHz)", 100 * change,
                     *seen.core_hertz_before * 1e-9, *seen.core_hertz_after * 1e-9);
}

std::string JudgeQuiet(const Disturbance& seen) {
  if (!seen.quiet_ratio || *seen.quiet_ratio >= kLeastQuietRatio) return "";
  return fmt::format("a probe ran at {:.0f} % of its speed on the quiet machine",
                     100 * *seen.quiet_ratio);
}

}  // namespace

Verdict JudgeDisturbance(const Disturbance& seen) {
  Verdict verdict;
  for (const std::string& reason :
       {JudgeSteal(seen), JudgeSwitches(seen), JudgeClock(seen), JudgeQuiet(seen)}) {
    if (reason.empty()) continue;
    verdict.status = Status::kDegraded;
    verdict.reason += (verdict.reason.empty() ? "" : "; ") + reason;
  }
  return verdict;
}

}  // namespace topdnn
