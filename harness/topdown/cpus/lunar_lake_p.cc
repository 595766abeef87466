// Lion Cove, the performance core of Lunar Lake and Arrow Lake: eight slots per cycle, no dropped
// uops to subtract. Cougar Cove, of Panther Lake and Wildcat Lake, has the same formulas (pmu-tools
// ptl_cgc_ratios.py) and the same codes of events (perfmon PTL).

#include <string_view>
#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/intel_ports.h"
#include "harness/topdown/cpus/level2_metrics.h"
#include "harness/topdown/metric.h"

namespace topdnn::lunar_lake_p {

namespace {

using C = const TopdownCounts&;
using Formulas = Level2Metrics<8, false, IdlePorts::kCounted, MemoryLevel3::kStalls>;
constexpr EventLiteral kDivider = "ARITH.DIV_ACTIVE";
using Ports = IntelPorts<kDivider, IdlePorts::kCounted, false>;

// A decoder limits in half of the cycles in which it delivers fewer than eight uops, but some, and
// in its share of the single cycles without any.
template <EventLiteral kFew, EventLiteral kUops>
MaybeValue Delivery(C e) {
  return (e(kFew.text) / 2 +
          e(kUops.text) / (e("IDQ.DSB_UOPS") + e("IDQ.MITE_UOPS")) *
              (e("IDQ_BUBBLES.STARVATION_CYCLES") - e("IDQ_BUBBLES.FETCH_LATENCY"))) /
         ThreadCycles(e);
}

MaybeValue StoreLatency(C e) {
  return (1 - LocksOfStores(e)) *
         (OfCycles<"MEM_STORE_RETIRED.L2_HIT", 10>(e) +
          AtMostCycles<"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO">(e));
}

// At least the source's smallest value.
MaybeValue SomeSlots(const MaybeValue& slots) { return 0.0001 + Positive(slots - 0.0001); }

MaybeValue OtherMispredicts(C e) {
  return SomeSlots(e.Node("Branch_Mispredicts") *
                   (1 - e("BR_MISP_RETIRED.ALL_BRANCHES") /
                            (e("INT_MISC.CLEARS_COUNT") - e("MACHINE_CLEARS.COUNT"))));
}

MaybeValue OtherNukes(C e) {
  return SomeSlots(e.Node("Machine_Clears") *
                   (1 - e("MACHINE_CLEARS.MEMORY_ORDERING") / e("MACHINE_CLEARS.COUNT")));
}

// Left out are the nodes that IntelDeeper leaves out, and so Branch_Resteers.
std::vector<TopdownNode> DeeperNodes() {
  constexpr std::string_view kLatency = "Fetch_Latency", kBandwidth = "Fetch_Bandwidth",
                             kL1 = "L1_Bound", kWaits = "Serializing_Operation";
  return {
      {"ICache_Misses", 3, OfCycles<"ICACHE_DATA.STALLS">, kLatency},
      {"ITLB_Misses", 3, OfCycles<"ICACHE_TAG.STALLS">, kLatency},
      {"MS_Switches", 3, OfCycles<"IDQ.MS_SWITCHES", 3>, kLatency},
      {"LCP", 3, OfCycles<"DECODE.LCP">, kLatency},
      {"DSB_Switches", 3, OfCycles<"DSB2MITE_SWITCHES.PENALTY_CYCLES">, kLatency},
      {"MITE", 3, Delivery<"IDQ.MITE_UOPS:c8:inv:eq", "IDQ.MITE_UOPS">, kBandwidth},
      {"DSB", 3, Delivery<"IDQ.DSB_UOPS:c8:inv:eq", "IDQ.DSB_UOPS">, kBandwidth},
      {"LSD", 3, [](C e) { return OfCycles<"LSD.UOPS:c8:inv:eq">(e) / 2; }, kBandwidth},
      {"MS", 3, [](C e) { return OfCycles<"IDQ.MS_CYCLES_ANY">(e) / 1.8; }, kBandwidth},
      {"Other_Mispredicts", 3, OtherMispredicts, "Branch_Mispredicts"},
      {"Other_Nukes", 3, OtherNukes, "Machine_Clears"},
      {"Store_Bound", 3, OfCycles<"EXE_ACTIVITY.BOUND_ON_STORES">, kRefinesMemory},
      {"Serializing_Operation", 3,
       [](C e) {
         return (e("BE_STALLS.SCOREBOARD") + e("CPU_CLK_UNHALTED.C02")) / ThreadCycles(e);
       },
       kRefinesCore},
      {"Store_Fwd_Blk", 4, OfCycles<"LD_BLOCKS.STORE_FORWARD", 13>, kL1},
      {"L1_Latency_Dependency", 4, OfCycles<"DEPENDENT_LOADS.ANY:c1", 4>, kL1},
      {"FB_Full", 4, OfCycles<"L1D_MISS.FB_FULL">, kL1},
      {"SQ_Full", 4, [](C e) { return OfCycles<"XQ.FULL">(e) + OfCycles<"L1D_MISS.L2_STALLS">(e); },
       "L3_Bound"},
      {"MEM_Bandwidth", 4, AtMostCycles<"OFFCORE_REQUESTS_OUTSTANDING.DATA_RD:c4">, "DRAM_Bound"},
      {"MEM_Latency", 4,
       [](C e) {
         return AtMostCycles<"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD">(e) -
                e.Node("MEM_Bandwidth");
       },
       "DRAM_Bound"},
      {"Store_Latency", 4, StoreLatency, "Store_Bound"},
      {"FP_Divider", 4, OfCycles<"ARITH.FPDIV_ACTIVE">, "Divider"},
      {"INT_Divider", 4, [](C e) { return OfCycles<kDivider>(e) - e.Node("FP_Divider"); },
       "Divider"},
      {"Slow_Pause", 4, OfCycles<"CPU_CLK_UNHALTED.PAUSE">, kWaits},
      {"C01_Wait", 4, OfCycles<"CPU_CLK_UNHALTED.C01">, kWaits},
      {"C02_Wait", 4, OfCycles<"CPU_CLK_UNHALTED.C02">, kWaits},
      {"Memory_Fence", 4, OfCycles<"MISC2_RETIRED.LFENCE", 13>, kWaits}};
}

std::vector<TopdownPath> Paths() {
  std::vector<TopdownPath> paths = Formulas::Paths();
  for (TopdownPath& path : paths) {
    path.nodes = Joined(Joined(path.nodes, Ports::Nodes()), DeeperNodes());
  }
  return paths;
}

// Bit 36 compares the count of a cycle with the mask for equality; inverted, it counts from 1 to
// the mask minus 1.
constexpr std::uint64_t kSome = 1ull << 36 | 1 << 23 | 8 << 24;

std::vector<TopdownEvent> DeeperEvents() {
  return {{"ICACHE_DATA.STALLS", 0x480},
          {"ICACHE_TAG.STALLS", 0x483},
          {"DECODE.LCP", 0x187},
          {"DSB2MITE_SWITCHES.PENALTY_CYCLES", 0x261},
          {"IDQ.MITE_UOPS", 0x479},
          {"IDQ.MITE_UOPS:c8:inv:eq", kSome | 0x479},
          {"IDQ.DSB_UOPS", 0x879},
          {"IDQ.DSB_UOPS:c8:inv:eq", kSome | 0x879},
          {"LSD.UOPS:c8:inv:eq", kSome | 0x1A8},
          {"IDQ.MS_CYCLES_ANY", 0x1002079},
          {"IDQ.MS_SWITCHES", 0x1042079},
          {"IDQ_BUBBLES.STARVATION_CYCLES", 0x800019C, "IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE"},
          {"BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, "branch-misses"},
          {"INT_MISC.CLEARS_COUNT", 0x10401AD},
          {"MACHINE_CLEARS.COUNT", 0x10401C3},
          {"MACHINE_CLEARS.MEMORY_ORDERING", 0x2C3},
          {"EXE_ACTIVITY.BOUND_ON_STORES", 0x20040A6},
          {"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 0x80A6},
          {"EXE_ACTIVITY.1_PORTS_UTIL", 0x2A6},
          {"EXE_ACTIVITY.2_PORTS_UTIL", 0x4A6},
          {"UOPS_EXECUTED.CYCLES_GE_3", 0x30001B1},
          {kDivider.text, 0x10009B0},
          {"ARITH.FPDIV_ACTIVE", 0x10001B0},
          {"BE_STALLS.SCOREBOARD", 0x2A2},
          {"CPU_CLK_UNHALTED.C01", 0x10EC},
          {"CPU_CLK_UNHALTED.C02", 0x20EC},
          {"CPU_CLK_UNHALTED.PAUSE", 0x40EC},
          {"MISC2_RETIRED.LFENCE", 0x20E0},
          {"LD_BLOCKS.STORE_FORWARD", 0x8203},
          {"DEPENDENT_LOADS.ANY:c1", 0x1000702},
          {"L1D_MISS.FB_FULL", 0x249},
          {"L1D_MISS.L2_STALLS", 0x449},
          {"XQ.FULL", 0x100012D},
          {"OFFCORE_REQUESTS_OUTSTANDING.DATA_RD:c4", 0x4000820},
          {"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD", 0x1000820},
          {"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO", 0x1000420},
          {"MEM_STORE_RETIRED.L2_HIT", 0x144},
          {"MEM_INST_RETIRED.LOCK_LOADS", 0x21D0},
          {"MEM_INST_RETIRED.ALL_STORES", 0x82D0}};
}

const TopdownRegistration kLunarLakeP({
    .cpu = "lunar_lake_p",
    .alias = {"arrow_lake_p", "lion_cove", "panther_lake_p", "cougar_cove"},
    .source = "pmu-tools ptl_cgc_ratios.py (TMA 5.1, as in Linux pmu-events lunarlake) and "
              "lnl_lnc_ratios.py (TMA 5.02); perfmon LNL, PTL; never run on this CPU",
    .note = "Other_Mispredicts and Other_Nukes are fractions of slots, and not of cycles",
    .pipeline = {.slots = Formulas::kSlots,
                 .reorder_buffer = 576,
                 .op_cache = 5250,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Lion Cove"},
    .events = Joined(Formulas::Events(), DeeperEvents()),
    .paths = Paths(),
    .extras = IntelExtras("", false),
});

}  // namespace

}  // namespace topdnn::lunar_lake_p
