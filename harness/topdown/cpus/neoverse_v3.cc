// Neoverse V3: ten slots per cycle.

#include "harness/topdown/cpus/neoverse_flush.h"
#include "harness/topdown/metric.h"

namespace topdnn::neoverse_v3 {

namespace {

using Formulas = NeoverseFlush<10>;

const TopdownRegistration kNeoverseV3({
    .cpu = "neoverse_v3",
    .source = "Linux pmu-events arm/neoverse-v3/metrics.json; never run on this CPU",
    .note = "level 2 is an estimate: Memory_Bound is Backend_Bound * STALL_BACKEND_MEMBOUND / "
            "STALL_BACKEND; Arm gives these as shares of stalled cycles",
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = Formulas::Extras(),
});

}  // namespace

}  // namespace topdnn::neoverse_v3
