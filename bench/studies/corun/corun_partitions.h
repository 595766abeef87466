// The partitions of `topdnn corun`: a part of the cache and of the bandwidth for each workload, by
// resctrl. Nothing is left when the object ends. The next Partitions object removes what a crash
// has left.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_PARTITIONS_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_PARTITIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/resctrl/capabilities.h"
#include "harness/resctrl/control_group.h"
#include "harness/resctrl/files.h"

namespace topdnn {

struct PartitionOptions {
  std::string ways = {};       // masks, "0xff,0xf00"; empty: the whole cache
  std::string bandwidth = {};  // percent, "100,20"; empty: no limit
  bool sweep_ways = false;
};

// What one workload gets. Absent: all.
struct Partition {
  std::optional<std::uint64_t> mask;
  std::optional<int> bandwidth;  // percent, as the kernel rounds it
};

struct PartitionPlan {
  std::vector<Partition> parts;    // by workload
  std::vector<std::string> notes;  // for the output: masks that overlap, a value that is rounded
};

// Throws UsageError for what this machine cannot do. No side effects.
PartitionPlan PlanPartitions(const PartitionOptions& options, std::size_t workloads,
                             const ResctrlCapabilities& machine);

// A step of --sweep-ways: the first workload has `ways` ways, the others the rest.
struct WaysStep {
  int ways = 0;
  std::uint64_t mask = 0, rest = 0;
};
// One step for each number of ways, from the fewest that are allowed. With `others`, these keep at
// least the fewest. No side effects.
std::vector<WaysStep> StepsOfWays(const CacheControl& cache, bool others);

// The medians over windows. Absent if the machine does not count it.
struct PartitionReadings {
  std::optional<double> occupancy;               // bytes of the last-level cache, at a window's end
  std::optional<double> bytes_per_second;        // between the caches and memory
  std::optional<double> local_bytes_per_second;  // the part from this socket's memory
  std::string reason{};                          // why one is absent, if the kernel says why
};

class Partitions {
 public:
  // Checks the options, removes stale groups, and makes a group for each workload. Throws
  // UsageError, one line.
  Partitions(std::unique_ptr<ResctrlFiles> files, const PartitionOptions& options,
             std::size_t workloads);

  const PartitionPlan& plan() const { return plan_; }
  // Null: this machine's caches cannot be divided.
  const CacheControl* cache() const { return LastCacheControl(machine_); }

  // Moves the calling process into the workload's group. Call it in the workload's own process,
  // before it starts threads. Throws InputError.
  void Enter(std::size_t workload);
  // Gives the workload these ways of every domain. Throws ResctrlError.
  void SetWays(std::size_t workload, std::uint64_t mask);

  // Call them around a window, for the readings. `kind`: an index from 0, chosen by the caller, for
  // windows that are compared.
  void BeginWindow();
  void EndWindow(std::size_t kind);
  PartitionReadings ReadingsOf(std::size_t kind, std::size_t workload) const;

 private:
  struct Samples {
    std::string reason;
    std::vector<double> occupancy, rate, local_rate;
  };

  std::unique_ptr<ResctrlFiles> files_;
  ResctrlCapabilities machine_;
  PartitionPlan plan_;
  std::vector<std::unique_ptr<ControlGroup>> groups_;  // by workload
  std::chrono::steady_clock::time_point begin_;
  std::vector<GroupReadings> before_;
  std::vector<std::vector<Samples>> samples_;  // by kind and workload
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_PARTITIONS_H_
