// The servers of Haswell and Broadwell: four slots per cycle, no PERF_METRICS register.

#include <cstdint>
#include <string>
#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/intel_ports.h"
#include "harness/topdown/metric.h"

namespace topdnn::haswell_x {

namespace {

using C = const TopdownCounts&;

// Cycles without any uop delivered: at most all cycles.
MaybeValue FetchLatencyOfHaswell(C e) {
  return FourSlots::kSlots *
         Least(e("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE"), ThreadCycles(e)) /
         FourSlots::Slots(e);
}

std::vector<TopdownPath> Paths(MaybeValue (*fetch_latency)(C)) {
  return {{"general counters",
           {{"Frontend_Bound", 1, FourSlots::Frontend},
            {"Bad_Speculation", 1, FourSlots::BadSpeculation},
            {"Retiring", 1, FourSlots::Retiring},
            {"Backend_Bound", 1,
             [](C e) {
               return 1 -
                      (e.Node("Frontend_Bound") + e.Node("Bad_Speculation") + e.Node("Retiring"));
             }},
            {"Fetch_Latency", 2, fetch_latency},
            {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
            {"Branch_Mispredicts", 2, IntelNodes::BranchMispredicts},
            {"Machine_Clears", 2, Level2Rest::MachineClears}}}};
}

std::vector<TopdownEvent> Events(const std::string& core) {
  return {
      {"CPU_CLK_UNHALTED.THREAD", 0x3C, "cycles", core + "::UNHALTED_CORE_CYCLES", kFixedCounter},
      {"CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0x23C, "",
       core + "::CPU_CLK_UNHALTED:ONE_THREAD_ACTIVE"},
      {"CPU_CLK_UNHALTED.REF_XCLK", 0x13C, "", core + "::CPU_CLK_UNHALTED:REF_XCLK"},
      {"UOPS_ISSUED.ANY", 0x10E, "", core + "::UOPS_ISSUED:ANY"},
      {"UOPS_RETIRED.RETIRE_SLOTS", 0x2C2, "", core + "::UOPS_RETIRED:RETIRE_SLOTS"},
      {"INT_MISC.RECOVERY_CYCLES", 0x100030D, "", core + "::INT_MISC:RECOVERY_CYCLES"},
      {"INT_MISC.RECOVERY_CYCLES_ANY", 0x120030D, "", ""},
      {"IDQ_UOPS_NOT_DELIVERED.CORE", 0x19C, "", core + "::IDQ_UOPS_NOT_DELIVERED:CORE"},
      {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x400019C, "",
       core + "::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
      {"BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, "branch-misses",
       core + "::BR_MISP_RETIRED:ALL_BRANCHES"},
      {"MACHINE_CLEARS.COUNT", 0x10401C3, "", core + "::MACHINE_CLEARS:COUNT"}};
}

constexpr char kIdle[] = "CYCLE_ACTIVITY.CYCLES_NO_EXECUTE";
constexpr char kLoading[] = "CYCLE_ACTIVITY.STALLS_LDM_PENDING";
constexpr char kMissL1[] = "CYCLE_ACTIVITY.STALLS_L1D_PENDING";
constexpr char kMissL2[] = "CYCLE_ACTIVITY.STALLS_L2_PENDING";
constexpr EventLiteral kOwning = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO";
constexpr EventLiteral kReading = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD";
// Cycles in which the core or the thread executes at least one, two and three uops.
constexpr const char* kOfCore[] = {"UOPS_EXECUTED.CORE_CYCLES_GE_1",
                                   "UOPS_EXECUTED.CORE_CYCLES_GE_2",
                                   "UOPS_EXECUTED.CORE_CYCLES_GE_3"};
constexpr const char* kOfThread[] = {"UOPS_EXECUTED.CYCLES_GE_1_UOP_EXEC",
                                     "UOPS_EXECUTED.CYCLES_GE_2_UOPS_EXEC",
                                     "UOPS_EXECUTED.CYCLES_GE_3_UOPS_EXEC"};

// One of two values. Absent if either is: the source reads both.
MaybeValue IfAbove(const MaybeValue& value, double limit, const MaybeValue& above,
                   const MaybeValue& below) {
  const bool is_above = value.get() && *value.get() > limit;
  return (is_above ? above : below) + 0 * (value + above + below);
}

// Cycles in which the front end left the scheduler empty.
MaybeValue EmptyCycles(C e) {
  return IfAbove(e.Node("Fetch_Latency"), 0.1, e("RS_EVENTS.EMPTY_CYCLES"), 0);
}

MaybeValue HitsL3(C e) {
  const MaybeValue hits = e("MEM_LOAD_UOPS_RETIRED.L3_HIT");
  return hits / (hits + 7 * e("MEM_LOAD_UOPS_RETIRED.L3_MISS"));
}
MaybeValue LocksOfStoreUops(C e) {
  return e("MEM_UOPS_RETIRED.LOCK_LOADS") / e("MEM_UOPS_RETIRED.ALL_STORES");
}

// The back end: level 2, and levels 3 and 4 as fractions of cycles. Left out are the TLB's nodes,
// whose formulas differ most, and those whose source needs latencies or events with a value in a
// register of their own.
template <bool kBroadwell>
class Deeper {
 public:
  static std::vector<TopdownPath> Paths() {
    constexpr std::string_view kMemory = kRefinesMemory, kCore = kRefinesCore, kL1 = "L1_Bound";
    auto paths = haswell_x::Paths(kBroadwell ? FourSlots::FetchLatency : FetchLatencyOfHaswell);
    paths[0].nodes = Joined<TopdownNode>(
        paths[0].nodes,
        {{"Memory_Bound", 2, MemoryBound},
         {"Core_Bound", 2, Level2Rest::CoreBound},
         {"L1_Bound", 3, [](C e) { return (Stalls(e, kLoading) - e(kMissL1)) / ThreadCycles(e); },
          kMemory},
         {"L2_Bound", 3, [](C e) { return (e(kMissL1) - e(kMissL2)) / ThreadCycles(e); }, kMemory},
         {"L3_Bound", 3, [](C e) { return HitsL3(e) * e(kMissL2) / ThreadCycles(e); }, kMemory},
         {"DRAM_Bound", 3, [](C e) { return (1 - HitsL3(e)) * e(kMissL2) / ThreadCycles(e); },
          kMemory},
         {"Store_Bound", 3, OfCycles<"RESOURCE_STALLS.SB">, kMemory},
         {"Divider", 3,
          [](C e) {
            return (kBroadwell ? e("ARITH.FPU_DIV_ACTIVE") : 10 * e("ARITH.DIVIDER_UOPS")) /
                   ShareOfCoreCycles(e);
          },
          kCore},
         {"Ports_Utilized_0", 3,
          [](C e) {
            return (e.smt() ? e("UOPS_EXECUTED.CORE:inv:c1") / 2
                            : Stalls(e, kIdle) - EmptyCycles(e)) /
                   ShareOfCoreCycles(e);
          },
          kCore},
         {"Ports_Utilized_1", 3,
          [](C e) { return (Busy(e, 1) - Busy(e, 2)) / ShareOfCoreCycles(e); }, kCore},
         {"Ports_Utilized_2", 3,
          [](C e) { return (Busy(e, 2) - Busy(e, 3)) / ShareOfCoreCycles(e); }, kCore},
         {"Ports_Utilized_3m", 3, [](C e) { return Busy(e, 3) / ShareOfCoreCycles(e); }, kCore},
         {"Store_Fwd_Blk", 4, OfCycles<"LD_BLOCKS.STORE_FORWARD", 13>, kL1},
         {"Lock_Latency", 4, [](C e) { return LocksOfStoreUops(e) * AtMostCycles<kOwning>(e); },
          kL1},
         {"4K_Aliasing", 4, OfCycles<"LD_BLOCKS_PARTIAL.ADDRESS_ALIAS">, kL1},
         {"SQ_Full", 4,
          [](C e) {
            return e("OFFCORE_REQUESTS_BUFFER.SQ_FULL") / (e.smt() ? 2 : 1) / ShareOfCoreCycles(e);
          },
          "L3_Bound"},
         {"MEM_Bandwidth", 4, AtMostCycles<kManyReads>, "DRAM_Bound"},
         {"MEM_Latency", 4, [](C e) { return AtMostCycles<kReading>(e) - e.Node("MEM_Bandwidth"); },
          "DRAM_Bound"},
         {"Store_Latency", 4,
          [](C e) {
            return (1 - LocksOfStoreUops(e)) *
                   (OfCycles<"L2_RQSTS.RFO_HIT", 9>(e) + AtMostCycles<kOwning>(e));
          },
          "Store_Bound"},
         {"Split_Stores", 4,
          [](C e) { return 2 * e("MEM_UOPS_RETIRED.SPLIT_STORES") / ShareOfCoreCycles(e); },
          "Store_Bound"}});
    return paths;
  }

  static std::vector<TopdownEvent> Events(const std::string& core) {
    const std::string offcore = core + "::OFFCORE_REQUESTS_OUTSTANDING:";
    std::vector<TopdownEvent> events = Joined<TopdownEvent>(
        haswell_x::Events(core),
        {{"INST_RETIRED.ANY", 0xC0, "instructions", core + "::INST_RETIRED:ANY_P", kFixedCounter},
         {"UOPS_EXECUTED.CORE:inv:c1", 0x18002B1, "", core + "::UOPS_EXECUTED:CORE:i=1:c=1"},
         {"L2_RQSTS.RFO_HIT", 0xC224},  // libpfm4 has another code
         {kManyReads.text, kBroadwell ? 0x4000860u : 0x6000860u, "",
          offcore + (kBroadwell ? "ALL_DATA_RD:c=4" : "ALL_DATA_RD:c=6")},
         {kReading.text, 0x1000860, "", offcore + "ALL_DATA_RD:c=1"},
         {kOwning.text, 0x1000460, "", offcore + "DEMAND_RFO:c=1"}});
    // For the stalls, Broadwell has other names too, which perf's metrics use.
    const auto add = [&](std::string name, std::uint64_t code, const std::string& perf = {}) {
      const std::size_t point = name.find('.');
      events.push_back({name, code, perf, core + "::" + name.replace(point, 1, ":")});
    };
    add(kIdle, 0x40004A3, "CYCLE_ACTIVITY.STALLS_TOTAL");
    add(kLoading, 0x60006A3, "CYCLE_ACTIVITY.STALLS_MEM_ANY");
    add(kMissL1, 0xC000CA3, "CYCLE_ACTIVITY.STALLS_L1D_MISS");
    add(kMissL2, 0x50005A3, "CYCLE_ACTIVITY.STALLS_L2_MISS");
    for (std::uint64_t uops = 1; uops <= 3; ++uops) {
      add(kOfCore[uops - 1], uops << 24 | 0x2B1);
      if (kBroadwell) add(kOfThread[uops - 1], uops << 24 | 0x1B1);
    }
    add("RS_EVENTS.EMPTY_CYCLES", 0x15E);
    add("RESOURCE_STALLS.SB", 0x8A2);
    add("MEM_LOAD_UOPS_RETIRED.L3_HIT", 0x4D1);
    add("MEM_LOAD_UOPS_RETIRED.L3_MISS", 0x20D1);
    add("MEM_UOPS_RETIRED.LOCK_LOADS", 0x21D0);
    add("MEM_UOPS_RETIRED.ALL_STORES", 0x82D0);
    add("MEM_UOPS_RETIRED.SPLIT_STORES", 0x42D0);
    add("LD_BLOCKS.STORE_FORWARD", 0x203);
    add("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS", 0x107);
    add("OFFCORE_REQUESTS_BUFFER.SQ_FULL", 0x1B2);
    add(kBroadwell ? "ARITH.FPU_DIV_ACTIVE" : "ARITH.DIVIDER_UOPS", kBroadwell ? 0x114 : 0x214);
    return events;
  }

 private:
  static constexpr EventLiteral kManyReads =
      kBroadwell ? EventLiteral("OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c4")
                 : EventLiteral("OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c6");

  // Haswell's counts may exceed all cycles.
  static MaybeValue Stalls(C e, const char* event) {
    return kBroadwell ? e(event) : Least(ThreadCycles(e), e(event));
  }

  static MaybeValue Busy(C e, int uops) {
    if (e.smt()) return e(kOfCore[uops - 1]) / 2;
    return e(kBroadwell ? kOfThread[uops - 1] : kOfCore[uops - 1]);
  }

  static MaybeValue MemoryBound(C e) {
    const auto busy = [&e](int uops) {
      return kBroadwell ? e(kOfThread[uops - 1]) : Busy(e, uops);
    };
    const MaybeValue few = IfAbove(e("INST_RETIRED.ANY") / ThreadCycles(e), 1.8, busy(3), busy(2));
    const MaybeValue stores = e("RESOURCE_STALLS.SB");
    return (Stalls(e, kLoading) + stores) /
           (Stalls(e, kIdle) + busy(1) - few - EmptyCycles(e) + stores) * e.Node("Backend_Bound");
  }
};

const TopdownRegistration kHaswellX({
    .cpu = "haswell_x",
    .source = "pmu-tools hsx_server_ratios.py; from the back end's level 2 on, Linux pmu-events "
              "haswellx (TMA 4.5); never run on this CPU",
    .pipeline = {.slots = FourSlots::kSlots, .source = "the same as the formulas"},
    .events = Deeper<false>::Events("hsw_ep"),
    .paths = Deeper<false>::Paths(),
});

const TopdownRegistration kBroadwellX({
    .cpu = "broadwell_x",
    .source =
        "pmu-tools hsx_server_ratios.py, bdx_server_ratios.py; from the back end's level 2 on, "
        "Linux pmu-events broadwellx (TMA 4.5); never run on this CPU",
    .pipeline = {.slots = FourSlots::kSlots, .source = "the same as the formulas"},
    .events = Deeper<true>::Events("bdw_ep"),
    .paths = Deeper<true>::Paths(),
});

}  // namespace

}  // namespace topdnn::haswell_x
