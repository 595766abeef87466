// Zen 4: six dispatch slots per cycle.

#include "harness/topdown/cpus/zen.h"
#include "harness/topdown/metric.h"

namespace topdnn::zen4 {

namespace {

using C = const TopdownCounts&;
using Pipeline = ZenPipeline<6>;

constexpr const char* kNoOps = "de_no_dispatch_per_slot.no_ops_from_frontend:c6";
constexpr const char* kRestarts = "resyncs_or_nc_redirects";

const TopdownRegistration kZen4({
    .cpu = "zen4",
    .source = "Linux pmu-events amdzen4/pipeline.json",
    .note = "SMT_Contention is a fifth node of level 1: slots of the other hardware thread",
    .pipeline = {.slots = Pipeline::kSlots,
                 .reorder_buffer = 320,
                 .op_cache = 6912,
                 // Two units multiply and add, two units add; 512 bits take two cycles of a unit.
                 .fp_256 = 6,
                 .fp_512 = 3,
                 .loads = 3,
                 .stores = 2,
                 .window_bytes = kOpCacheLine,
                 .slots_per_instruction = kSlotsOfMostCode,
                 .source = "AMD Software Optimization Guide for Zen 4 (57647), chapter 2"},
    .events = Pipeline::Events({kRestarts, 0x96, "", ""}, kNoOps, true),
    .paths = Pipeline::Paths([](C e) { return Pipeline::kSlots * e(kNoOps) / Pipeline::Slots(e); },
                             [](C e) {
                               return e.Node("Bad_Speculation") * e("ex_ret_brn_misp") /
                                      (e("ex_ret_brn_misp") + e(kRestarts));
                             }),
    .extras = Pipeline::Extras(0x1F, "amd64_fam19h_zen4::RETIRED_SSE_AVX_FLOPS:ANY"),
});

}  // namespace

}  // namespace topdnn::zen4
