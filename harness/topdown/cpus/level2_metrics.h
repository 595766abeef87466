// The formulas of the cores whose PERF_METRICS register gives levels 1 and 2 (Golden Cove onwards),
// and of the same cores in a guest that has only general counters.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_LEVEL2_METRICS_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_LEVEL2_METRICS_H_

#include <utility>
#include <vector>

#include "harness/topdown/cpus/intel_deeper.h"
#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/cpus/intel_ports.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// The level-3 nodes of a core.
enum class MemoryLevel3 {
  kActivity,        // MEMORY_ACTIVITY: nested stalls; the parts of Core_Bound, and deeper: servers
  kClientActivity,  // the same without AMX: clients
  kStalls,          // MEMORY_STALLS: stalls by the level that answers (Lion Cove)
};

// `kWidth`: slots per cycle. `kDropping`: uops dropped at the front end's exit are counted as not
// delivered (INT_MISC.UOP_DROPPING) and must be subtracted; Bad_Speculation is then the remainder.
// `kIdle` selects the formula for idle ports.
template <int kWidth, bool kDropping, IdlePorts kIdle = IdlePorts::kCounted,
          MemoryLevel3 kLevel3 = MemoryLevel3::kActivity>
class Level2Metrics {
 public:
  static constexpr int kSlots = kWidth;

  static std::vector<TopdownPath> Paths() {
    return {{"PERF_METRICS", MetricNodes(), "topdown-retiring"},
            {"general counters", CounterNodes()}};
  }

  static std::vector<TopdownEvent> Events() {
    std::vector<TopdownEvent> events = {
        {"TOPDOWN.SLOTS", 0x400, "slots", "", kFixedCounter},
        {"PERF_METRICS.RETIRING", 0x8000, "topdown-retiring", "", kFixedCounter},
        {"PERF_METRICS.BAD_SPECULATION", 0x8100, "topdown-bad-spec", "", kFixedCounter},
        {"PERF_METRICS.FRONTEND_BOUND", 0x8200, "topdown-fe-bound", "", kFixedCounter},
        {"PERF_METRICS.BACKEND_BOUND", 0x8300, "topdown-be-bound", "", kFixedCounter},
        {"PERF_METRICS.HEAVY_OPERATIONS", 0x8400, "topdown-heavy-ops", "", kFixedCounter},
        {"PERF_METRICS.BRANCH_MISPREDICTS", 0x8500, "topdown-br-mispredict", "", kFixedCounter},
        {"PERF_METRICS.FETCH_LATENCY", 0x8600, "topdown-fetch-lat", "", kFixedCounter},
        {"PERF_METRICS.MEMORY_BOUND", 0x8700, "topdown-mem-bound", "", kFixedCounter},
        {"IDQ_BUBBLES.CORE", 0x19C, "IDQ_UOPS_NOT_DELIVERED.CORE",
         "spr::IDQ_UOPS_NOT_DELIVERED:CORE"},
        {"TOPDOWN.BACKEND_BOUND_SLOTS", 0x2A4, "", ""},
        {"TOPDOWN.BR_MISPREDICT_SLOTS", 0x8A4, "", "", kFirstCounter},
        {"TOPDOWN.MEMORY_BOUND_SLOTS", 0x10A4, "", ""},
        {"UOPS_RETIRED.HEAVY", 0x1C2, "", "spr::UOPS_RETIRED:HEAVY"},
        {"UOPS_RETIRED.SLOTS", 0x2C2, "", "spr::UOPS_RETIRED:SLOTS"}};
    events.push_back(
        {"CPU_CLK_UNHALTED.THREAD", 0x3C, "cycles", "spr::UNHALTED_CORE_CYCLES", kFixedCounter});
    if (kLevel3 == MemoryLevel3::kStalls) {
      AddStallEvents(events);
      return events;
    }
    events.push_back({"IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE", (std::uint64_t{kWidth} << 24) | 0x19C,
                      "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
                      "spr::IDQ_UOPS_NOT_DELIVERED:CYCLES_0_UOPS_DELIV_CORE"});
    events.push_back({"INT_MISC.UOP_DROPPING", 0x10AD, "", "spr::INT_MISC:UOP_DROPPING"});
    AddActivityEvents(events);
    AddPortEvents(events);
    return Joined(std::move(events), Deeper::Events(kRedwood ? "" : "spr"));
  }

 private:
  using C = const TopdownCounts&;

  static constexpr EventLiteral kDivider = "ARITH.DIV_ACTIVE";
  static constexpr bool kClient = kLevel3 == MemoryLevel3::kClientActivity;
  using Ports = IntelPorts<kDivider, kIdle, !kClient>;
  static constexpr bool kRedwood = kIdle == IdlePorts::kWithoutSerializing;
  using Deeper = IntelDeeper<kRedwood && kClient ? DeepCore::kRedwoodCoveClient
                             : kRedwood          ? DeepCore::kRedwoodCove
                             : kClient           ? DeepCore::kGoldenCoveClient
                                                 : DeepCore::kGoldenCove>;

