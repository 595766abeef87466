// Sapphire Rapids and Emerald Rapids: Golden Cove, six slots a cycle.

#include "harness/topdown/intel_events.h"
#include "harness/topdown/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Formulas = Level2Metrics<6, true, IdlePorts::kOfStalls>;

const TopdownRegistration kSapphireRapids({
    .cpu = "sapphire_rapids",
    .alias = {"emerald_rapids"},
    .source = "pmu-tools spr_server_ratios.py; Intel perfmon SPR, EMR",
    .note = "",
    // (ports 0 and 1 multiply and add, beside an adder on 5; 0 and 5 with 512 bits)
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 512,
                 .op_cache = 4096,
                 .fp_256 = 5,
                 .fp_512 = 4,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Golden Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("spr", true),
});

}  // namespace

}  // namespace topdnn
