// Redwood Cove in clients (Meteor Lake): six slots per cycle, no AMX.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn::meteor_lake_p {

namespace {

using Formulas =
    Level2Metrics<6, true, IdlePorts::kWithoutSerializing, MemoryLevel3::kClientActivity>;

const TopdownRegistration kMeteorLakeP({
    .cpu = "meteor_lake_p",
    .alias = {"redwood_cove"},
    .source = "pmu-tools mtl_rwc_ratios.py (TMA 5.01); Linux pmu-events meteorlake; never run on "
              "this CPU",
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 512,
                 .op_cache = 4096,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Golden Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("", false),
});

}  // namespace

}  // namespace topdnn::meteor_lake_p
