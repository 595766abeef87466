// The formulas of Neoverse V3 and N3. An event counts the cycles after a flush, which
// STALL_SLOT_FRONTEND counts for the front end and which belong to Bad_Speculation.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_FLUSH_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_FLUSH_H_

#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

// `kWidth`: slots per cycle.
template <int kWidth>
class NeoverseFlush {
 public:
  static constexpr int kSlots = kWidth;

  static std::vector<TopdownEvent> Events() {
    return {{"CPU_CYCLES", 0x11, "cycles", "", kFixedCounter},
            {"STALL_SLOT", 0x3F, "", ""},
            {"STALL_SLOT_FRONTEND", 0x3E, "", ""},
            {"STALL_SLOT_BACKEND", 0x3D, "", ""},
            {"OP_RETIRED", 0x3A, "", ""},
            {"OP_SPEC", 0x3B, "", ""},
            {"STALL_FRONTEND_FLUSH", 0x8162, "", ""},
            {"STALL_BACKEND", 0x24, "stalled-cycles-backend", ""},
            {"STALL_BACKEND_MEMBOUND", 0x8164, "", ""}};
  }

  static std::vector<TopdownPath> Paths() {
    return {{"slot events",
             {{"Frontend_Bound", 1,
               [](C e) { return e("STALL_SLOT_FRONTEND") / Slots(e) - Flushed(e); }},
              {"Bad_Speculation", 1,
               [](C e) { return (1 - e("OP_RETIRED") / e("OP_SPEC")) * Used(e) + Flushed(e); }},
              {"Backend_Bound", 1, [](C e) { return e("STALL_SLOT_BACKEND") / Slots(e); }},
              {"Retiring", 1, [](C e) { return e("OP_RETIRED") / e("OP_SPEC") * Used(e); }},
              // An estimate: splits Backend_Bound as the stalled cycles.
              {"Memory_Bound", 2,
               [](C e) {
                 return e.Node("Backend_Bound") * e("STALL_BACKEND_MEMBOUND") / e("STALL_BACKEND");
               },
               "Backend_Bound"},
              {"Core_Bound", 2, Level2Rest::CoreBound, "Backend_Bound"}}}};
  }

  // FP_SCALE_OPS_SPEC counts for each 128 bits of an SVE vector, which is the vector's width here.
  static std::vector<ExtraEvent> Extras() {
    return {{"flops", {"FP_SCALE_OPS_SPEC", 0x80C0, "", ""}, 1},
            {"flops", {"FP_FIXED_OPS_SPEC", 0x80C1, "", ""}, 1},
            {"memory", {"LL_CACHE_RD", 0x36, "", ""}, 0},
            {"memory", {"LL_CACHE_MISS_RD", 0x37, "", ""}, 0}};
  }

 private:
  using C = const TopdownCounts&;

  static MaybeValue Slots(C e) { return kWidth * e("CPU_CYCLES"); }
  static MaybeValue Used(C e) { return 1 - e("STALL_SLOT") / Slots(e); }
  static MaybeValue Flushed(C e) { return e("STALL_FRONTEND_FLUSH") / e("CPU_CYCLES"); }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_FLUSH_H_
