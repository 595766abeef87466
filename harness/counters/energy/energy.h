// Energy that the CPU's packages, cores and memory consumed, as the CPU counts it (Intel's and
// AMD's RAPL): through perf's PMU `power`, or the files of powercap (Linux,
// Documentation/power/powercap/powercap.rst). For whole packages, including other programs. Never
// from a rated power.

#ifndef TOPDNN_HARNESS_COUNTERS_ENERGY_ENERGY_H_
#define TOPDNN_HARNESS_COUNTERS_ENERGY_ENERGY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_event.h"
#include "harness/counters/source.h"
#include "harness/counters/sysfs_pmu.h"

namespace topdnn {

inline constexpr const char* kPowercap = "/sys/class/powercap";

// The events, in joules. Idle: what the packages consume in the same time without the workload, as
// measured when the source was opened.
inline constexpr std::array<std::string_view, 4> kEnergyEvents = {"energy/package", "energy/cores",
                                                                  "energy/dram", "energy/idle"};

// The CPU updates its counts about every ms (Intel SDM volume 3, 15.10.3): a shorter region is not
// counted, because its count would be off by more than a tenth.
inline constexpr double kLeastEnergySeconds = 0.01;

struct EnergySetting {
  PerfSyscalls calls = PerfSyscalls::Real();
  PerfSurroundings surroundings;
  std::string sysfs = kSysfsPmus;
  std::string powercap = kPowercap;
  std::function<void()> idle;            // lets the time pass in which idle is measured
  std::function<std::uint64_t()> clock;  // ns
  static EnergySetting Here();
};

struct OpenedEnergy {
  std::unique_ptr<CounterSource> source;  // nullptr: see `availability`
  Availability availability;
};

// The source `energy`. An event that no counter of this machine counts is absent.
OpenedEnergy OpenEnergy(const EnergySetting& setting);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_ENERGY_ENERGY_H_
