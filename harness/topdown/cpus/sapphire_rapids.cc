// Sapphire Rapids and Emerald Rapids: Golden Cove, six slots per cycle.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn::sapphire_rapids {

namespace {

using Formulas = Level2Metrics<6, true, IdlePorts::kOfStalls>;

const TopdownRegistration kSapphireRapids({
    .cpu = "sapphire_rapids",
    .alias = {"emerald_rapids"},
    .source = "pmu-tools spr_server_ratios.py; Linux pmu-events sapphirerapids; Intel perfmon "
              "SPR, EMR",
    // Ports 0 and 1 multiply and add, and port 5 adds; with 512 bits, ports 0 and 5 multiply and
    // add.
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 512,
                 .op_cache = 4096,
                 .fp_256 = 5,
                 .fp_512 = 4,
                 .loads = 3,
                 .stores = 2,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Golden Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("spr", true),
});

}  // namespace

}  // namespace topdnn::sapphire_rapids