  // Level 3 is in fractions of cycles. Lion Cove (pmu-tools lnl_lnc_ratios.py; Linux pmu-events
  // lunarlake).
  static void AddStallEvents(std::vector<TopdownEvent>& events) {
    events.push_back({"IDQ_BUBBLES.FETCH_LATENCY", 0x49C, "", ""});
    events.push_back({"MEMORY_STALLS.L1", 0x146, "", ""});
    events.push_back({"MEMORY_STALLS.L2", 0x246, "", ""});
    events.push_back({"MEMORY_STALLS.L3", 0x446, "", ""});
    events.push_back({"MEMORY_STALLS.MEM", 0x846, "", ""});
  }

  // The cores before it (pmu-tools spr_server_ratios.py, gnr_server_ratios.py).
  static void AddActivityEvents(std::vector<TopdownEvent>& events) {
    events.push_back(
        {"EXE_ACTIVITY.BOUND_ON_LOADS", 0x50021A6, "", "spr::EXE_ACTIVITY:BOUND_ON_LOADS"});
    events.push_back(
        {"EXE_ACTIVITY.BOUND_ON_STORES", 0x20040A6, "", "spr::EXE_ACTIVITY:BOUND_ON_STORES"});
    events.push_back(
        {"MEMORY_ACTIVITY.STALLS_L1D_MISS", 0x3000347, "", "spr::MEMORY_ACTIVITY:STALLS_L1D_MISS"});
    events.push_back(
        {"MEMORY_ACTIVITY.STALLS_L2_MISS", 0x5000547, "", "spr::MEMORY_ACTIVITY:STALLS_L2_MISS"});
    events.push_back(
        {"MEMORY_ACTIVITY.STALLS_L3_MISS", 0x9000947, "", "spr::MEMORY_ACTIVITY:STALLS_L3_MISS"});
  }

  static void AddPortEvents(std::vector<TopdownEvent>& events) {
    events.push_back({kDivider.text, 0x10009B0, "", "spr::ARITH:DIV_ACTIVE"});
    if (!kClient) events.push_back({"EXE.AMX_BUSY", 0x2B7, "", ""});
    events.push_back({"EXE_ACTIVITY.EXE_BOUND_0_PORTS", 0x80A6, "", ""});
    events.push_back({"EXE_ACTIVITY.1_PORTS_UTIL", 0x2A6, "", "spr::EXE_ACTIVITY:1_PORTS_UTIL"});
    events.push_back({"EXE_ACTIVITY.2_PORTS_UTIL", 0x4A6, "", "spr::EXE_ACTIVITY:2_PORTS_UTIL"});
    if (kIdle == IdlePorts::kOfStalls) {
      events.push_back({"RS.EMPTY_RESOURCE", 0x1A5, "", ""});
      events.push_back(
          {"CYCLE_ACTIVITY.STALLS_TOTAL", 0x40004A3, "", "spr::CYCLE_ACTIVITY:STALLS_TOTAL"});
    }
    events.push_back({"RESOURCE_STALLS.SCOREBOARD", 0x2A2, "", "spr::RESOURCE_STALLS:SCOREBOARD"});
    events.push_back(
        {"UOPS_EXECUTED.CYCLES_GE_3", 0x30001B1, "", "spr::UOPS_EXECUTED:CYCLES_GE_3"});
  }

  static MaybeValue L1Missing(C e) { return OfCycles(e, "MEMORY_ACTIVITY.STALLS_L1D_MISS"); }
  static MaybeValue L2Missing(C e) { return OfCycles(e, "MEMORY_ACTIVITY.STALLS_L2_MISS"); }
  static MaybeValue L3Missing(C e) { return OfCycles(e, "MEMORY_ACTIVITY.STALLS_L3_MISS"); }

  static void AddLevel3(std::vector<TopdownNode>& nodes) {
    constexpr std::string_view kMemory = "Memory_Bound";
    if (kLevel3 == MemoryLevel3::kStalls) {
      nodes.push_back({"L1_Bound", 3, OfCycles<"MEMORY_STALLS.L1">, kMemory});
      nodes.push_back({"L2_Bound", 3, OfCycles<"MEMORY_STALLS.L2">, kMemory});
      nodes.push_back({"L3_Bound", 3, OfCycles<"MEMORY_STALLS.L3">, kMemory});
      nodes.push_back({"DRAM_Bound", 3, OfCycles<"MEMORY_STALLS.MEM">, kMemory});
      return;
    }
    nodes.push_back({"L1_Bound", 3,
                     [](C e) { return OfCycles(e, "EXE_ACTIVITY.BOUND_ON_LOADS") - L1Missing(e); },
                     kMemory});
    nodes.push_back({"L2_Bound", 3, [](C e) { return L1Missing(e) - L2Missing(e); }, kMemory});
    nodes.push_back({"L3_Bound", 3, [](C e) { return L2Missing(e) - L3Missing(e); }, kMemory});
    nodes.push_back({"DRAM_Bound", 3, L3Missing, kMemory});
    nodes.push_back({"Store_Bound", 3, OfCycles<"EXE_ACTIVITY.BOUND_ON_STORES">, kMemory});
    nodes = Joined(Joined(std::move(nodes), Ports::Nodes()), Deeper::Nodes());
  }

