#include "harness/topdown/requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "harness/counters/core_types.h"
#include "harness/topdown/event_name.h"

namespace topdnn {

namespace {

SchedulableEvent NeedsOf(const TopdownEvent& event) {
  SchedulableEvent needs = {.name = event.name};
  needs.fixed = event.counter == kFixedCounter;
  needs.paired = event.counter == kCounterPair;
  if (event.counter == kFirstCounter) needs.counters = 1;
  return needs;
}

class Collector {
 public:
  explicit Collector(const RequestContext& context) : context_(context) {}

  void AddLevel(int level) {
    if (context_.table == nullptr) {
      AddNote("no Top-Down table for this CPU: only cycles and instructions are counted");
      return;
    }
    for (const std::string& name :
         EventsOfPath(*context_.table, context_.path, level, context_.smt)) {
      AddTableEvent(name);
    }
  }

  void AddExtras(const std::string& metric) {
    bool any = false;
    if (context_.table != nullptr) {
      for (const ExtraEvent& extra : context_.table->extras) {
        if (extra.metric != metric) continue;
        AddEvent(extra.event);
        any = true;
      }
    }
    if (!any) AddNote(fmt::format("{}: this CPU has no event for it", metric));
  }

  // Adds an event by the vendor's, perf's or libpfm4's name, or by its code.
  void AddNamed(const std::string& name) {
    if (context_.table != nullptr && FindTableEvent(name) != nullptr) {
      AddEvent(*FindTableEvent(name));
      return;
    }
    const EventName parsed = ParseEventName(name);
    const auto event = ResolveEvent(name, parsed.code, context_.sysfs, PmuName());
    if (!event) {
      throw TopdownError(
          fmt::format("--metrics {}: not a metric ({}), and not an event of this CPU's table, "
                      "libpfm4 or sysfs; give its code as cpu/event=0x..,umask=0x../",
                      name, fmt::join(MetricNames(), ", ")));
    }
    if (event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                                              event->config == PERF_COUNT_SW_CPU_MIGRATIONS)) {
      // These events count user mode, and switches happen in the kernel.
      AddNote(name + ": every profile has context-switches and cpu-migrations");
      return;
    }
    Add({.event = *event, .needs = {.name = name}});
  }

  // Adds the events that every profile counts, and marks the one that each pass repeats.
  MetricRequests Finish() {
    const bool intel = std::any_of(requests_.events.begin(), requests_.events.end(),
                                   [](const PerfRequest& request) {
                                     return request.event.name.starts_with("CPU_CLK_UNHALTED") ||
                                            request.event.name == "TOPDOWN.SLOTS";
                                   });
    if (!Has(CyclesName())) {
      AddGeneric("cycles", PERF_COUNT_HW_CPU_CYCLES, Has("TOPDOWN.SLOTS"));
    }
    if (!Has("INST_RETIRED.ANY")) AddGeneric("instructions", PERF_COUNT_HW_INSTRUCTIONS, intel);
    const std::string common = Has("TOPDOWN.SLOTS") ? "TOPDOWN.SLOTS" : CyclesName();
    for (PerfRequest& request : requests_.events) request.common = request.event.name == common;
    return std::move(requests_);
  }

 private:
  // Several requests may have the same reason.
  void AddNote(const std::string& note) {
    auto& notes = requests_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }

  const TopdownEvent* FindTableEvent(const std::string& name) const {
    const std::string wanted = ParseEventName(name).name;
    for (const TopdownEvent& event : context_.table->events) {
      if (ParseEventName(event.name).name == wanted) return &event;
    }
    for (const ExtraEvent& extra : context_.table->extras) {
      if (ParseEventName(extra.event.name).name == wanted) return &extra.event;
    }
    return nullptr;
  }

  void AddTableEvent(const std::string& name) {
    if (const TopdownEvent* event = FindTableEvent(name)) AddEvent(*event);
  }

  void AddEvent(const TopdownEvent& event) {
    if (event.name.ends_with(":eq") && !KernelComparesForEquality()) {
      AddNote(event.name +
              " is not counted: this kernel does not know its bit `eq` (Linux 6.11 and later do)");
      return;
    }
    auto resolved = ResolveEvent(event.libpfm4.empty() ? event.name : event.libpfm4, event.code,
                                 context_.sysfs, PmuName());
    resolved->name = event.name;
    Add({.event = *resolved, .needs = NeedsOf(event)});
  }

  void AddGeneric(const char* name, std::uint64_t config, bool fixed) {
    Add({.event = {name, PERF_TYPE_HARDWARE, config, "kernel"},
         .needs = {.name = name, .fixed = fixed}});
  }

  // Other kernels drop the bit of a code without an error.
  bool KernelComparesForEquality() const {
    const std::string pmu = PmuName().empty() ? "cpu" : PmuName();
    return std::filesystem::exists(std::filesystem::path(context_.sysfs) / pmu / "format/eq");
  }

  std::string PmuName() const {
    return context_.core_type == nullptr ? "" : context_.core_type->name;
  }

  void Add(PerfRequest request) {
    if (context_.core_type != nullptr) {
      request.event = OnCoreType(std::move(request.event), *context_.core_type);
    }
    if (!Has(request.event.name)) requests_.events.push_back(std::move(request));
  }

  bool Has(std::string_view name) const {
    return std::any_of(requests_.events.begin(), requests_.events.end(),
                       [&](const PerfRequest& request) { return request.event.name == name; });
  }

  // The name of the requested event that counts cycles.
  std::string CyclesName() const {
    if (context_.table != nullptr) {
      for (const TopdownEvent& event : context_.table->events) {
        if (event.perf == "cycles" && Has(event.name)) return event.name;
      }
    }
    return "cycles";
  }

  const RequestContext& context_;
  MetricRequests requests_;
};

}  // namespace

const std::vector<std::string>& MetricNames() {
  static const std::vector<std::string> names = {"topdown-l1", "topdown-l2", "topdown-l3",
                                                 "topdown-l4", "flops",      "memory"};
  return names;
}

std::vector<std::string> SplitMetrics(std::string_view text) {
  std::vector<std::string> parts(1);
  bool in_terms = false;
  for (const char c : text) {
    if (c == '/') in_terms = !in_terms;
    if (c == ',' && !in_terms) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::erase(parts, "");
  return parts;
}

MetricRequests RequestsFor(const std::vector<std::string>& metrics, const RequestContext& context) {
  Collector collector(context);
  for (const std::string& metric : metrics) {
    if (metric == "topdown-l1") {
      collector.AddLevel(1);
    } else if (metric == "topdown-l2") {
      collector.AddLevel(2);
    } else if (metric == "topdown-l3") {
      collector.AddLevel(3);
    } else if (metric == "topdown-l4") {
      collector.AddLevel(4);
    } else if (metric == "flops" || metric == "memory") {
      collector.AddExtras(metric);
    } else {
      collector.AddNamed(metric);
    }
  }
  return collector.Finish();
}

}  // namespace topdnn
