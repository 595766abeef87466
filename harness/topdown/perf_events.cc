#include "harness/topdown/perf_events.h"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "harness/counters/core_types.h"
#include "harness/counters/perf_group.h"
#include "harness/counters/perf_plan.h"
#include "harness/counters/perf_source.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/requests.h"

namespace topdnn {

namespace {

struct Attempt {
  PerfPlan plan;
  std::vector<std::string> notes;
  std::string path;
  bool level1 = true;  // every event of level 1 counts
};

// `one_pass`: leaves the instructions out if everything fits on the counters at once without them.
Attempt TryPath(const std::vector<std::string>& metrics, const RequestContext& context,
                const PerfSetting& setting, bool one_pass) {
  Attempt attempt;
  MetricRequests requests = RequestsFor(metrics, context);
  attempt.notes = std::move(requests.notes);
  attempt.plan = PlanPerf(setting.calls, requests.events, SpinForATrial);
  if (one_pass && attempt.plan.passes.size() > 1) {
    std::erase_if(requests.events, [](const auto& r) { return r.event.name == "instructions"; });
    attempt.plan = PlanPerf(setting.calls, requests.events, SpinForATrial);
  }
  if (context.table == nullptr) return attempt;
  attempt.path = context.table->paths[context.path].name;
  for (const std::string& name : EventsOfPath(*context.table, context.path, 1, context.smt)) {
    for (const PerfPlan::Absent& absent : attempt.plan.absent) {
      attempt.level1 = attempt.level1 && absent.name != name;
    }
  }
  return attempt;
}

// Intel's metrics register exists if the kernel lists its pseudo-events; few guests have it.
bool PathIsOffered(const TopdownPath& path, const RequestContext& context) {
  const std::string pmu = context.core_type == nullptr ? "" : context.core_type->name;
  return path.needs.empty() ||
         ResolveEvent(path.needs, std::nullopt, context.sysfs, pmu).has_value();
}

// The first path for which every event of level 1 counts; otherwise the last path.
Attempt TryPaths(const std::vector<std::string>& metrics, const TopdownTable* table,
                 const SysfsPmu* core_type, const PerfSetting& setting, bool one_pass = false) {
  RequestContext context = {.table = table,
                            .path = 0,
                            .smt = setting.smt,
                            .sysfs = setting.sysfs,
                            .core_type = core_type};
  if (table == nullptr) return TryPath(metrics, context, setting, one_pass);
  Attempt attempt;
  for (context.path = 0; context.path < table->paths.size(); ++context.path) {
    const bool last = context.path + 1 == table->paths.size();
    if (!last && !PathIsOffered(table->paths[context.path], context)) continue;
    attempt = TryPath(metrics, context, setting, one_pass);
    if (attempt.level1) break;
  }
  return attempt;
}

std::string AbsentText(const PerfPlan::Absent& absent) {
  return absent.error == 0
             ? fmt::format("{} never gets on a counter", absent.name)
             : fmt::format("{} is refused ({})", absent.name, strerrorname_np(absent.error));
}

std::string UnknownCpu(const Cpu& cpu) {
  return fmt::format(
      "no Top-Down table for {} family {} model {}{}: only counts, no nodes; to get a table, send "
      "this line and the vendor's event and metric files (or their address)",
      cpu.vendor, cpu.family, cpu.model,
      cpu.microarchitecture.empty() ? "" : ", " + cpu.microarchitecture);
}

// Adds the cycles on the other core types, to detect threads that run there.
void WatchOtherCoreTypes(const std::vector<SysfsPmu>& core_types, const SysfsPmu& own,
                         const PerfSetting& setting, Attempt& attempt) {
  for (const SysfsPmu& type : core_types) {
    if (type.name == own.name) continue;
    const ResolvedEvent event = CyclesElsewhere(type);
    const int error = PerfGroup(setting.calls).Open(std::span(&event, 1)).error;
    if (error == 0) {
      attempt.plan.elsewhere.push_back(event);
    } else {
      attempt.plan.absent.push_back({event.name, error});
    }
  }
  attempt.notes.push_back(
      fmt::format("this CPU has several types of cores: events are counted on its {} cores, and "
                  "stages with threads on other cores are DEGRADED",
                  own.name));
}

// The error of the common event is the error of the whole source.
Availability Refusal(const PerfPlan& plan, const PerfSetting& setting) {
  const int error = plan.absent.empty() ? ENOENT : plan.absent.front().error;
  return ExplainRefusal(error, setting.surroundings, "hardware events");
}

}  // namespace

std::string TopdownNameOf(const Cpu& cpu) {
  // MIDR's variant and revision: r0p3 is 0x03.
  if (cpu.microarchitecture == "neoverse_n2" && cpu.stepping < 3) return "neoverse_n2_r0p0";
  return cpu.microarchitecture;
}

const TopdownTable* TopdownTableOf(const Cpu& cpu) { return TopdownTableNamed(TopdownNameOf(cpu)); }

CorePipeline PipelineOf(const Cpu& cpu) {
  const TopdownTable* const table = TopdownTableOf(cpu);
  return table == nullptr ? PipelineWithoutEvents(cpu.microarchitecture) : table->pipeline;
}

bool SmtIsActive() {
  int active = 0;
  std::ifstream("/sys/devices/system/cpu/smt/active") >> active;
  return active == 1;
}

PerfSetting PerfSetting::Here() {
  PerfSetting here;
  here.surroundings = PerfSurroundings::Here();
  do {
    here.on_cpu = sched_getcpu();
    here.cpu = IdentifyCpu();
  } while (here.on_cpu != sched_getcpu());  // the thread moved in between
  here.smt = SmtIsActive();
  return here;
}

OpenedPerf OpenPerf(const std::vector<std::string>& metrics, const PerfSetting& setting) {
  const std::vector<std::string> wanted =
      metrics.empty() ? std::vector<std::string>{"topdown-l2", "flops"} : metrics;
  const TopdownTable* table = TopdownTableOf(setting.cpu);
  const std::vector<SysfsPmu> core_types = CoreTypes(setting.sysfs);
  const SysfsPmu* core_type = CoreTypeOf(setting.on_cpu, core_types);
  Attempt attempt = TryPaths(wanted, table, core_type, setting);
  OpenedPerf opened;
  if (attempt.plan.passes.empty()) {
    opened.availability = Refusal(attempt.plan, setting);
    if (table == nullptr) opened.availability.reason += "; besides, " + UnknownCpu(setting.cpu);
    return opened;
  }
  if (core_type != nullptr) WatchOtherCoreTypes(core_types, *core_type, setting, attempt);
  for (const PerfPlan::Absent& absent : attempt.plan.absent) {
    opened.notes.push_back(AbsentText(absent));
  }
  opened.notes.insert(opened.notes.end(), attempt.notes.begin(), attempt.notes.end());
  std::size_t events = 0;
  for (const auto& pass : attempt.plan.passes) events += pass.size();
  opened.availability.works = true;
  opened.availability.reason =
      fmt::format("{} readings of events in {} passes on {} free counters; {}", events,
                  attempt.plan.passes.size(), attempt.plan.counters,
                  table == nullptr ? UnknownCpu(setting.cpu)
                                   : fmt::format("Top-Down of {} ({})", table->cpu, attempt.path));
  if (table == nullptr) {
    opened.availability.remedy =
        "ask for events by name or code: --metrics cpu/event=0x..,umask=0x../";
  } else if (setting.surroundings.watchdog) {
    opened.availability.remedy =
        "sysctl kernel.nmi_watchdog=0 frees the counter that the watchdog holds";
  }
  opened.source =
      std::make_unique<PerfSource>(setting.calls, std::move(attempt.plan), setting.threads);
  return opened;
}

Level1Group PlanLevel1Group(const PerfSetting& setting) {
  Level1Group group = {.table = TopdownTableOf(setting.cpu)};
  if (group.table == nullptr) {
    group.reason = UnknownCpu(setting.cpu);
    return group;
  }
  if (!CoreTypes(setting.sysfs).empty()) {
    group.reason = "this CPU has several types of cores, whose events are no one group";
    return group;
  }
  Attempt attempt = TryPaths({"topdown-l1"}, group.table, nullptr, setting, /*one_pass=*/true);
  if (attempt.plan.passes.empty()) {
    const Availability refusal = Refusal(attempt.plan, setting);
    group.reason = refusal.reason + (refusal.remedy.empty() ? "" : "; " + refusal.remedy);
  } else if (!attempt.level1) {
    group.reason = AbsentText(attempt.plan.absent.front());
  } else if (attempt.plan.passes.size() > 1) {
    group.reason = fmt::format(
        "the events of level 1 need {} passes on {} free counters{}", attempt.plan.passes.size(),
        attempt.plan.counters,
        setting.surroundings.watchdog ? "; sysctl kernel.nmi_watchdog=0 frees another one" : "");
  } else {
    group.events = std::move(attempt.plan.passes.front());
  }
  return group;
}

namespace {

const SourceRegistration kPerf({.name = "perf",
                                .what = "the PMU's events for Top-Down and FLOPs",
                                .probe = []() -> Availability {
                                  return OpenPerf({}, PerfSetting::Here()).availability;
                                },
                                .open = []() -> std::unique_ptr<CounterSource> {
                                  return OpenPerf({}, PerfSetting::Here()).source;
                                }});

}  // namespace

}  // namespace topdnn
