// Cycles and instructions in user mode, as one group: the two events that every PMU counts.

#include <linux/perf_event.h>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_source.h"
#include "harness/counters/source.h"
#include "harness/statistics/counting.h"

namespace topdnn {

namespace {

// User mode only: unprivileged users may count it (perf_event_paranoid up to 2), and an interrupt's
// handler is not part of the stage.
const std::vector<ResolvedEvent>& HardwareEvents() {
  static const std::vector<ResolvedEvent> events = {
      {"cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "kernel"},
      {"instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "kernel"}};
  return events;
}

// Under some hypervisors the events open but never count, so this counts something.
Availability ProbeHardware() {
  const Trial trial = TryGroup(PerfSyscalls::Real(), HardwareEvents(), SpinForATrial);
  if (trial.verdict == TrialVerdict::kRefused) {
    return ExplainRefusal(trial.outcome.error, PerfSurroundings::Here(), "hardware events");
  }
  for (const EventCount& count : trial.counts) {
    if (count.value && *count.value > 0) continue;
    return {.works = false,
            .reason =
                "cycles and instructions open but stay at zero: there is no real PMU, or "
                "another program holds all its counters"};
  }
  if (trial.counts.empty()) {
    return {.works = false, .reason = "cycles and instructions open but cannot be read"};
  }
  return {.works = true, .reason = "cycles and instructions, user mode, one group"};
}

const SourceRegistration kHardware({.name = "hardware",
                                    .what = "cycles and instructions of the CPU's PMU",
                                    .choice = "perf",
                                    .probe = ProbeHardware,
                                    .open = []() -> std::unique_ptr<CounterSource> {
                                      PerfPlan plan = {.passes = {HardwareEvents()}};
                                      PerfKind kind = {.what = "hardware events",
                                                       .by_thread = false};
                                      return std::make_unique<PerfSource>(
                                          PerfSyscalls::Real(), std::move(plan), ThreadsOfProcess,
                                          std::move(kind));
                                    }});

}  // namespace

}  // namespace topdnn
