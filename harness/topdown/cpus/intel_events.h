// Events, besides the Top-Down ones, that Intel's cores share: floating-point operations by width
// and type, and the last-level cache.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_EVENTS_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_EVENTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/topdown/metric.h"

namespace topdnn {

// FP_ARITH_INST_RETIRED counts a multiply-add twice, so a count times the lanes is FLOPs; masked
// lanes count as full (Intel SDM volume 3, 20.3; perfmon SKX, ICX, SPR). `core`: libpfm4's name,
// "skx"; empty if it has none. `half`: Sapphire Rapids and later count FP16 separately, and how
// long AMX was busy; no event counts the operations of AMX.
inline std::vector<ExtraEvent> IntelExtras(const std::string& core, bool half) {
  const auto pfm = [&core](const std::string& event) {
    return core.empty() ? std::string() : core + "::" + event;
  };
  std::vector<ExtraEvent> extras;
  const auto add_fp = [&](const std::string& unit, std::uint64_t code, double lanes) {
    extras.push_back({"flops",
                      {"FP_ARITH_INST_RETIRED." + unit, code << 8 | 0xC7, "",
                       pfm("FP_ARITH_INST_RETIRED:" + unit)},
                      lanes});
  };
  add_fp("SCALAR_DOUBLE", 0x01, 1);
  add_fp("SCALAR_SINGLE", 0x02, 1);
  add_fp("128B_PACKED_DOUBLE", 0x04, 2);
  add_fp("128B_PACKED_SINGLE", 0x08, 4);
  add_fp("256B_PACKED_DOUBLE", 0x10, 4);
  add_fp("256B_PACKED_SINGLE", 0x20, 8);
  add_fp("512B_PACKED_DOUBLE", 0x40, 8);
  add_fp("512B_PACKED_SINGLE", 0x80, 16);
  if (half) {
    const auto add_half = [&](const std::string& unit, std::uint64_t code, double lanes) {
      extras.push_back(
          {"flops", {"FP_ARITH_INST_RETIRED2." + unit, code << 8 | 0xCF, "", ""}, lanes});
    };
    add_half("SCALAR_HALF", 0x01, 1);
    add_half("COMPLEX_SCALAR_HALF", 0x02, 2);
    add_half("128B_PACKED_HALF", 0x04, 8);
    add_half("256B_PACKED_HALF", 0x08, 16);
    add_half("512B_PACKED_HALF", 0x10, 32);
    extras.push_back({"flops", {"EXE.AMX_BUSY", 0x2B7, "", ""}, 0});
  }
  extras.push_back({"memory", {"LONGEST_LAT_CACHE.REFERENCE", 0x4F2E, "cache-references", ""}, 0});
  extras.push_back({"memory", {"LONGEST_LAT_CACHE.MISS", 0x412E, "cache-misses", ""}, 0});
  return extras;
}

// ---- Cycles of the thread, and those of the core for each of its threads.

inline MaybeValue ThreadCycles(const TopdownCounts& e) { return e("CPU_CLK_UNHALTED.THREAD"); }
inline MaybeValue CoreCycles(const TopdownCounts& e) {
  return e.smt() ? e("CPU_CLK_UNHALTED.DISTRIBUTED") : ThreadCycles(e);
}
// Before Ice Lake no event counts them. A thread has half of the cycles in which its core's other
// thread works, and all of the rest (pmu-tools skx_server_ratios.py and hsx_server_ratios.py,
// CORE_CLKS with ebs_mode; Linux pmu-events, without core_wide). The other formula there is half of
// THREAD_ANY. It holds for counts of whole cores only: in a thread's own count the cycles in which
// the other thread sleeps are halved as well. That event also needs a privilege.
inline MaybeValue ShareOfCoreCycles(const TopdownCounts& e) {
  if (!e.smt()) return ThreadCycles(e);
  return ThreadCycles(e) / 2 *
         (1 + e("CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE") / e("CPU_CLK_UNHALTED.REF_XCLK"));
}

// Fractions of the thread's cycles: of those that the event counts, or of its count times the cost
// of one.
inline MaybeValue OfCycles(const TopdownCounts& e, std::string_view event) {
  return e(event) / ThreadCycles(e);
}
template <EventLiteral kEvent, int kCost = 1>
MaybeValue OfCycles(const TopdownCounts& e) {
  return kCost * e(kEvent.text) / ThreadCycles(e);
}
inline MaybeValue AtMostCycles(const TopdownCounts& e, std::string_view event) {
  return Least(ThreadCycles(e), e(event)) / ThreadCycles(e);
}
template <EventLiteral kEvent>
MaybeValue AtMostCycles(const TopdownCounts& e) {
  return AtMostCycles(e, kEvent.text);
}

// Of Skylake and later.
inline MaybeValue LocksOfStores(const TopdownCounts& e) {
  return e("MEM_INST_RETIRED.LOCK_LOADS") / e("MEM_INST_RETIRED.ALL_STORES");
}

// ---- Nodes of levels 1 and 2 that several cores have.

struct IntelNodes {
  // Assumes that a mispredicted branch and a machine clear cost the same.
  static MaybeValue BranchMispredicts(const TopdownCounts& e) {
    return e.Node("Bad_Speculation") * e("BR_MISP_RETIRED.ALL_BRANCHES") /
           (e("BR_MISP_RETIRED.ALL_BRANCHES") + e("MACHINE_CLEARS.COUNT"));
  }
  // Of Skylake-SP and Ice Lake-SP.
  static MaybeValue MemoryBound(const TopdownCounts& e) {
    const MaybeValue stores = e("EXE_ACTIVITY.BOUND_ON_STORES");
    return e.Node("Backend_Bound") * (e("CYCLE_ACTIVITY.STALLS_MEM_ANY") + stores) /
           (e("CYCLE_ACTIVITY.STALLS_TOTAL") + e("EXE_ACTIVITY.1_PORTS_UTIL") +
            e.Node("Retiring") * e("EXE_ACTIVITY.2_PORTS_UTIL") + stores);
  }
};

// Haswell to Skylake: four slots per cycle, which no event counts.
struct FourSlots {
  static constexpr int kSlots = 4;

