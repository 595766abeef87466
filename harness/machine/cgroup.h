// The memory and CPU time that a control group leaves this process: a container often has less of
// both than the machine. Versions 1 and 2 (the Linux kernel's Documentation/admin-guide/cgroup-v1
// and cgroup-v2.rst), including mixed mounts. Parsing is separate from reading.

#ifndef TOPDNN_HARNESS_MACHINE_CGROUP_H_
#define TOPDNN_HARNESS_MACHINE_CGROUP_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// /proc/self/cgroup: the group's path under each controller; the unified (version 2) hierarchy is
// the controller "".
std::map<std::string, std::string> ParseCgroupMembership(std::string_view text);

// One mounted hierarchy, from /proc/self/mountinfo.
struct CgroupMount {
  int version = 0;
  std::vector<std::string> controllers;  // of version 1
  std::string root;                      // the group shown at the mount point
  std::string mount_point;
};
std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo);

// memory.max or memory.limit_in_bytes, in bytes; absent for "max", for version 1's "no limit" (a
// number near 2^63) and for text that is not a number.
std::optional<std::uint64_t> ParseMemoryLimit(std::string_view text);

// cpu.max ("150000 100000"), in CPUs; absent for "max ...".
std::optional<double> ParseCpuMax(std::string_view text);
// cpu.cfs_quota_us and cpu.cfs_period_us, in CPUs; absent for a quota of -1.
std::optional<double> ParseCpuQuota(std::string_view quota, std::string_view period);

// The value of a "KEY N" or "KEY: N kB" line (memory.stat, /proc/meminfo), in the file's unit.
std::optional<std::uint64_t> ParseKeyedNumber(std::string_view text, std::string_view key);

struct CgroupLimits {
  std::optional<std::uint64_t> memory_limit;      // bytes, the least along the path to the root
  std::optional<std::uint64_t> memory_available;  // bytes left below that limit; reclaimable file
                                                  // pages count as available
  std::optional<double> cpu_quota;                // CPUs, the least along the path
  std::string source;                             // "cgroup v2", "cgroup v1"; empty: none found
};

// The limits of this process. `root` is a prefix of /proc and the mount points, for tests.
CgroupLimits ReadCgroupLimits(const std::filesystem::path& root = "/");

// The CPUs that the cpusets of this process's group and of all its parents allow: the text of each
// file ("0-2,5"). Groups without a cpuset have none.
std::vector<std::string> ReadCgroupCpusets(const std::filesystem::path& root = "/");

// How often and for how long the kernel has stopped a group, with all of its threads, because its
// quota of CPU time was used up (the CFS bandwidth controller), since the group was created.
struct CgroupThrottling {
  std::uint64_t periods = 0;    // in which the group had a quota and ran
  std::uint64_t throttled = 0;  // of them, in which it was stopped
  double seconds = 0;           // stopped, summed over the CPUs
};

// Parses cpu.stat of either version (throttled_usec, or throttled_time in ns). Absent if the file
// has no counts of a quota, as for a version 2 group without the controller `cpu`.
std::optional<CgroupThrottling> ParseCgroupThrottling(std::string_view cpu_stat);

// The sum over this process's group and all its parents: each is stopped by its own quota. Absent
// if none of them counts.
std::optional<CgroupThrottling> ReadCgroupThrottling(const std::filesystem::path& root = "/");

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CGROUP_H_
