// Zen 5: eight dispatch slots per cycle.

#include "harness/topdown/cpus/zen.h"
#include "harness/topdown/metric.h"

namespace topdnn::zen5 {

namespace {

using C = const TopdownCounts&;
using Pipeline = ZenPipeline<8>;

constexpr const char* kNoOps = "de_no_dispatch_per_slot.no_ops_from_frontend:c8";
constexpr const char* kRestarts = "bp_redirects.resync";

const TopdownRegistration kZen5({
    .cpu = "zen5",
    .source = "Linux pmu-events amdzen5/pipeline.json",
    .note = "SMT_Contention is a fifth node of level 1: slots of the other hardware thread",
    .pipeline = {.slots = Pipeline::kSlots,
                 .reorder_buffer = 448,
                 .op_cache = 6144,
                 // Two units multiply and add, two units add.
                 .fp_256 = 6,
                 .fp_512 = 6,
                 .loads = 4,
                 .stores = 2,
                 .window_bytes = kOpCacheLine,
                 .slots_per_instruction = kSlotsOfMostCode,
                 .source = "AMD Software Optimization Guide for Zen 5 (58455), chapter 2"},
    .events = Pipeline::Events({kRestarts, 0x19F, "", ""}, kNoOps, false),
    .paths = Pipeline::Paths([](C e) { return Pipeline::kSlots * e(kNoOps) / Pipeline::Slots(e); },
                             [](C e) {
                               return e.Node("Bad_Speculation") * e("ex_ret_brn_misp") /
                                      (e("ex_ret_brn_misp") + e(kRestarts));
                             }),
    .extras = Pipeline::Extras(0x0F, ""),
});

}  // namespace

}  // namespace topdnn::zen5
