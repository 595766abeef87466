#include "harness/width/width_limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "harness/counters/sysfs_pmu.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/cpu_set.h"
#include "harness/width/width_watcher.h"

namespace topdnn {

std::optional<int> CpusInAll(std::span<const std::string> lists) {
  std::optional<std::set<int>> in_all;
  for (const std::string& list : lists) {
    const std::vector<int> cpus = ParseCpuList(list.substr(0, list.find_last_not_of(" \n") + 1));
    if (cpus.empty()) continue;
    const std::set<int> of_list(cpus.begin(), cpus.end());
    if (!in_all) {
      in_all = of_list;
    } else {
      std::erase_if(*in_all, [&](int cpu) { return !of_list.contains(cpu); });
    }
  }
  if (!in_all) return std::nullopt;
  return static_cast<int>(in_all->size());
}

int WidthLimit(int affinity, const std::filesystem::path& root) {
  const int of_cpusets = CpusInAll(ReadCgroupCpusets(root)).value_or(affinity);
  return DefaultThreads(std::max(1, std::min(affinity, of_cpusets)),
                        ReadCgroupLimits(root).cpu_quota);
}

int AffinityOfProcess() {
  const pid_t first = getpid();
  const auto call = [first](std::size_t bytes, void* mask) {
    return sched_getaffinity(first, bytes, static_cast<cpu_set_t*>(mask)) == 0 ? 0 : errno;
  };
  return static_cast<int>(
      AllowedCpus(call, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))).cpus.size());
}

WidthLimits::WidthLimits(WidthControl& control, std::filesystem::path root,
                         std::function<int()> affinity)
    : control_(control), root_(std::move(root)), affinity_(std::move(affinity)) {
  Serve();
}

void WidthLimits::Serve() {
  // Serve is also called when another source is ready, which may be far more often.
  const auto now = std::chrono::steady_clock::now();
  if (read_ && now - *read_ < kWatchPeriod) return;
  read_ = now;
  control_.SetLimit(WidthLimit(affinity_(), root_));
}

}  // namespace topdnn
