// What lies below level 2's front end and below level 3's memory and divider, on Intel's big cores
// from Ice Lake-SP on (Linux pmu-events icelakex, sapphirerapids, graniterapids): fractions of
// cycles. Left out are nodes whose source needs more than counts: latencies measured by sampling,
// the core's frequency, or events with a value in a register of their own (OCR, FRONTEND_RETIRED).

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_DEEPER_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_DEEPER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// kGoldenCoveClient: pmu-tools adl_glc_ratios.py (TMA 4.7), which has no parts of the divider and
// no latency of L1 hits. kRedwoodCoveClient: mtl_rwc_ratios.py (TMA 5.01), in which fewer reads
// under way are many.
enum class DeepCore { kIceLake, kGoldenCove, kGoldenCoveClient, kRedwoodCove, kRedwoodCoveClient };

template <DeepCore kCore>
class IntelDeeper {
 public:
  static std::vector<TopdownNode> Nodes() {
    std::vector<TopdownNode> nodes = FetchNodes();
    AddLoadNodes(nodes);
    AddStoreNodes(nodes);
    if (kIce || kClient) return nodes;
    nodes.push_back({"FP_Divider", 4, OfCycles<"ARITH.FPDIV_ACTIVE">, "Divider"});
    nodes.push_back({"INT_Divider", 4,
                     [](C e) { return OfCycles(e, "ARITH.DIV_ACTIVE") - e.Node("FP_Divider"); },
                     "Divider"});
    return nodes;
  }

  // `core`: libpfm4's name; empty if it has none.
  static std::vector<TopdownEvent> Events(const std::string& core) {
    std::vector<TopdownEvent> events;
    const auto add = [&](const std::string& name, std::uint64_t code) {
      std::string spelling = name;  // "A:B:c=4" there
      const std::size_t mask = name.find(":c");
      if (mask != std::string::npos) spelling.insert(mask + 2, "=");
      std::replace(spelling.begin(), spelling.end(), '.', ':');
      events.push_back({name, code, "", core.empty() ? "" : core + "::" + spelling});
    };
    add(kCode, 0x480);
    add(kCodeTags, 0x483);
    add("DSB2MITE_SWITCHES.PENALTY_CYCLES", kIce ? 0x2AB : 0x261);
    add(kLengths, 0x187);
    add("IDQ.DSB_CYCLES_ANY", 0x1000879);
    add("IDQ.DSB_CYCLES_OK", kIce ? 0x5000879 : 0x6000879);
    add("IDQ.MITE_CYCLES_ANY", 0x1000479);
    add("IDQ.MITE_CYCLES_OK", kIce ? 0x5000479 : 0x6000479);
    add("CPU_CLK_UNHALTED.DISTRIBUTED", 0x2EC);
    add("LD_BLOCKS.STORE_FORWARD", kIce ? 0x203 : 0x8203);
    add("L1D_PEND_MISS.FB_FULL", 0x248);
    add("CYCLE_ACTIVITY.CYCLES_MEM_ANY", 0x100010A3);
    add(kMissing, kIce ? 0x80008A3 : 0x2000247);
    add(kWaiting, 0x448);
    add("OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD", kIce ? 0x1000860 : 0x1000820);
    add(kManyReads, kIce ? 0x4000860 : kCore == DeepCore::kRedwoodCove ? 0xC000820 : 0x4000820);
    add("OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO", kIce ? 0x1000460 : 0x1000420);
    add("MEM_INST_RETIRED.LOCK_LOADS", 0x21D0);
    add("MEM_INST_RETIRED.ALL_STORES", 0x82D0);
    if (!kRedwood) {
      add("DTLB_LOAD_MISSES.STLB_HIT:c1", kIce ? 0x1002008 : 0x1002012);
      add("DTLB_LOAD_MISSES.WALK_ACTIVE", kIce ? 0x1001008 : 0x1001012);
      add("DTLB_STORE_MISSES.STLB_HIT:c1", kIce ? 0x1002049 : 0x1002013);
      add("DTLB_STORE_MISSES.WALK_ACTIVE", kIce ? 0x1001049 : 0x1001013);
      add("L2_RQSTS.ALL_RFO", 0xE224);
      add("L2_RQSTS.RFO_HIT", 0xC224);
      add("MEM_INST_RETIRED.SPLIT_STORES", 0x42D0);
    }
    if (kIce) return events;
    add("XQ.FULL_CYCLES", 0x100012D);
    add("MEM_STORE_RETIRED.L2_HIT", 0x144);
    if (kClient) return events;
    add("ARITH.FPDIV_ACTIVE", 0x10001B0);
    add("MEM_INST_RETIRED.ALL_LOADS", 0x81D0);
    add("MEM_LOAD_RETIRED.FB_HIT", 0x40D1);
    add("MEM_LOAD_RETIRED.L1_MISS", 0x8D1);
    return events;
  }

 private:
  using C = const TopdownCounts&;

