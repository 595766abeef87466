// The counter source `perf`: what the metrics asked for need on this core, planned over the
// counters that are really free, and one answer to why not.

#ifndef TOPDNN_HARNESS_TOPDOWN_PERF_EVENTS_H_
#define TOPDNN_HARNESS_TOPDOWN_PERF_EVENTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_event.h"
#include "harness/counters/source.h"
#include "harness/counters/sysfs_pmu.h"
#include "harness/machine/cpu.h"

namespace topdnn {

// The name under which harness/topdown knows a core: its microarchitecture, but for Neoverse N2,
// whose early revisions have a table of their own.
std::string TopdownNameOf(const Cpu& cpu);

// Whether hardware threads share cores now (Linux: /sys/devices/system/cpu/smt/active).
bool SmtIsActive();

struct PerfSetting {
  PerfSyscalls calls = PerfSyscalls::Real();
  PerfSurroundings surroundings;
  Cpu cpu;
  bool smt = false;
  int on_cpu = -1;  // where `cpu` was identified: the events are of that core's type
  std::string sysfs = kSysfsPmus;
  std::function<std::vector<pid_t>()> threads = {};  // see PerfSource
  static PerfSetting Here();
};

struct OpenedPerf {
  std::unique_ptr<CounterSource> source;  // nullptr: see `availability`
  Availability availability;
  std::vector<std::string> notes;  // events that were left out, and why; one line each
};

// `metrics`: see MetricNames; none: topdown-l2 and flops. Throws TopdownError for an unknown event.
OpenedPerf OpenPerf(const std::vector<std::string>& metrics, const PerfSetting& setting);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PERF_EVENTS_H_
