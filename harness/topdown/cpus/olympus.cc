// NVIDIA Olympus (T410, Vera): an event counts the slots to which the hardware thread is entitled,
// ten per cycle alone, five beside the core's other thread.

#include "harness/topdown/metric.h"

namespace topdnn::olympus {

namespace {

using C = const TopdownCounts&;

MaybeValue OfSlots(C e, const char* event) { return e(event) / e("CPU_SLOT"); }

const TopdownRegistration kOlympus({
    .cpu = "olympus",
    .source = "Linux pmu-events nvidia/t410/metrics.json; never run on this CPU",
    .note = "level 2 is an estimate: Memory_Bound is Backend_Bound * STALL_BACKEND_MEMBOUND / "
            "STALL_BACKEND; NVIDIA gives these as shares of stalled cycles",
    .pipeline = {.slots = 10, .source = "the same as the formulas"},
    .events = {{"CPU_CYCLES", 0x11, "cycles", "", kFixedCounter},
               {"CPU_SLOT", 0x1E1, "", ""},
               {"STALL_SLOT", 0x3F, "", ""},
               {"STALL_SLOT_BACKEND", 0x3D, "", ""},
               {"STALL_SLOT_FRONTEND_WITHOUT_MISPRED", 0x1E2, "", ""},
               {"OP_RETIRED", 0x3A, "", ""},
               {"OP_SPEC", 0x3B, "", ""},
               {"STALL_BACKEND", 0x24, "stalled-cycles-backend", ""},
               {"STALL_BACKEND_MEMBOUND", 0x8164, "", ""}},
    .paths =
        {{"slot events",
          {{"Frontend_Bound", 1,
            [](C e) { return OfSlots(e, "STALL_SLOT_FRONTEND_WITHOUT_MISPRED"); }},
           {"Backend_Bound", 1, [](C e) { return OfSlots(e, "STALL_SLOT_BACKEND"); }},
           {"Retiring", 1,
            [](C e) { return e("OP_RETIRED") / e("OP_SPEC") * (1 - OfSlots(e, "STALL_SLOT")); }},
           {"Bad_Speculation", 1,
            [](C e) {
              return 1 - e.Node("Frontend_Bound") - e.Node("Retiring") - e.Node("Backend_Bound");
            }},
           {"Memory_Bound", 2,
            [](C e) {
              return e.Node("Backend_Bound") * e("STALL_BACKEND_MEMBOUND") / e("STALL_BACKEND");
            },
            "Backend_Bound"},
           {"Core_Bound", 2, Level2Rest::CoreBound, "Backend_Bound"}}}},
});

}  // namespace

}  // namespace topdnn::olympus
