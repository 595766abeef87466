// Granite Rapids: Redwood Cove, six slots a cycle.

#include "harness/topdown/intel_events.h"
#include "harness/topdown/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using Formulas = Level2Metrics<6, true, IdlePorts::kWithoutSerializing>;

const TopdownRegistration kGraniteRapids({
    .cpu = "granite_rapids",
    .alias = {},
    .source = "pmu-tools gnr_server_ratios.py; Intel perfmon GNR",
    .note = "",
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("", true),
});

}  // namespace

}  // namespace topdnn
