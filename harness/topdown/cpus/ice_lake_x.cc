// Ice Lake-SP: five slots per cycle; PERF_METRICS gives only level 1.

#include "harness/topdown/cpus/intel_deeper.h"
#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/intel_ports.h"
#include "harness/topdown/metric.h"

namespace topdnn::ice_lake_x {

namespace {

using C = const TopdownCounts&;

constexpr int kSlots = 5;  // per cycle

MaybeValue Slots(C e) { return e("TOPDOWN.SLOTS"); }

MaybeValue MetricsSum(C e) {
  return e("PERF_METRICS.RETIRING") + e("PERF_METRICS.BAD_SPECULATION") +
         e("PERF_METRICS.FRONTEND_BOUND") + e("PERF_METRICS.BACKEND_BOUND");
}

// The slots that a pipeline clear leaves empty. PERF_METRICS counts them neither as front end nor
// as back end; Backend_Bound adds them, as in pmu-tools.
MaybeValue ClearSlots(C e) { return kSlots * e("INT_MISC.CLEARS_COUNT") / Slots(e); }

// The remainder, and not PERF_METRICS.BAD_SPECULATION, because other events correct the other
// nodes.
MaybeValue BadSpeculation(C e) {
  return 1 - e.Node("Frontend_Bound") - e.Node("Backend_Bound") - e.Node("Retiring");
}

MaybeValue FetchLatency(C e) {
  return (kSlots * e("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE") -
          e("INT_MISC.UOP_DROPPING")) /
         Slots(e);
}

// The microcode sequencer's share, and the instructions of several uops that only decoder 0 takes.
MaybeValue HeavyOperations(C e) {
  return e("UOPS_RETIRED.SLOTS") / e("UOPS_ISSUED.ANY") * e("IDQ.MS_UOPS") / Slots(e) +
         e.Node("Retiring") * (e("UOPS_DECODED.DEC0") - e("UOPS_DECODED.DEC0:c1")) /
             e("IDQ.MITE_UOPS");
}

constexpr EventLiteral kBuffersFull = "L1D_PEND_MISS.FB_FULL_PERIODS";
using Level3 = CycleActivityLevel3<kBuffersFull>;

constexpr EventLiteral kDivider = "ARITH.DIVIDER_ACTIVE";
using Ports = IntelPorts<kDivider, IdlePorts::kCounted>;
using Deeper = IntelDeeper<DeepCore::kIceLake>;

std::vector<TopdownNode> Path(MaybeValue (*frontend)(C), MaybeValue (*backend)(C),
                              MaybeValue (*retiring)(C)) {
  return Joined<TopdownNode>(
      {
          {"Frontend_Bound", 1, frontend},
          {"Backend_Bound", 1, backend},
          {"Retiring", 1, retiring},
          {"Bad_Speculation", 1, BadSpeculation},
          {"Fetch_Latency", 2, FetchLatency},
          {"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth},
          {"Branch_Mispredicts", 2, IntelNodes::BranchMispredicts},
          {"Machine_Clears", 2, Level2Rest::MachineClears},
          {"Memory_Bound", 2, IntelNodes::MemoryBound},
          {"Core_Bound", 2, Level2Rest::CoreBound},
          {"Heavy_Operations", 2, HeavyOperations},
          {"Light_Operations", 2, Level2Rest::LightOperations},
      },
      Joined(Joined(Level3::Nodes(), Ports::Nodes()), Deeper::Nodes()));
}

const TopdownRegistration kIceLakeX({
    .cpu = "ice_lake_x",
    .source = "pmu-tools icx_server_ratios.py; Linux pmu-events icelakex; Intel perfmon ICX",
    .pipeline = {.slots = kSlots,
                 .reorder_buffer = 352,
                 .op_cache = 2304,
                 .fp_256 = 4,
                 .fp_512 = 4,
                 .loads = 2,
                 .stores = 2,
                 .source =
                     "Intel Optimization Reference Manual (248966), chapter 2: Ice Lake Client"},
    .events = Joined<TopdownEvent>(
        {{"CPU_CLK_UNHALTED.THREAD", 0x3C, "cycles", "icx::UNHALTED_CORE_CYCLES", kFixedCounter},
         {"TOPDOWN.SLOTS", 0x400, "slots", "", kFixedCounter},
         {"PERF_METRICS.RETIRING", 0x8000, "topdown-retiring", "", kFixedCounter},
         {"PERF_METRICS.BAD_SPECULATION", 0x8100, "topdown-bad-spec", "", kFixedCounter},
         {"PERF_METRICS.FRONTEND_BOUND", 0x8200, "topdown-fe-bound", "", kFixedCounter},
         {"PERF_METRICS.BACKEND_BOUND", 0x8300, "topdown-be-bound", "", kFixedCounter},
         {"INT_MISC.UOP_DROPPING", 0x100D, "", "icx::INT_MISC:UOP_DROPPING"},
         {"INT_MISC.CLEARS_COUNT", 0x104010D, "", "icx::INT_MISC:CLEARS_COUNT"},
         {"IDQ_UOPS_NOT_DELIVERED.CORE", 0x19C, "", "icx::IDQ_UOPS_NOT_DELIVERED:CORE"},
         {"IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x500019C, "",
          "icx::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"},
         {"TOPDOWN.BACKEND_BOUND_SLOTS", 0x2A4, "", ""},
         {"IDQ.MS_UOPS", 0x3079, "", "icx::IDQ:MS_UOPS"},
         {"IDQ.MITE_UOPS", 0x479, "", "icx::IDQ:MITE_UOPS"},
         {"UOPS_DECODED.DEC0", 0x156, "", "icx::UOPS_DECODED:DEC0"},
         {"UOPS_DECODED.DEC0:c1", 0x1000156, "", "icx::UOPS_DECODED:DEC0:c=1"},
         {"UOPS_ISSUED.ANY", 0x10E, "", "icx::UOPS_ISSUED:ANY"},
         {"UOPS_RETIRED.SLOTS", 0x2C2, "", "icx::UOPS_RETIRED:SLOTS"},
         {"BR_MISP_RETIRED.ALL_BRANCHES", 0xC5, "branch-misses", ""},
         {"MACHINE_CLEARS.COUNT", 0x10401C3, "", "icx::MACHINE_CLEARS:COUNT"},
         {"CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x140014A3, "", "icx::CYCLE_ACTIVITY:STALLS_MEM_ANY"},
         {"CYCLE_ACTIVITY.STALLS_TOTAL", 0x40004A3, "", "icx::CYCLE_ACTIVITY:STALLS_TOTAL"},
         {"EXE_ACTIVITY.1_PORTS_UTIL", 0x2A6, "", "icx::EXE_ACTIVITY:1_PORTS_UTIL"},
         {"EXE_ACTIVITY.2_PORTS_UTIL", 0x4A6, "", "icx::EXE_ACTIVITY:2_PORTS_UTIL"},
         {"EXE_ACTIVITY.BOUND_ON_STORES", 0x20040A6, "", "icx::EXE_ACTIVITY:BOUND_ON_STORES"},
         {kDivider.text, 0x1000914, "", "icx::ARITH:DIVIDER_ACTIVE"},
         // An undocumented mask; in pmu-tools: 3_PORTS_UTIL:u0x80.
         {"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 0x80A6, "", ""},
         {"UOPS_EXECUTED.CYCLES_GE_3", 0x30001B1, "", "icx::UOPS_EXECUTED:CYCLES_GE_3"}},
        Joined(Level3::Events("icx", {kBuffersFull.text, 0x1040248, "",
                                      "icx::L1D_PEND_MISS:FB_FULL_PERIODS"}),
               Deeper::Events("icx"))),
    .paths = {{"PERF_METRICS",
               Path(
                   [](C e) {
                     return e("PERF_METRICS.FRONTEND_BOUND") / MetricsSum(e) -
                            e("INT_MISC.UOP_DROPPING") / Slots(e);
                   },
                   [](C e) {
                     return e("PERF_METRICS.BACKEND_BOUND") / MetricsSum(e) + ClearSlots(e);
                   },
                   [](C e) { return e("PERF_METRICS.RETIRING") / MetricsSum(e); }),
               "topdown-retiring"},
              {"general counters",
               Path(
                   [](C e) {
                     return (e("IDQ_UOPS_NOT_DELIVERED.CORE") - e("INT_MISC.UOP_DROPPING")) /
                            Slots(e);
                   },
                   [](C e) { return e("TOPDOWN.BACKEND_BOUND_SLOTS") / Slots(e) + ClearSlots(e); },
                   [](C e) { return e("UOPS_RETIRED.SLOTS") / Slots(e); })}},
    .extras = IntelExtras("icx", false),
});

}  // namespace

}  // namespace topdnn::ice_lake_x
