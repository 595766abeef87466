// What the resctrl file system of this machine can divide and count: its folder `info`.

#ifndef TOPDNN_HARNESS_RESCTRL_CAPABILITIES_H_
#define TOPDNN_HARNESS_RESCTRL_CAPABILITIES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/resctrl/files.h"
#include "harness/resctrl/schemata.h"
#include "harness/text/errors.h"

namespace topdnn {

// Something cannot be done with resctrl: one line that says what, where and the fix.
class ResctrlError : public RunFailure {
 public:
  using RunFailure::RunFailure;
};

struct CacheControl {
  std::string cache;                   // "L3", "L2"
  std::vector<std::string> resources;  // its lines in schemata: L3, or L3CODE and L3DATA
  MaskRules rules;                     // the bits that all of the resources have
  int closids = 0;                     // num_closids: groups, including the root group
  std::vector<int> domains;
  bool cdp() const { return resources.size() > 1; }
  int ways() const;
};

struct BandwidthControl {
  int least = 0;        // min_bandwidth, percent
  int granularity = 1;  // bandwidth_gran, percent: other values are rounded up
  int closids = 0;
  std::vector<int> domains;
  int largest = 0;  // in the root group: more than 100 if the unit is not percent
};

struct CacheMonitor {
  int rmids = 0;                      // num_rmids: groups that can be counted
  std::vector<std::string> features;  // mon_features: "llc_occupancy", "mbm_total_bytes"
  // The bandwidth of a group is counted only while a counter is assigned to it (mbm_assign_mode is
  // mbm_event: AMD's assignable counters).
  bool assigned = false;
};

struct ResctrlCapabilities {
  std::vector<CacheControl> caches;  // L3 first
  std::optional<BandwidthControl> bandwidth;
  std::optional<CacheMonitor> monitor;
};

// What the kernel counts for groups; absent if nothing. On Arm (MPAM) the folders of info are those
// of the resources that count: L3_MON for the occupancy, another for the bandwidth of each node.
std::optional<CacheMonitor> ReadMonitor(const ResctrlFiles& files);

// The last cache that can be divided; null if none can.
const CacheControl* LastCacheControl(const ResctrlCapabilities& capabilities);

// Throws ResctrlError if resctrl is not mounted there, cannot be read, or contains text that the
// kernel does not write.
ResctrlCapabilities ReadCapabilities(const ResctrlFiles& files);

// Why no resctrl is at the root, with the fix, from /proc/cpuinfo. Pure.
std::string WhyNotMounted(const std::string& root, std::string_view cpuinfo);

// " (the kernel says: ...)" from info/last_cmd_status; empty if it says nothing.
std::string LastStatus(const ResctrlFiles& files);

// The value to which the kernel rounds `percent` up. Pure.
int RoundedBandwidth(int percent, const BandwidthControl& control);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESCTRL_CAPABILITIES_H_
