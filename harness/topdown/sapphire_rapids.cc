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
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = IntelExtras("spr", true),
});

}  // namespace

}  // namespace topdnn
