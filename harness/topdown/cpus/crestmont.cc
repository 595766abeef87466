// Crestmont: Sierra Forest, Grand Ridge, and the efficiency cores of Meteor Lake. Six slots per
// cycle.

#include "harness/topdown/cpus/atom.h"
#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn::crestmont {

namespace {

constexpr EventLiteral kFrontend = "TOPDOWN_FE_BOUND.ALL_P";
constexpr EventLiteral kBad = "TOPDOWN_BAD_SPECULATION.ALL_P";
constexpr EventLiteral kBackend = "TOPDOWN_BE_BOUND.ALL_P";
constexpr EventLiteral kRetiring = "TOPDOWN_RETIRING.ALL_P";
using Formulas = AtomSlots<6, kFrontend, kBad, kBackend, kRetiring>;

const TopdownRegistration kCrestmont({
    .cpu = "crestmont",
    .alias = {"sierra_forest", "grand_ridge"},
    .source = "Linux pmu-events sierraforest/srf-metrics.json; never run on this CPU",
    .note = kAtomNote,
    .efficiency_core = true,
    .level3_of_slots = true,
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Joined<TopdownEvent>({{"CPU_CLK_UNHALTED.CORE", 0x3C, "cycles", "", kFixedCounter},
                                    {kFrontend.text, 0x71, "TOPDOWN_FE_BOUND.ALL", ""},
                                    {kBad.text, 0x73, "TOPDOWN_BAD_SPECULATION.ALL", ""},
                                    {kBackend.text, 0x74, "TOPDOWN_BE_BOUND.ALL", ""},
                                    {kRetiring.text, 0x72, "TOPDOWN_RETIRING.ALL", ""}},
                                   AtomParts()),
    .paths = Formulas::Paths(),
});

}  // namespace

}  // namespace topdnn::crestmont