  static MaybeValue Slots(C e) { return e("TOPDOWN.SLOTS"); }

  // The fields have only 8 bits, so the four of level 1 need not add up to the slots.
  static MaybeValue Sum(C e) {
    return e("PERF_METRICS.RETIRING") + e("PERF_METRICS.BAD_SPECULATION") +
           e("PERF_METRICS.FRONTEND_BOUND") + e("PERF_METRICS.BACKEND_BOUND");
  }

  static MaybeValue Dropped(C e) {
    return kDropping ? e("INT_MISC.UOP_DROPPING") / Slots(e) : MaybeValue(0);
  }

  static MaybeValue Remainder(C e) {
    return 1 - e.Node("Frontend_Bound") - e.Node("Backend_Bound") - e.Node("Retiring");
  }

  // Each level-2 pair: one node is counted, its sibling is the rest of the parent.
  static void AddSiblings(std::vector<TopdownNode>& nodes) {
    nodes.push_back({"Fetch_Bandwidth", 2, Level2Rest::FetchBandwidth});
    nodes.push_back({"Machine_Clears", 2, Level2Rest::MachineClears});
    nodes.push_back({"Core_Bound", 2, Level2Rest::CoreBound});
    nodes.push_back({"Light_Operations", 2, Level2Rest::LightOperations});
    AddLevel3(nodes);
  }

  static std::vector<TopdownNode> MetricNodes() {
    std::vector<TopdownNode> nodes = {
        {"Frontend_Bound", 1,
         [](C e) { return e("PERF_METRICS.FRONTEND_BOUND") / Sum(e) - Dropped(e); }},
        {"Backend_Bound", 1, [](C e) { return e("PERF_METRICS.BACKEND_BOUND") / Sum(e); }},
        {"Retiring", 1, [](C e) { return e("PERF_METRICS.RETIRING") / Sum(e); }},
        {"Bad_Speculation", 1,
         [](C e) { return kDropping ? Remainder(e) : e("PERF_METRICS.BAD_SPECULATION") / Sum(e); }},
        {"Fetch_Latency", 2,
         [](C e) { return e("PERF_METRICS.FETCH_LATENCY") / Sum(e) - Dropped(e); }},
        {"Branch_Mispredicts", 2,
         [](C e) { return e("PERF_METRICS.BRANCH_MISPREDICTS") / Sum(e); }},
        {"Memory_Bound", 2, [](C e) { return e("PERF_METRICS.MEMORY_BOUND") / Sum(e); }},
        {"Heavy_Operations", 2, [](C e) { return e("PERF_METRICS.HEAVY_OPERATIONS") / Sum(e); }}};
    AddSiblings(nodes);
    return nodes;
  }

  static std::vector<TopdownNode> CounterNodes() {
    std::vector<TopdownNode> nodes = {
        {"Frontend_Bound", 1, [](C e) { return e("IDQ_BUBBLES.CORE") / Slots(e) - Dropped(e); }},
        {"Backend_Bound", 1, [](C e) { return e("TOPDOWN.BACKEND_BOUND_SLOTS") / Slots(e); }},
        {"Retiring", 1, [](C e) { return e("UOPS_RETIRED.SLOTS") / Slots(e); }},
        {"Bad_Speculation", 1, Remainder},
        {"Fetch_Latency", 2,
         [](C e) {
           return kLevel3 == MemoryLevel3::kStalls
                      ? OfCycles(e, "IDQ_BUBBLES.FETCH_LATENCY")
                      : kWidth * e("IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE") / Slots(e) - Dropped(e);
         }},
        {"Branch_Mispredicts", 2, [](C e) { return e("TOPDOWN.BR_MISPREDICT_SLOTS") / Slots(e); }},
        {"Memory_Bound", 2, [](C e) { return e("TOPDOWN.MEMORY_BOUND_SLOTS") / Slots(e); }},
        {"Heavy_Operations", 2, [](C e) { return e("UOPS_RETIRED.HEAVY") / Slots(e); }}};
    AddSiblings(nodes);
    return nodes;
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_LEVEL2_METRICS_H_
