// The counter source `perf`: finds the events that the requested metrics need on this core, plans
// them over the counters that are really free, and gives one reason if that is impossible.

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
#include "harness/topdown/metric.h"

namespace topdnn {

// The name of a core's table in harness/topdown/cpus: its microarchitecture, except for early
// revisions of Neoverse N2, which have a separate table.
std::string TopdownNameOf(const Cpu& cpu);
// The core's table; nullptr if there is none.
const TopdownTable* TopdownTableOf(const Cpu& cpu);
// The core's pipeline, also without a table. No slots if it is not known.
CorePipeline PipelineOf(const Cpu& cpu);

// Whether hardware threads share cores now (Linux: /sys/devices/system/cpu/smt/active).
bool SmtIsActive();

struct PerfSetting {
  PerfSyscalls calls = PerfSyscalls::Real();
  PerfSurroundings surroundings;
  Cpu cpu;
  bool smt = false;
  int on_cpu = -1;  // where `cpu` was identified: events use that core's type
  std::string sysfs = kSysfsPmus;
  std::function<std::vector<pid_t>()> threads = {};  // see PerfSource
  static PerfSetting Here();
};

struct OpenedPerf {
  std::unique_ptr<CounterSource> source;  // nullptr: see `availability`
  Availability availability;
  std::vector<std::string> notes;  // omitted events and the reasons; one line each
};

// `metrics`: see MetricNames; empty: topdown-l2 and flops. Throws TopdownError for an unknown
// event.
OpenedPerf OpenPerf(const std::vector<std::string>& metrics, const PerfSetting& setting);

// The events of level 1 as one group, for code that runs once: no second pass, no multiplexing.
struct Level1Group {
  const TopdownTable* table = nullptr;
  std::vector<ResolvedEvent> events{};  // the leader first; empty: see `reason`
  std::string reason{};
};

Level1Group PlanLevel1Group(const PerfSetting& setting);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_PERF_EVENTS_H_
