// Neoverse V1: eight slots a cycle.

#include "harness/topdown/metric.h"
#include "harness/topdown/neoverse.h"

namespace topdnn {

namespace {

constexpr const char* kNote = "Arm defines level 2 of this core in other units than slots";

using Formulas = NeoverseSlots<8, 4, 0, false>;

const TopdownRegistration kNeoverseV1({
    .cpu = "neoverse_v1",
    .alias = {},
    .source = "Linux pmu-events neoverse-v1/metrics.json",
    .note = kNote,
    .events = Formulas::Events(),
    .paths = Formulas::Paths(),
});

}  // namespace

}  // namespace topdnn
