// Gracemont, the efficiency core of Alder Lake: five slots per cycle, events that count slots.

#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

using C = const TopdownCounts&;

constexpr int kSlots = 5;  // per cycle

MaybeValue Slots(C e) { return kSlots * e("CPU_CLK_UNHALTED.CORE"); }

const TopdownRegistration kGracemont({
    .cpu = "gracemont",
    .alias = {},
    .source = "pmu-tools adl_grt_ratios.py; Linux pmu-events alderlaken",
    .note = "Core_Bound counts only allocation restrictions; Resource_Bound is the rest of "
            "Backend_Bound: full buffers, memory included",
    .efficiency_core = true,
    .pipeline = {.slots = kSlots,
                 .reorder_buffer = 256,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Gracemont"},
    .events = {{"CPU_CLK_UNHALTED.CORE", 0x3C, "cycles", "", kFixedCounter},
               {"TOPDOWN_FE_BOUND.ALL", 0x71, "topdown-fe-bound", ""},
               {"TOPDOWN_BE_BOUND.ALL", 0x74, "topdown-be-bound", ""},
               {"TOPDOWN_RETIRING.ALL", 0xC2, "topdown-retiring", ""},
               {"TOPDOWN_FE_BOUND.FRONTEND_LATENCY", 0x7271, "", ""},
               {"TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", 0x8D71, "", ""},
               {"TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS", 0x174, "", ""},
               {"TOPDOWN_BAD_SPECULATION.MISPREDICT", 0x473, "", ""},
               {"TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 0x373, "", ""}},
    .paths = {{"slot events",
               {{"Frontend_Bound", 1, [](C e) { return e("TOPDOWN_FE_BOUND.ALL") / Slots(e); }},
                {"Backend_Bound", 1, [](C e) { return e("TOPDOWN_BE_BOUND.ALL") / Slots(e); }},
                {"Retiring", 1, [](C e) { return e("TOPDOWN_RETIRING.ALL") / Slots(e); }},
                {"Bad_Speculation", 1,
                 [](C e) {
                   return 1 - e.Node("Frontend_Bound") - e.Node("Backend_Bound") -
                          e.Node("Retiring");
                 }},
                {"Fetch_Latency", 2,
                 [](C e) { return e("TOPDOWN_FE_BOUND.FRONTEND_LATENCY") / Slots(e); }},
                {"Fetch_Bandwidth", 2,
                 [](C e) { return e("TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH") / Slots(e); }},
                {"Branch_Mispredicts", 2,
                 [](C e) { return e("TOPDOWN_BAD_SPECULATION.MISPREDICT") / Slots(e); }},
                {"Machine_Clears", 2,
                 [](C e) { return e("TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS") / Slots(e); }},
                {"Core_Bound", 2,
                 [](C e) { return e("TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS") / Slots(e); }},
                {"Resource_Bound", 2,
                 [](C e) { return e.Node("Backend_Bound") - e.Node("Core_Bound"); }}}}},
});

}  // namespace

}  // namespace topdnn
