// Lion Cove, the performance core of Lunar Lake and Arrow Lake: eight slots per cycle, no dropped
// uops to subtract.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Formulas = Level2Metrics<8, false, IdlePorts::kCounted, MemoryLevel3::kStalls>;

const TopdownRegistration kLunarLakeP({
    .cpu = "lunar_lake_p",
    .alias = {"arrow_lake_p", "lion_cove"},
    .source = "pmu-tools lnl_lnc_ratios.py (TMA 5.02); Linux pmu-events lunarlake; never run on "
              "this CPU",
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
