// Golden Cove in clients (Alder Lake and Raptor Lake): six slots per cycle, no AMX.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn::alder_lake_p {

namespace {

using Formulas = Level2Metrics<6, true, IdlePorts::kOfStalls, MemoryLevel3::kClientActivity>;

const TopdownRegistration kAlderLakeP({
    .cpu = "alder_lake_p",
    .alias = {"raptor_lake_p", "golden_cove"},
    .source = "pmu-tools adl_glc_ratios.py; Linux pmu-events alderlake; never run on this CPU",
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 512,
                 .op_cache = 4096,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Golden Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("", false),
});

}  // namespace

}  // namespace topdnn::alder_lake_p
