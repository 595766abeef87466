#include "harness/counters/core_types.h"

#include <algorithm>
#include <string>

namespace topdnn {

namespace {

constexpr std::string_view kCyclesOn = "cycles@";
constexpr int kPmuTypeShift =
    32;  // PERF_PMU_TYPE_SHIFT, which Debian 12's headers define only for x86

}  // namespace

ResolvedEvent OnCoreType(ResolvedEvent event, const SysfsPmu& core_type) {
  if (event.type == PERF_TYPE_RAW) {
    event.type = core_type.type;
  } else if (event.type == PERF_TYPE_HARDWARE && event.config >> kPmuTypeShift == 0) {
    event.config |= std::uint64_t{core_type.type} << kPmuTypeShift;
  }
  return event;
}

ResolvedEvent CyclesElsewhere(const SysfsPmu& core_type) {
  return OnCoreType({std::string(kCyclesOn) + core_type.name, PERF_TYPE_HARDWARE,
                     PERF_COUNT_HW_CPU_CYCLES, "kernel"},
                    core_type);
}

std::optional<std::string_view> ElsewhereOf(std::string_view event) {
  if (!event.starts_with(kCyclesOn)) return std::nullopt;
  event.remove_prefix(kCyclesOn.size());
  return event.substr(0, event.find('#'));
}

const SysfsPmu* CoreTypeOf(int cpu, const std::vector<SysfsPmu>& core_types) {
  for (const SysfsPmu& type : core_types) {
    if (std::find(type.cpus.begin(), type.cpus.end(), cpu) != type.cpus.end()) return &type;
  }
  return nullptr;
}

}  // namespace topdnn
