// AmpereOne: four slots per cycle. The front end's share is the rest.

#include "harness/topdown/metric.h"

namespace topdnn::ampere_one {

namespace {

using C = const TopdownCounts&;

constexpr int kSlots = 4;  // per cycle

MaybeValue Slots(C e) { return kSlots * e("CPU_CYCLES"); }

// The cycles without any operation from the front end, minus those that belong to other nodes: the
// slots that STALL_SLOT_FRONTEND counts beyond Frontend_Bound.
MaybeValue FetchLatency(C e) {
  const MaybeValue beyond = e("STALL_SLOT_FRONTEND") - e.Node("Frontend_Bound") * Slots(e);
  return (e("STALL_FRONTEND") - beyond / kSlots) / e("CPU_CYCLES");
}

const TopdownRegistration kAmpereOne({
    .cpu = "ampere_one",
    .source = "Linux pmu-events ampere/ampereonex/metrics.json; slots per cycle: LLVM "
              "AArch64SchedAmpere1.td; never run on this CPU",
    .pipeline = {.slots = kSlots, .source = "LLVM AArch64SchedAmpere1.td"},
    .events = {{"CPU_CYCLES", 0x11, "cycles", "", kFixedCounter},
               {"STALL_SLOT_BACKEND", 0x3D, "", ""},
               {"STALL_SLOT_FRONTEND", 0x3E, "", ""},
               {"STALL_FRONTEND", 0x23, "stalled-cycles-frontend", ""},
               {"OP_RETIRED", 0x3A, "", ""},
               {"OP_SPEC", 0x3B, "", ""},
               {"BR_MIS_PRED_RETIRED", 0x22, "", ""},
               {"GPC_FLUSH", 0x120, "", ""},
               {"STALL_BACKEND_CACHE", 0xD20D, "", ""},
               {"STALL_BACKEND_TLB", 0xD20E, "", ""}},
    .paths = {{"slot events",
               {{"Backend_Bound", 1, [](C e) { return e("STALL_SLOT_BACKEND") / Slots(e); }},
                {"Bad_Speculation", 1,
                 [](C e) { return (e("OP_SPEC") - e("OP_RETIRED")) / Slots(e); }},
                {"Retiring", 1, [](C e) { return e("OP_RETIRED") / Slots(e); }},
                {"Frontend_Bound", 1,
                 [](C e) {
                   return 1 - (e.Node("Retiring") + e.Node("Bad_Speculation") +
                               e.Node("Backend_Bound"));
                 }},
                {"Fetch_Latency", 2, FetchLatency},
                {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
                {"Branch_Mispredicts", 2,
                 [](C e) {
                   return e("BR_MIS_PRED_RETIRED") / e("GPC_FLUSH") * e.Node("Bad_Speculation");
                 }},
                // Ampere: other mispredictions.
                {"Machine_Clears", 2, Level2Rest::MachineClears},
                {"Memory_Bound", 2,
                 [](C e) {
                   return (e("STALL_BACKEND_TLB") + e("STALL_BACKEND_CACHE")) / e("CPU_CYCLES");
                 }},
                {"Core_Bound", 2, Level2Rest::CoreBound}}}},
});

}  // namespace

}  // namespace topdnn::ampere_one
