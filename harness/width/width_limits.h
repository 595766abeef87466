// What the container allows, as a limit on the width: the CPUs of the process (its affinity mask
// and its cpuset) and the quota of CPU time of its control group. They may change while it runs.

#ifndef TOPDNN_HARNESS_WIDTH_WIDTH_LIMITS_H_
#define TOPDNN_HARNESS_WIDTH_WIDTH_LIMITS_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "harness/width/width_control.h"
#include "harness/width/width_source.h"

namespace topdnn {

// The number of CPUs that all of the lists ("0-2,5") contain. Lists that are empty or invalid are
// ignored; absent if no list is left. Pure.
std::optional<int> CpusInAll(std::span<const std::string> lists);

// The widest team that the limits allow: the CPUs of the affinity mask, those of the cpusets, and
// the quota, rounded down; at least 1. Files that are missing give no limit. `root` is a prefix of
// /proc and of the mount points of the control groups, for tests.
int WidthLimit(int affinity, const std::filesystem::path& root = "/");

// The CPUs in the affinity mask of the process's first thread.
int AffinityOfProcess();

// Polls the limits.
class WidthLimits final : public WidthSource {
 public:
  explicit WidthLimits(WidthControl& control, std::filesystem::path root = "/",
                       std::function<int()> affinity = AffinityOfProcess);

  void Serve() override;

 private:
  WidthControl& control_;
  std::filesystem::path root_;
  std::function<int()> affinity_;
  std::optional<std::chrono::steady_clock::time_point> read_;  // when the limits were read
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_WIDTH_LIMITS_H_
