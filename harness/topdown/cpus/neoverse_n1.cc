// Neoverse N1 has no slot events; it only counts the stalled cycles at each end.

#include "harness/topdown/metric.h"

namespace topdnn::neoverse_n1 {

namespace {

using C = const TopdownCounts&;

MaybeValue Absent(C) { return {}; }

const TopdownRegistration kNeoverseN1({
    .cpu = "neoverse_n1",
    .source = "Arm Neoverse N1 PMU guide; Linux pmu-events cortex-a76-n1",
    .note = "no Top-Down: Neoverse N1 counts no slots; Stalled_Frontend and Stalled_Backend are "
            "fractions of cycles and do not add up to 1",
    .events = {{"CPU_CYCLES", 0x11, "cycles", "", kFixedCounter},
               {"STALL_FRONTEND", 0x23, "stalled-cycles-frontend", ""},
               {"STALL_BACKEND", 0x24, "stalled-cycles-backend", ""}},
    .paths = {{"stalled cycles",
               {{"Frontend_Bound", 1, Absent},
                {"Bad_Speculation", 1, Absent},
                {"Backend_Bound", 1, Absent},
                {"Retiring", 1, Absent},
                {"Stalled_Frontend", 0, [](C e) { return e("STALL_FRONTEND") / e("CPU_CYCLES"); }},
                {"Stalled_Backend", 0, [](C e) { return e("STALL_BACKEND") / e("CPU_CYCLES"); }}}}},
});

}  // namespace

}  // namespace topdnn::neoverse_n1
