// The formulas of Arm's Neoverse cores with slot events (Arm's Top-Down methodology, stage 1). They
// differ in the slots per cycle and in the slots of a mispredicted branch, which the events count
// for the wrong node.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_H_

#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

// `kWidth`: slots per cycle. A mispredicted branch takes kFrontend cycles from Frontend_Bound and
// kBackend from Backend_Bound, and adds both to Bad_Speculation. `kOvercount`: STALL_SLOT and
// STALL_SLOT_FRONTEND count one slot too many per cycle (Neoverse N2 before r0p3).
template <int kWidth, int kFrontend, int kBackend, bool kOvercount>
class NeoverseSlots {
 public:
  static constexpr int kSlots = kWidth;

  static std::vector<TopdownEvent> Events() {
    return {{"CPU_CYCLES", 0x11, "cycles", "", kFixedCounter},
            {"STALL_SLOT", 0x3F, "", ""},
            {"STALL_SLOT_FRONTEND", 0x3E, "", ""},
            {"STALL_SLOT_BACKEND", 0x3D, "", ""},
            {"OP_RETIRED", 0x3A, "", ""},
            {"OP_SPEC", 0x3B, "", ""},
            {"BR_MIS_PRED", 0x10, "branch-misses", ""},
            {"STALL_BACKEND", 0x24, "stalled-cycles-backend", ""},
            {"STALL_BACKEND_MEM", 0x4005, "", ""}};
  }

  // FP_SCALE_OPS_SPEC counts for each 128 bits of an SVE vector, of which the core has `kVectors`.
  // Both are speculative: of operations issued, not retired (Arm ARM, D11).
  template <int kVectors>
  static std::vector<ExtraEvent> Extras() {
    return {{"flops", {"FP_SCALE_OPS_SPEC", 0x80C0, "", ""}, kVectors},
            {"flops", {"FP_FIXED_OPS_SPEC", 0x80C1, "", ""}, 1},
            {"memory", {"LL_CACHE_RD", 0x36, "", ""}, 0},
            {"memory", {"LL_CACHE_MISS_RD", 0x37, "", ""}, 0}};
  }

  static std::vector<TopdownPath> Paths() {
    return {
        {"slot events",
         {{"Frontend_Bound", 1,
           [](C e) {
             return Exact(e, "STALL_SLOT_FRONTEND") / Slots(e) - Mispredicted(e, kFrontend);
           }},
          {"Bad_Speculation", 1,
           [](C e) {
             return (1 - e("OP_RETIRED") / e("OP_SPEC")) * Used(e) +
                    Mispredicted(e, kFrontend + kBackend);
           }},
          {"Backend_Bound", 1,
           [](C e) { return e("STALL_SLOT_BACKEND") / Slots(e) - Mispredicted(e, kBackend); }},
          {"Retiring", 1, [](C e) { return e("OP_RETIRED") / e("OP_SPEC") * Used(e); }},
          // An estimate: splits Backend_Bound in proportion to the stalled cycles.
          {"Memory_Bound", 2,
           [](C e) {
             return e.Node("Backend_Bound") * e("STALL_BACKEND_MEM") / e("STALL_BACKEND");
           },
           "Backend_Bound"},
          {"Core_Bound", 2, [](C e) { return e.Node("Backend_Bound") - e.Node("Memory_Bound"); },
           "Backend_Bound"}}}};
  }

 private:
  using C = const TopdownCounts&;

  static MaybeValue Slots(C e) { return kWidth * e("CPU_CYCLES"); }
  static MaybeValue Exact(C e, const char* event) {
    return kOvercount ? e(event) - e("CPU_CYCLES") : e(event);
  }
  static MaybeValue Used(C e) { return 1 - Exact(e, "STALL_SLOT") / Slots(e); }
  static MaybeValue Mispredicted(C e, int cycles) {
    return cycles == 0 ? MaybeValue(0) : cycles * e("BR_MIS_PRED") / e("CPU_CYCLES");
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_NEOVERSE_H_
