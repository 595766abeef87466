// Lunar Lake's performance core: Lion Cove, eight slots per cycle, no dropped uops to subtract.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Formulas = Level2Metrics<8, false>;

const TopdownRegistration kLunarLakeP({
    .cpu = "lunar_lake_p",
    .alias = {"lion_cove"},
    .source = "pmu-tools lnl_lnc_ratios.py; Intel perfmon LNL (Lion Cove)",
    .note = "",
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 576,
                 .op_cache = 5250,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Lion Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("", false),
});

}  // namespace

}  // namespace topdnn
