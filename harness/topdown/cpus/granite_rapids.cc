// Granite Rapids: Redwood Cove, six slots per cycle.

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn::granite_rapids {

namespace {

using Formulas = Level2Metrics<6, true, IdlePorts::kWithoutSerializing>;

const TopdownRegistration kGraniteRapids({
    .cpu = "granite_rapids",
    .source = "pmu-tools gnr_server_ratios.py; Linux pmu-events graniterapids; Intel perfmon GNR",
    // Ports 0 and 1 multiply and add, and port 5 adds; with 512 bits, ports 0 and 5 multiply and
    // add.
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 512,
                 .op_cache = 4096,
                 .fp_256 = 5,
                 .fp_512 = 4,
                 .loads = 3,
                 .stores = 2,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Golden Cove "
                           "and Redwood Cove"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("", true),
});

}  // namespace

}  // namespace topdnn::granite_rapids
