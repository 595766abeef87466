// Neoverse N3: five slots per cycle.

#include "harness/topdown/cpus/neoverse_flush.h"
#include "harness/topdown/metric.h"

namespace topdnn::neoverse_n3 {

namespace {

using Formulas = NeoverseFlush<5>;

const TopdownRegistration kNeoverseN3({
    .cpu = "neoverse_n3",
    .source = "Linux pmu-events arm/neoverse-n3/metrics.json; never run on this CPU",
    .note = "level 2 is an estimate: Memory_Bound is Backend_Bound * STALL_BACKEND_MEMBOUND / "
            "STALL_BACKEND; Arm gives these as shares of stalled cycles",
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = Formulas::Extras(),
});

}  // namespace

}  // namespace topdnn::neoverse_n3
