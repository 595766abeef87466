// Skymont: the efficiency cores of Lunar Lake and Arrow Lake. Eight slots per cycle; fixed counters
// for three of the four nodes of level 1.

#include "harness/topdown/cpus/atom.h"
#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn::skymont {

namespace {

constexpr EventLiteral kFrontend = "TOPDOWN_FE_BOUND.ALL";
constexpr EventLiteral kBad = "TOPDOWN_BAD_SPECULATION.ALL";
constexpr EventLiteral kBackend = "TOPDOWN_BE_BOUND.ALL_P";
constexpr EventLiteral kRetiring = "TOPDOWN_RETIRING.ALL";
using Formulas = AtomSlots<8, kFrontend, kBad, kBackend, kRetiring>;

const TopdownRegistration kSkymont({
    .cpu = "skymont",
    .alias = {"arrow_lake_e", "lunar_lake_e"},
    .source = "pmu-tools lnl_skt_ratios.py; Linux pmu-events lunarlake; never run on this CPU",
    .note = kAtomNote,
    .efficiency_core = true,
    .level3_of_slots = true,
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Joined<TopdownEvent>(
        {{"CPU_CLK_UNHALTED.CORE", 0x3C, "cycles", "", kFixedCounter},
         {kFrontend.text, 0x600, "TOPDOWN_FE_BOUND.ALL_P", "", kFixedCounter},
         {kBad.text, 0x500, "TOPDOWN_BAD_SPECULATION.ALL_P", "", kFixedCounter},
         {kBackend.text, 0x2A4, "TOPDOWN_BE_BOUND.ALL", ""},
         {kRetiring.text, 0x700, "TOPDOWN_RETIRING.ALL_P", "", kFixedCounter}},
        AtomParts()),
    .paths = Formulas::Paths(),
});

}  // namespace

}  // namespace topdnn::skymont
