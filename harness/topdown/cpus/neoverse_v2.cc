// Neoverse V2: eight slots per cycle.

#include "harness/topdown/cpus/neoverse.h"
#include "harness/topdown/metric.h"

namespace topdnn::neoverse_v2 {

namespace {

constexpr const char* kNote =
    "level 2 is an estimate: Memory_Bound is Backend_Bound * STALL_BACKEND_MEM / STALL_BACKEND; "
    "Arm does not define level 2 of this core in slots";

using Formulas = NeoverseSlots<8, 1, 3, false>;

const TopdownRegistration kNeoverseV2({
    .cpu = "neoverse_v2",
    .source = "Linux pmu-events neoverse-n2-v2/metrics.json",
    .note = kNote,
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = Formulas::Extras<1>(),
});

}  // namespace

}  // namespace topdnn::neoverse_v2
