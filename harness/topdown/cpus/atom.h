// The formulas of Intel's efficiency cores: events count the slots of every node, on level 3, too,
// which is in slots here. Gracemont has a level 1 of its own.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_ATOM_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_ATOM_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// The events of the parts; those of level 1 differ and are given by name.
inline std::vector<TopdownEvent> AtomParts() {
  std::vector<TopdownEvent> events;
  const auto add = [&](std::uint64_t event, const char* prefix,
                       std::initializer_list<std::pair<const char*, std::uint64_t>> parts) {
    for (const auto& [name, mask] : parts) {
      // Gracemont's list has ITLB for ITLB_MISS.
      const bool itlb = std::string_view(name) == "ITLB_MISS";
      events.push_back({std::string(prefix) + name, mask << 8 | event,
                        itlb ? std::string(prefix) + "ITLB" : "", ""});
    }
  };
  add(0x71, "TOPDOWN_FE_BOUND.",
      {{"FRONTEND_LATENCY", 0x72},
       {"FRONTEND_BANDWIDTH", 0x8D},
       {"CISC", 0x01},
       {"BRANCH_DETECT", 0x02},
       {"PREDECODE", 0x04},
       {"DECODE", 0x08},
       {"ITLB_MISS", 0x10},
       {"ICACHE", 0x20},
       {"BRANCH_RESTEER", 0x40},
       {"OTHER", 0x80}});
  add(0x73, "TOPDOWN_BAD_SPECULATION.",
      {{"NUKE", 0x01}, {"FASTNUKE", 0x02}, {"MACHINE_CLEARS", 0x03}, {"MISPREDICT", 0x04}});
  add(0x74, "TOPDOWN_BE_BOUND.",
      {{"ALLOC_RESTRICTIONS", 0x01},
       {"MEM_SCHEDULER", 0x02},
       {"NON_MEM_SCHEDULER", 0x08},
       {"SERIALIZATION", 0x10},
       {"REGISTER", 0x20},
       {"REORDER_BUFFER", 0x40}});
  return events;
}

// `kWidth`: slots per cycle. The others: the events of level 1.
template <int kWidth, EventLiteral kFrontend, EventLiteral kBad, EventLiteral kBackend,
          EventLiteral kRetiring>
class AtomSlots {
 public:
  static constexpr int kSlots = kWidth;

  static std::vector<TopdownPath> Paths() {
    return {{"slot events", Joined<TopdownNode>({{"Frontend_Bound", 1, Of<kFrontend>},
                                                 {"Bad_Speculation", 1, Of<kBad>},
                                                 {"Backend_Bound", 1, Of<kBackend>},
                                                 {"Retiring", 1, Of<kRetiring>}},
                                                DeeperNodes())}};
  }

  // Levels 2 and 3.
  static std::vector<TopdownNode> DeeperNodes() {
    return {
        {"Fetch_Latency", 2, Of<"TOPDOWN_FE_BOUND.FRONTEND_LATENCY">},
        {"Fetch_Bandwidth", 2, Of<"TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH">},
        {"Branch_Mispredicts", 2, Of<"TOPDOWN_BAD_SPECULATION.MISPREDICT">},
        {"Machine_Clears", 2, Of<"TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS">},
        {"Core_Bound", 2, Of<"TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS">},
        {"Resource_Bound", 2, [](C e) { return e.Node("Backend_Bound") - e.Node("Core_Bound"); }},
        {"ICache_Misses", 3, Of<"TOPDOWN_FE_BOUND.ICACHE">, "Fetch_Latency"},
        {"ITLB_Misses", 3, Of<"TOPDOWN_FE_BOUND.ITLB_MISS">, "Fetch_Latency"},
        {"Branch_Detect", 3, Of<"TOPDOWN_FE_BOUND.BRANCH_DETECT">, "Fetch_Latency"},
        {"Branch_Resteer", 3, Of<"TOPDOWN_FE_BOUND.BRANCH_RESTEER">, "Fetch_Latency"},
        {"CISC", 3, Of<"TOPDOWN_FE_BOUND.CISC">, "Fetch_Bandwidth"},
        {"Decode", 3, Of<"TOPDOWN_FE_BOUND.DECODE">, "Fetch_Bandwidth"},
        {"Predecode", 3, Of<"TOPDOWN_FE_BOUND.PREDECODE">, "Fetch_Bandwidth"},
        {"Other_FB", 3, Of<"TOPDOWN_FE_BOUND.OTHER">, "Fetch_Bandwidth"},
        {"Nuke", 3, Of<"TOPDOWN_BAD_SPECULATION.NUKE">, "Machine_Clears"},
        {"Fast_Nuke", 3, Of<"TOPDOWN_BAD_SPECULATION.FASTNUKE">, "Machine_Clears"},
        {"Mem_Scheduler", 3, Of<"TOPDOWN_BE_BOUND.MEM_SCHEDULER">, "Resource_Bound"},
        {"Non_Mem_Scheduler", 3, Of<"TOPDOWN_BE_BOUND.NON_MEM_SCHEDULER">, "Resource_Bound"},
        {"Register", 3, Of<"TOPDOWN_BE_BOUND.REGISTER">, "Resource_Bound"},
        {"Reorder_Buffer", 3, Of<"TOPDOWN_BE_BOUND.REORDER_BUFFER">, "Resource_Bound"},
        {"Serialization", 3, Of<"TOPDOWN_BE_BOUND.SERIALIZATION">, "Resource_Bound"}};
  }

 private:
  using C = const TopdownCounts&;

  template <EventLiteral kEvent>
  static MaybeValue Of(C e) {
    return e(kEvent.text) / (kWidth * e("CPU_CLK_UNHALTED.CORE"));
  }
};

inline constexpr const char* kAtomNote =
    "Core_Bound counts only allocation restrictions; Resource_Bound is the rest of Backend_Bound: "
    "full buffers, memory included; level 3 is in slots";

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_ATOM_H_
