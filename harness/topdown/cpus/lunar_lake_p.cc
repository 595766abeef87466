// Lion Cove, the performance core of Lunar Lake and Arrow Lake: eight slots per cycle, no dropped
// uops to subtract. Cougar Cove, of Panther Lake and Wildcat Lake, has the same formulas of levels
// 1 to 3 (pmu-tools ptl_cgc_ratios.py) and the same codes of events (perfmon PTL).

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Formulas = Level2Metrics<8, false, IdlePorts::kCounted, MemoryLevel3::kStalls>;

const TopdownRegistration kLunarLakeP({
    .cpu = "lunar_lake_p",
    .alias = {"arrow_lake_p", "lion_cove", "panther_lake_p", "cougar_cove"},
    .source = "pmu-tools lnl_lnc_ratios.py (TMA 5.02) and ptl_cgc_ratios.py (TMA 5.1); Linux "
              "pmu-events lunarlake; perfmon PTL; never run on this CPU",
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
