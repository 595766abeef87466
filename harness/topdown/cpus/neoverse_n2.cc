// Neoverse N2: five slots per cycle. Before revision r0p3, STALL_SLOT and STALL_SLOT_FRONTEND count
// one slot too many per cycle.

#include "harness/topdown/cpus/neoverse.h"
#include "harness/topdown/metric.h"

namespace topdnn::neoverse_n2 {

namespace {

constexpr const char* kNote =
    "level 2 is an estimate: Memory_Bound is Backend_Bound * STALL_BACKEND_MEM / STALL_BACKEND; "
    "Arm does not define level 2 of this core in slots";

using Formulas = NeoverseSlots<5, 1, 3, false>;

const TopdownRegistration kNeoverseN2({
    .cpu = "neoverse_n2",
    .source = "Linux pmu-events neoverse-n2-v2/metrics.json",
    .note = kNote,
    .pipeline = {.slots = Formulas::kSlots, .source = "the same as the formulas"},
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
    .extras = Formulas::Extras<1>(),
});

using EarlyFormulas = NeoverseSlots<5, 1, 3, true>;

const TopdownRegistration kNeoverseN2R0p0({
    .cpu = "neoverse_n2_r0p0",
    .alias = {"neoverse_n2_r0p1", "neoverse_n2_r0p2"},
    .source = "Linux pmu-events neoverse-n2-v2/metrics.json",
    .note = kNote,
    .pipeline = {.slots = EarlyFormulas::kSlots, .source = "the same as the formulas"},
    .events = EarlyFormulas::Events(),
    .paths = EarlyFormulas::Paths(),
    .extras = EarlyFormulas::Extras<1>(),
});

}  // namespace

}  // namespace topdnn::neoverse_n2
