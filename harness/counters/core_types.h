// Hybrid CPUs: each type of core has its own PMU, and an event of one PMU counts nothing while its
// thread runs on cores of another type. So events are opened on one type's PMU. The cycles on the
// other types are counted in addition, which shows that a thread ran there.

#ifndef TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_
#define TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/counters/sysfs_pmu.h"

namespace topdnn {

// The same event on the PMU of this core type. The kernel expects the PMU's type in the type field
// for a raw code, and in config's upper half for a generic event (perf_event_open(2),
// PERF_PMU_TYPE_SHIFT, Linux 5.13). Pure.
ResolvedEvent OnCoreType(ResolvedEvent event, const SysfsPmu& core_type);

// Cycles on cores of this type, named "cycles@cpu_atom", for threads whose events are counted on
// another type.
ResolvedEvent CyclesElsewhere(const SysfsPmu& core_type);

// The core type of such an event ("cpu_atom", also for "cycles@cpu_atom#2"); absent for other
// events.
std::optional<std::string_view> ElsewhereOf(std::string_view event);

// The core type of this CPU; nullptr if it belongs to none.
const SysfsPmu* CoreTypeOf(int cpu, const std::vector<SysfsPmu>& core_types);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_CORE_TYPES_H_
