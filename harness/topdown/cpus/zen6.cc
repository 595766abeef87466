// Zen 6: eight dispatch slots per cycle. Its other limits are not published yet.

#include "harness/topdown/cpus/zen.h"
#include "harness/topdown/metric.h"

namespace topdnn::zen6 {

namespace {

using C = const TopdownCounts&;
using Pipeline = ZenPipeline<8>;

constexpr const char* kNoOps = "de_no_dispatch_per_slot.no_ops_from_frontend:c8";
constexpr const char* kRestarts = "bp_fe_redir.resync";

const TopdownRegistration kZen6({
    .cpu = "zen6",
    .source = "Linux pmu-events amdzen6/pipeline.json; never run on this CPU",
    .note = "SMT_Contention is a fifth node of level 1: slots of the other hardware thread",
    .pipeline = {.slots = Pipeline::kSlots, .source = "the same as the formulas"},
    .events = Pipeline::Events({kRestarts, 0x19F, "", ""}, kNoOps, false),
    .paths = Pipeline::Paths([](C e) { return Pipeline::kSlots * e(kNoOps) / Pipeline::Slots(e); },
                             [](C e) {
                               return e.Node("Bad_Speculation") * e("ex_ret_brn_misp") /
                                      (e("ex_ret_brn_misp") + e(kRestarts));
                             }),
});

}  // namespace

}  // namespace topdnn::zen6
