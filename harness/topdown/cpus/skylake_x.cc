// Skylake-SP and Cascade Lake: four slots per cycle, no PERF_METRICS register.

#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/intel_ports.h"
#include "harness/topdown/metric.h"

namespace topdnn::skylake_x {

namespace {

using C = const TopdownCounts&;

MaybeValue BackendBound(C e) {
  return 1 - e.Node("Frontend_Bound") -
         (e("UOPS_ISSUED.ANY") + FourSlots::kSlots * FourSlots::RecoveryCycles(e)) /
             FourSlots::Slots(e);
}

constexpr EventLiteral kBuffersFull = "L1D_PEND_MISS.FB_FULL:c1";
using Level3 = CycleActivityLevel3<kBuffersFull>;

// Core_Bound's parts as in intel_ports.h. If both hardware threads work, uops are counted per core.
constexpr char kOneAndMore[] = "UOPS_EXECUTED.CORE_CYCLES_GE_1";
constexpr char kTwoAndMore[] = "UOPS_EXECUTED.CORE_CYCLES_GE_2";
constexpr char kThreeAndMore[] = "UOPS_EXECUTED.CORE_CYCLES_GE_3";

MaybeValue Ports1(C e) {
  return e.smt() ? (e(kOneAndMore) - e(kTwoAndMore)) / 2 / ShareOfCoreCycles(e)
                 : e("EXE_ACTIVITY.1_PORTS_UTIL") / e("CPU_CLK_UNHALTED.THREAD");
}

MaybeValue Ports2(C e) {
  return e.smt() ? (e(kTwoAndMore) - e(kThreeAndMore)) / 2 / ShareOfCoreCycles(e)
                 : e("EXE_ACTIVITY.2_PORTS_UTIL") / e("CPU_CLK_UNHALTED.THREAD");
}

MaybeValue Ports3AndMore(C e) {
  return e(kThreeAndMore) / (e.smt() ? 2 : 1) / ShareOfCoreCycles(e);
}

std::vector<TopdownNode> PortNodes() {
  return {{"Divider", 3, OfCycles<"ARITH.DIVIDER_ACTIVE">, kRefinesCore},
          {"Ports_Utilized_0", 3, OfCycles<"EXE_ACTIVITY.EXE_BOUND_0_PORTS">, kRefinesCore},
          {"Ports_Utilized_1", 3, Ports1, kRefinesCore},
          {"Ports_Utilized_2", 3, Ports2, kRefinesCore},
          {"Ports_Utilized_3m", 3, Ports3AndMore, kRefinesCore}};
}

// The front end at level 3, and level 4, as fractions of cycles. Left out are nodes whose source
// needs measured latencies, the core's frequency, or events with a value in a register of their
// own.
constexpr char kLockedLoads[] = "MEM_INST_RETIRED.LOCK_LOADS";
constexpr char kManyReads[] = "OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c4";
constexpr char kReads[] = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD";
constexpr char kOwnership[] = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO";

// At most the cycles with a load under way of which none misses the first cache.
MaybeValue WithinHits(C e, const MaybeValue& cycles) {
  return Least(cycles,
               Positive(e("CYCLE_ACTIVITY.CYCLES_MEM_ANY") - e("CYCLE_ACTIVITY.CYCLES_L1D_MISS"))) /
         ThreadCycles(e);
}
MaybeValue Owning(C e) {
  return 11 * e("L2_RQSTS.RFO_HIT") + Least(ThreadCycles(e), e(kOwnership));
}

std::vector<TopdownNode> DeeperNodes() {
  return {
      {"ICache_Misses", 3,
       [](C e) {
         return (e("ICACHE_16B.IFDATA_STALL") + 2 * e("ICACHE_16B.IFDATA_STALL:c1:e1")) /
                ThreadCycles(e);
       },
       "Fetch_Latency"},
      {"ITLB_Misses", 3, OfCycles<"ICACHE_64B.IFTAG_STALL">, "Fetch_Latency"},
      {"DSB_Switches", 3, OfCycles<"DSB2MITE_SWITCHES.PENALTY_CYCLES">, "Fetch_Latency"},
      {"LCP", 3, OfCycles<"ILD_STALL.LCP">, "Fetch_Latency"},
      {"MITE", 3,
       [](C e) {
         return (e("IDQ.ALL_MITE_CYCLES_ANY_UOPS") - e("IDQ.ALL_MITE_CYCLES_4_UOPS")) /
                ShareOfCoreCycles(e) / 2;
       },
       "Fetch_Bandwidth"},
      {"Split_Stores", 4,
       [](C e) { return e("MEM_INST_RETIRED.SPLIT_STORES") / ShareOfCoreCycles(e); },
       "Store_Bound"},
      {"DTLB_Store", 4,
       [](C e) {
         return (9 * e("DTLB_STORE_MISSES.STLB_HIT:c1") + e("DTLB_STORE_MISSES.WALK_ACTIVE")) /
                ShareOfCoreCycles(e);
       },
       "Store_Bound"},
      {"DTLB_Load", 4,
       [](C e) {
         return WithinHits(
             e, 9 * e("DTLB_LOAD_MISSES.STLB_HIT:c1") + e("DTLB_LOAD_MISSES.WALK_ACTIVE"));
       },
       "L1_Bound"},
      {"Store_Fwd_Blk", 4, OfCycles<"LD_BLOCKS.STORE_FORWARD", 13>, "L1_Bound"},
      {"L1_Latency_Dependency", 4,
       [](C e) {
         return WithinHits(e, 0.4 * (e("MEM_INST_RETIRED.ALL_LOADS") -
                                     e("MEM_LOAD_RETIRED.FB_HIT") - e("MEM_LOAD_RETIRED.L1_MISS")));
       },
       "L1_Bound"},
      {"Lock_Latency", 4,
       [](C e) {
         return (12 * Positive(e(kLockedLoads) - e("L2_RQSTS.ALL_RFO")) +
                 LocksOfStores(e) * Owning(e)) /
                ThreadCycles(e);
       },
       "L1_Bound"},
      {"SQ_Full", 4,
       [](C e) {
         return e("OFFCORE_REQUESTS_BUFFER.SQ_FULL") / (e.smt() ? 2 : 1) / ShareOfCoreCycles(e);
       },
       "L3_Bound"},
      {"MEM_Bandwidth", 4, [](C e) { return AtMostCycles(e, kManyReads); }, "DRAM_Bound"},
      {"MEM_Latency", 4, [](C e) { return AtMostCycles(e, kReads) - e.Node("MEM_Bandwidth"); },
       "DRAM_Bound"},
      {"Store_Latency", 4, [](C e) { return (1 - LocksOfStores(e)) * Owning(e) / ThreadCycles(e); },
       "Store_Bound"}};
}

std::vector<TopdownEvent> DeeperEvents() {
  return {{"ICACHE_16B.IFDATA_STALL", 0x480, "", "skx::ICACHE_16B:IFDATA_STALL"},
          {"ICACHE_16B.IFDATA_STALL:c1:e1", 0x1040480, "", "skx::ICACHE_16B:IFDATA_STALL:c=1:e=1"},
          {"ICACHE_64B.IFTAG_STALL", 0x483, "", "skx::ICACHE_64B:IFTAG_STALL"},
          {"DSB2MITE_SWITCHES.PENALTY_CYCLES", 0x2AB, "", "skx::DSB2MITE_SWITCHES:PENALTY_CYCLES"},
          {"ILD_STALL.LCP", 0x187, "DECODE.LCP", "skx::ILD_STALL:LCP"},
          {"IDQ.ALL_MITE_CYCLES_ANY_UOPS", 0x1002479, "", "skx::IDQ:ALL_MITE_CYCLES_ANY_UOPS"},
          {"IDQ.ALL_MITE_CYCLES_4_UOPS", 0x4002479, "", "skx::IDQ:ALL_MITE_CYCLES_4_UOPS"},
          {"MEM_INST_RETIRED.SPLIT_STORES", 0x42D0, "", "skx::MEM_INST_RETIRED:SPLIT_STORES"},
          {"DTLB_STORE_MISSES.STLB_HIT:c1", 0x1002049, "", "skx::DTLB_STORE_MISSES:STLB_HIT:c=1"},
          {"DTLB_STORE_MISSES.WALK_ACTIVE", 0x1001049, "", "skx::DTLB_STORE_MISSES:WALK_ACTIVE"},
          {"CYCLE_ACTIVITY.CYCLES_MEM_ANY", 0x100010A3, "", "skx::CYCLE_ACTIVITY:CYCLES_MEM_ANY"},
          {"CYCLE_ACTIVITY.CYCLES_L1D_MISS", 0x80008A3, "", "skx::CYCLE_ACTIVITY:CYCLES_L1D_MISS"},
          {"DTLB_LOAD_MISSES.STLB_HIT:c1", 0x1002008, "", "skx::DTLB_LOAD_MISSES:STLB_HIT:c=1"},
          {"DTLB_LOAD_MISSES.WALK_ACTIVE", 0x1001008, "", "skx::DTLB_LOAD_MISSES:WALK_ACTIVE"},
          {"LD_BLOCKS.STORE_FORWARD", 0x203, "", "skx::LD_BLOCKS:STORE_FORWARD"},
          {"MEM_INST_RETIRED.ALL_LOADS", 0x81D0, "", "skx::MEM_INST_RETIRED:ALL_LOADS"},
          {"MEM_INST_RETIRED.ALL_STORES", 0x82D0, "", "skx::MEM_INST_RETIRED:ALL_STORES"},
          {kLockedLoads, 0x21D0, "", "skx::MEM_INST_RETIRED:LOCK_LOADS"},
          {"L2_RQSTS.ALL_RFO", 0xE224, "", "skx::L2_RQSTS:ALL_RFO"},
          {"L2_RQSTS.RFO_HIT", 0xC224, "", "skx::L2_RQSTS:RFO_HIT"},
          {"OFFCORE_REQUESTS_BUFFER.SQ_FULL", 0x1B2, "", "skx::OFFCORE_REQUESTS_BUFFER:SQ_FULL"},
          {kManyReads, 0x4000860, "", "skx::OFFCORE_REQUESTS_OUTSTANDING:ALL_DATA_RD:c=4"},
          {kReads, 0x1000860, "", "skx::OFFCORE_REQUESTS_OUTSTANDING:ALL_DATA_RD:c=1"},
          {kOwnership, 0x1000460, "", "skx::OFFCORE_REQUESTS_OUTSTANDING:DEMAND_RFO:c=1"}};
}

const TopdownRegistration kSkylakeX({
    .cpu = "skylake_x",
    .alias = {"cascade_lake", "cascade_lake_x", "cooper_lake_x"},
    .source = "pmu-tools skx_server_ratios.py and clx_server_ratios.py; Intel perfmon SKX, CLX",
    // Ports 0 and 1 multiply and add; with 512 bits, ports 0 and 5.
    .pipeline = {.slots = FourSlots::kSlots,
                 .reorder_buffer = 224,
                 .op_cache = 1536,
                 .fp_256 = 4,
                 .fp_512 = 4,
                 .loads = 2,
                 .stores = 1,
                 .source = "Intel Optimization Reference Manual (248966), chapter 2: Skylake"},
    .events = Joined<TopdownEvent>({{"CPU_CLK_UNHALTED.THREAD", 0x3C, "cycles", "skx::UNHALTED_CORE_CYCLES", kFixedCounter},
               {"CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", 0x23C, "",
                "skx::CPU_CLK_UNHALTED:ONE_THREAD_ACTIVE"},
               {"CPU_CLK_UNHALTED.REF_XCLK", 0x13C, "", "skx::CPU_CLK_UNHALTED:REF_XCLK"},
               {"UOPS_ISSUED.ANY", 0x10E, "", "skx::UOPS_ISSUED:ANY"},
               {"UOPS_RETIRED.RETIRE_SLOTS", 0x2C2, "", "skx::UOPS_RETIRED:RETIRE_SLOTS"},
               {"UOPS_RETIRED.MACRO_FUSED", 0x4C2, "", ""},
               {"INST_RETIRED.ANY", 0xC0, "instructions", "skx::INST_RETIRED:ANY_P", kFixedCounter},
               {"INT_MISC.RECOVERY_CYCLES", 0x10D, "", "skx::INT_MISC:RECOVERY_CYCLES"},
               {"INT_MISC.RECOVERY_CYCLES_ANY", 0x20010D, "", "skx::INT_MISC:RECOVERY_CYCLES_ANY"},
               {"IDQ_UOPS_NOT_DELIVERED.CORE", 0x19C, "", "skx::IDQ_UOPS_NOT_DELIVERED:CORE"},
               {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x400019C, "",
                "skx::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
               {"BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, "branch-misses",
                "skx::BR_MISP_RETIRED:ALL_BRANCHES"},
               {"MACHINE_CLEARS.COUNT", 0x10401C3, "", "skx::MACHINE_CLEARS:COUNT"},
               {"CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x140014A3, "",
                "skx::CYCLE_ACTIVITY:STALLS_MEM_ANY"},
               {"CYCLE_ACTIVITY.STALLS_TOTAL", 0x40004A3, "", "skx::CYCLE_ACTIVITY:STALLS_TOTAL"},
               {"EXE_ACTIVITY.1_PORTS_UTIL", 0x2A6, "", "skx::EXE_ACTIVITY:1_PORTS_UTIL"},
               {"EXE_ACTIVITY.2_PORTS_UTIL", 0x4A6, "", "skx::EXE_ACTIVITY:2_PORTS_UTIL"},
               {"EXE_ACTIVITY.BOUND_ON_STORES", 0x40A6, "", "skx::EXE_ACTIVITY:BOUND_ON_STORES"},
               {"ARITH.DIVIDER_ACTIVE", 0x1000114, "", "skx::ARITH:DIVIDER_ACTIVE"},
               {"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 0x1A6, "", "skx::EXE_ACTIVITY:EXE_BOUND_0_PORTS"},
               {kOneAndMore, 0x10002B1, "", "skx::UOPS_EXECUTED:CORE_CYCLES_GE_1"},
               {kTwoAndMore, 0x20002B1, "", "skx::UOPS_EXECUTED:CORE_CYCLES_GE_2"},
               {kThreeAndMore, 0x30002B1, "", "skx::UOPS_EXECUTED:CORE_CYCLES_GE_3"}},
        Joined(Level3::Events("skx", {kBuffersFull.text, 0x1000248, "", "skx::L1D_PEND_MISS:FB_FULL:c=1"}), DeeperEvents())),
    .paths =
        {{"general counters",
          Joined<TopdownNode>({{"Frontend_Bound", 1, FourSlots::Frontend},
           {"Bad_Speculation", 1, FourSlots::BadSpeculation},
           {"Backend_Bound", 1, BackendBound},
           {"Retiring", 1, FourSlots::Retiring},
           {"Fetch_Latency", 2, FourSlots::FetchLatency},
           {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
           {"Branch_Mispredicts", 2, IntelNodes::BranchMispredicts},
           {"Machine_Clears", 2, Level2Rest::MachineClears},
           {"Memory_Bound", 2, IntelNodes::MemoryBound},
           {"Core_Bound", 2, Level2Rest::CoreBound},
           {"Heavy_Operations", 2,
            [](C e) {
              return (e("UOPS_RETIRED.RETIRE_SLOTS") + e("UOPS_RETIRED.MACRO_FUSED") -
                      e("INST_RETIRED.ANY")) /
                     FourSlots::Slots(e);
            }},
           {"Light_Operations", 2, Level2Rest::LightOperations}},
           Joined(Joined(Level3::Nodes(), PortNodes()), DeeperNodes()))}},
    .extras = IntelExtras("skx", false),
});

}  // namespace

}  // namespace topdnn::skylake_x
