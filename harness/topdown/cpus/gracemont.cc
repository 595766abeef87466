// Gracemont, the efficiency core of Alder Lake: five slots per cycle, events that count slots.

#include "harness/topdown/cpus/atom.h"
#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn::gracemont {

namespace {

using C = const TopdownCounts&;

constexpr int kSlots = 5;  // per cycle

// Levels 2 and 3 are those of the later cores; Bad_Speculation is the remainder here.
using Formulas =
    AtomSlots<kSlots, "TOPDOWN_FE_BOUND.ALL", "", "TOPDOWN_BE_BOUND.ALL", "TOPDOWN_RETIRING.ALL">;

MaybeValue Slots(C e) { return kSlots * e("CPU_CLK_UNHALTED.CORE"); }

const TopdownRegistration kGracemont({
    .cpu = "gracemont",
    .source = "pmu-tools adl_grt_ratios.py; Linux pmu-events alderlaken",
    .note = kAtomNote,
    .efficiency_core = true,
    .level3_of_slots = true,
    .pipeline = {.slots = kSlots,
                 .reorder_buffer = 256,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Gracemont"},
    .events = Joined<TopdownEvent>({{"CPU_CLK_UNHALTED.CORE", 0x3C, "cycles", "", kFixedCounter},
                                    {"TOPDOWN_FE_BOUND.ALL", 0x71, "topdown-fe-bound", ""},
                                    {"TOPDOWN_BE_BOUND.ALL", 0x74, "topdown-be-bound", ""},
                                    {"TOPDOWN_RETIRING.ALL", 0xC2, "topdown-retiring", ""}},
                                   AtomParts()),
    .paths = {{"slot events",
               Joined<TopdownNode>(
                   {{"Frontend_Bound", 1, [](C e) { return e("TOPDOWN_FE_BOUND.ALL") / Slots(e); }},
                    {"Backend_Bound", 1, [](C e) { return e("TOPDOWN_BE_BOUND.ALL") / Slots(e); }},
                    {"Retiring", 1, [](C e) { return e("TOPDOWN_RETIRING.ALL") / Slots(e); }},
                    {"Bad_Speculation", 1,
                     [](C e) {
                       return 1 - e.Node("Frontend_Bound") - e.Node("Backend_Bound") -
                              e.Node("Retiring");
                     }}},
                   Formulas::DeeperNodes())}},
});

}  // namespace

}  // namespace topdnn::gracemont
