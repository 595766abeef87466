// Adds a CPU's Top-Down table, `outside_cpu`.

#include "harness/topdown/metric.h"

namespace topdnn {

namespace {

const TopdownRegistration kOutside({
    .cpu = "outside_cpu",
    .alias = {},
    .source = "a test of additions from outside the tree",
    .note = "",
    .events = {{"CPU_CYCLES", 0x11, "cycles", ""}, {"STALL_FRONTEND", 0x23, "", ""}},
    .paths = {{"stalled cycles",
               {{"Stalled_Frontend", 0,
                 [](const TopdownCounts& e) { return e("STALL_FRONTEND") / e("CPU_CYCLES"); }}}}},
});

}  // namespace

}  // namespace topdnn