  static MaybeValue Slots(const TopdownCounts& e) { return kSlots * ShareOfCoreCycles(e); }
  static MaybeValue RecoveryCycles(const TopdownCounts& e) {
    return e.smt() ? e("INT_MISC.RECOVERY_CYCLES_ANY") / 2 : e("INT_MISC.RECOVERY_CYCLES");
  }
  static MaybeValue Frontend(const TopdownCounts& e) {
    return e("IDQ_UOPS_NOT_DELIVERED.CORE") / Slots(e);
  }
  static MaybeValue BadSpeculation(const TopdownCounts& e) {
    return (e("UOPS_ISSUED.ANY") - e("UOPS_RETIRED.RETIRE_SLOTS") + kSlots * RecoveryCycles(e)) /
           Slots(e);
  }
  static MaybeValue Retiring(const TopdownCounts& e) {
    return e("UOPS_RETIRED.RETIRE_SLOTS") / Slots(e);
  }
  static MaybeValue FetchLatency(const TopdownCounts& e) {
    return kSlots * e("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE") / Slots(e);
  }
};

inline constexpr std::string_view kRefinesMemory = "Memory_Bound";

// Level 3 of Memory_Bound for Skylake-SP to Ice Lake-SP (pmu-tools skx_server_ratios.py,
// icx_server_ratios.py): fractions of cycles. `kBuffersFull`: the event of full fill buffers, which
// differs.
template <EventLiteral kBuffersFull>
class CycleActivityLevel3 {
 public:
  static std::vector<TopdownNode> Nodes() {
    return {{"L1_Bound", 3,
             [](C e) { return OfCycles(e, "CYCLE_ACTIVITY.STALLS_MEM_ANY") - L1Missing(e); },
             kRefinesMemory},
            {"L2_Bound", 3,
             [](C e) {
               const MaybeValue hits =
                   e("MEM_LOAD_RETIRED.L2_HIT") *
                   (1 + e("MEM_LOAD_RETIRED.FB_HIT") / e("MEM_LOAD_RETIRED.L1_MISS"));
               return hits / (hits + e(kBuffersFull.text)) * (L1Missing(e) - L2Missing(e));
             },
             kRefinesMemory},
            {"L3_Bound", 3, [](C e) { return L2Missing(e) - L3Missing(e); }, kRefinesMemory},
            {"DRAM_Bound", 3,
             [](C e) { return L3Missing(e) + L1Missing(e) - L2Missing(e) - e.Node("L2_Bound"); },
             kRefinesMemory},
            {"Store_Bound", 3, OfCycles<"EXE_ACTIVITY.BOUND_ON_STORES">, kRefinesMemory}};
  }

  static std::vector<TopdownEvent> Events(const std::string& core, const TopdownEvent& full) {
    return {
        {"CYCLE_ACTIVITY.STALLS_L1D_MISS", 0xC000CA3, "",
         core + "::CYCLE_ACTIVITY:STALLS_L1D_MISS"},
        {"CYCLE_ACTIVITY.STALLS_L2_MISS", 0x50005A3, "", core + "::CYCLE_ACTIVITY:STALLS_L2_MISS"},
        {"CYCLE_ACTIVITY.STALLS_L3_MISS", 0x60006A3, "", core + "::CYCLE_ACTIVITY:STALLS_L3_MISS"},
        {"MEM_LOAD_RETIRED.L2_HIT", 0x2D1, "", core + "::MEM_LOAD_RETIRED:L2_HIT"},
        {"MEM_LOAD_RETIRED.FB_HIT", 0x40D1, "", core + "::MEM_LOAD_RETIRED:FB_HIT"},
        {"MEM_LOAD_RETIRED.L1_MISS", 0x8D1, "", core + "::MEM_LOAD_RETIRED:L1_MISS"},
        full};
  }

 private:
  using C = const TopdownCounts&;
  static MaybeValue L1Missing(C e) { return OfCycles(e, "CYCLE_ACTIVITY.STALLS_L1D_MISS"); }
  static MaybeValue L2Missing(C e) { return OfCycles(e, "CYCLE_ACTIVITY.STALLS_L2_MISS"); }
  static MaybeValue L3Missing(C e) { return OfCycles(e, "CYCLE_ACTIVITY.STALLS_L3_MISS"); }
};

// Appends a list to another.
template <class T>
std::vector<T> Joined(std::vector<T> first, const std::vector<T>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_EVENTS_H_