  static constexpr bool kIce = kCore == DeepCore::kIceLake;
  static constexpr bool kClient = kCore == DeepCore::kGoldenCoveClient;
  static constexpr bool kRedwood =
      kCore == DeepCore::kRedwoodCove || kCore == DeepCore::kRedwoodCoveClient;
  static constexpr const char* kCode = kIce ? "ICACHE_16B.IFDATA_STALL" : "ICACHE_DATA.STALLS";
  static constexpr const char* kCodeTags = kIce ? "ICACHE_64B.IFTAG_STALL" : "ICACHE_TAG.STALLS";
  static constexpr const char* kLengths = kIce ? "ILD_STALL.LCP" : "DECODE.LCP";
  static constexpr const char* kMissing =
      kIce ? "CYCLE_ACTIVITY.CYCLES_L1D_MISS" : "MEMORY_ACTIVITY.CYCLES_L1D_MISS";
  static constexpr const char* kWaiting =
      kIce ? "L1D_PEND_MISS.L2_STALL" : "L1D_PEND_MISS.L2_STALLS";
  static constexpr const char* kManyReads =
      kCore == DeepCore::kRedwoodCove ? "OFFCORE_REQUESTS_OUTSTANDING.DATA_RD:c12"
      : kRedwood                      ? "OFFCORE_REQUESTS_OUTSTANDING.DATA_RD:c4"
                                      : "OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD:c4";

  static std::vector<TopdownNode> FetchNodes() {
    constexpr std::string_view kLatency = "Fetch_Latency", kBandwidth = "Fetch_Bandwidth";
    return {
        {"ICache_Misses", 3, [](C e) { return OfCycles(e, kCode); }, kLatency},
        {"ITLB_Misses", 3, [](C e) { return OfCycles(e, kCodeTags); }, kLatency},
        {"DSB_Switches", 3, OfCycles<"DSB2MITE_SWITCHES.PENALTY_CYCLES">, kLatency},
        {"LCP", 3, [](C e) { return OfCycles(e, kLengths); }, kLatency},
        {"MITE", 3,
         [](C e) {
           return (e("IDQ.MITE_CYCLES_ANY") - e("IDQ.MITE_CYCLES_OK")) / CoreCycles(e) / 2;
         },
         kBandwidth},
        {"DSB", 3,
         [](C e) { return (e("IDQ.DSB_CYCLES_ANY") - e("IDQ.DSB_CYCLES_OK")) / CoreCycles(e) / 2; },
         kBandwidth}};
  }

  // Cycles with a load under way, and none that misses the first cache.
  static MaybeValue HitCycles(C e) {
    return Positive(e("CYCLE_ACTIVITY.CYCLES_MEM_ANY") - e(kMissing));
  }
  static MaybeValue OwnershipCycles(C e) {
    return Least(ThreadCycles(e), e("OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_RFO"));
  }

  static void AddLoadNodes(std::vector<TopdownNode>& nodes) {
    constexpr std::string_view kL1 = "L1_Bound", kMemory = "DRAM_Bound";
    if (!kRedwood) {
      nodes.push_back({"DTLB_Load", 4,
                       [](C e) {
                         return Least(7 * e("DTLB_LOAD_MISSES.STLB_HIT:c1") +
                                          e("DTLB_LOAD_MISSES.WALK_ACTIVE"),
                                      HitCycles(e)) /
                                ThreadCycles(e);
                       },
                       kL1});
      nodes.push_back(
          {"Lock_Latency", 4,
           [](C e) {
             return (16 * Positive(e("MEM_INST_RETIRED.LOCK_LOADS") - e("L2_RQSTS.ALL_RFO")) +
                     LocksOfStores(e) * (10 * e("L2_RQSTS.RFO_HIT") + OwnershipCycles(e))) /
                    ThreadCycles(e);
           },
           kL1});
    }
    if (!kIce && !kClient) {
      nodes.push_back({"L1_Latency_Dependency", 4,
                       [](C e) {
                         const MaybeValue hits = e("MEM_INST_RETIRED.ALL_LOADS") -
                                                 e("MEM_LOAD_RETIRED.FB_HIT") -
                                                 e("MEM_LOAD_RETIRED.L1_MISS");
                         return Least(0.4 * hits, HitCycles(e)) / ThreadCycles(e);
                       },
                       kL1});
    }
    nodes.push_back({"Store_Fwd_Blk", 4, OfCycles<"LD_BLOCKS.STORE_FORWARD", 13>, kL1});
    nodes.push_back({"FB_Full", 4, OfCycles<"L1D_PEND_MISS.FB_FULL">, kL1});
    nodes.push_back({"SQ_Full", 4,
                     [](C e) {
                       return ((kIce ? MaybeValue(0) : e("XQ.FULL_CYCLES")) + e(kWaiting)) /
                              ThreadCycles(e);
                     },
                     "L3_Bound"});
    nodes.push_back({"MEM_Bandwidth", 4, [](C e) { return AtMostCycles(e, kManyReads); }, kMemory});
    nodes.push_back({"MEM_Latency", 4,
                     [](C e) {
                       return AtMostCycles<"OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD">(e) -
                              e.Node("MEM_Bandwidth");
                     },
                     kMemory});
  }

  static void AddStoreNodes(std::vector<TopdownNode>& nodes) {
    constexpr std::string_view kStores = "Store_Bound";
    nodes.push_back(
        {"Store_Latency", 4,
         [](C e) {
           const MaybeValue hits = e(kIce ? "L2_RQSTS.RFO_HIT" : "MEM_STORE_RETIRED.L2_HIT");
           return (10 * hits + OwnershipCycles(e)) * (1 - LocksOfStores(e)) / ThreadCycles(e);
         },
         kStores});
    if (kRedwood) return;
    nodes.push_back({"Split_Stores", 4,
                     [](C e) { return e("MEM_INST_RETIRED.SPLIT_STORES") / CoreCycles(e); },
                     kStores});
    nodes.push_back({"DTLB_Store", 4,
                     [](C e) {
                       return (7 * e("DTLB_STORE_MISSES.STLB_HIT:c1") +
                               e("DTLB_STORE_MISSES.WALK_ACTIVE")) /
                              CoreCycles(e);
                     },
                     kStores});
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_DEEPER_H_
