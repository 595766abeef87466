// Hybrid CPUs: each type of cores has a PMU of its own, and an event of one counts nothing while
// its thread runs on cores of another. So events are opened on one type's PMU, and beside them the
// cycles on the others are counted, which tell that a thread was elsewhere.

#ifndef TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_
#define TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/counters/sysfs_pmu.h"

namespace topdnn {

// The same event on the PMU of this core type. The kernel takes a core's raw code with the type of
// the PMU, and a generic event with the type in config's upper half (perf_event_open(2),
// PERF_PMU_TYPE_SHIFT, Linux 5.13). Pure.
ResolvedEvent OnCoreType(ResolvedEvent event, const SysfsPmu& core_type);

// Cycles on cores of this type, named "cycles@cpu_atom": of threads that are counted on another.
ResolvedEvent CyclesElsewhere(const SysfsPmu& core_type);

// The core type of such an event ("cpu_atom", of "cycles@cpu_atom#2", too); absent for any other.
std::optional<std::string_view> ElsewhereOf(std::string_view event);

// The type of the cores that this CPU is among; nullptr when it is in none of them.
const SysfsPmu* CoreTypeOf(int cpu, const std::vector<SysfsPmu>& core_types);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_
