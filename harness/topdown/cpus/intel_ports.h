// The parts of Core_Bound on Intel's cores, as fractions of cycles: the divider, AMX, and in how
// many cycles no, one, two, three or more execution ports were at work (pmu-tools
// icx_server_ratios.py, spr_server_ratios.py, gnr_server_ratios.py). TMA has the four nodes of the
// ports at level 4, below a sum; here they are at level 3.

#ifndef TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_PORTS_H_
#define TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_PORTS_H_

#include <vector>

#include "harness/topdown/cpus/intel_events.h"
#include "harness/topdown/metric.h"

namespace topdnn {

inline constexpr std::string_view kRefinesCore = "Core_Bound";

// How to compute the cycles in which no port works.
enum class IdlePorts {
  kCounted,             // counted by the event: Ice Lake-SP
  kOfStalls,            // as a share of the stalls that wait for no load: Golden Cove
  kWithoutSerializing,  // minus those caused by a serializing instruction: Granite Rapids
};

// Ice Lake-SP and later. `kDivider`: the event of its busy cycles. AMX is counted since Sapphire
// Rapids, on servers.
template <EventLiteral kDivider, IdlePorts kIdle, bool kAmx = (kIdle != IdlePorts::kCounted)>
class IntelPorts {
 public:
  static std::vector<TopdownNode> Nodes() {
    std::vector<TopdownNode> nodes = {{"Divider", 3, OfCycles<kDivider>, kRefinesCore}};
    if (kAmx) {
      nodes.push_back(
          {"AMX_Busy", 3, [](C e) { return e("EXE.AMX_BUSY") / CoreCycles(e); }, kRefinesCore});
    }
    nodes.push_back({"Ports_Utilized_0", 3, None, kRefinesCore});
    nodes.push_back({"Ports_Utilized_1", 3, OfCycles<"EXE_ACTIVITY.1_PORTS_UTIL">, kRefinesCore});
    nodes.push_back({"Ports_Utilized_2", 3, OfCycles<"EXE_ACTIVITY.2_PORTS_UTIL">, kRefinesCore});
    nodes.push_back({"Ports_Utilized_3m", 3, OfCycles<"UOPS_EXECUTED.CYCLES_GE_3">, kRefinesCore});
    return nodes;
  }

 private:
  using C = const TopdownCounts&;

  static MaybeValue None(C e) {
    const MaybeValue none = e("EXE_ACTIVITY.EXE_BOUND_0_PORTS");
    if (kIdle == IdlePorts::kCounted) return none / ThreadCycles(e);
    const MaybeValue serializing = e("RESOURCE_STALLS.SCOREBOARD");
    if (kIdle == IdlePorts::kWithoutSerializing) return (none - serializing) / ThreadCycles(e);
    MaybeValue empty = e("RS.EMPTY_RESOURCE") - serializing;
    if (empty.get() && *empty.get() < 0) empty = 0;
    return (none + empty) / ThreadCycles(e) *
           (e("CYCLE_ACTIVITY.STALLS_TOTAL") - e("EXE_ACTIVITY.BOUND_ON_LOADS")) / ThreadCycles(e);
  }
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_CPUS_INTEL_PORTS_H_
