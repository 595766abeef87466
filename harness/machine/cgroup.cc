#include "harness/machine/cgroup.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "harness/files/small_file.h"

namespace topdnn {
namespace {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  T value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> TextOf(const std::filesystem::path& path) {
  FileText file = ReadSmallFile(path);
  if (file.error != 0) return std::nullopt;
  return std::move(file.text);
}

template <typename T>
void KeepLeast(std::optional<T>& kept, const std::optional<T>& value) {
  if (value && (!kept || *value < *kept)) kept = value;
}

// The group's folder and every parent up to the mount point: each may have a limit.
std::vector<std::filesystem::path> FoldersOf(const CgroupMount& mount, const std::string& group,
                                             const std::filesystem::path& root) {
  const std::filesystem::path top = root / std::filesystem::path(mount.mount_point).relative_path();
  // Inside a container the mount often shows the container's own group as its root.
  std::string below = group;
  if (mount.root != "/" && (below + "/").starts_with(mount.root + "/")) {
    below.erase(0, mount.root.size());
  }
  std::filesystem::path folder = top;
  std::vector<std::filesystem::path> folders = {top};
  for (const std::string& part : Split(below, '/')) {
    if (part == "..") continue;  // a group outside this namespace: only the mount is visible
    folder /= part;
    folders.push_back(folder);
  }
  return folders;
}

// The memory that is left below a limit. File pages that can be dropped do not count as used.
std::optional<std::uint64_t> Left(std::uint64_t limit, const std::optional<std::string>& usage,
                                  const std::optional<std::string>& stat,
                                  std::string_view inactive_key) {
  if (!usage) return std::nullopt;
  const std::uint64_t used = Number<std::uint64_t>(*usage).value_or(0);
  const std::uint64_t inactive =
      stat ? ParseKeyedNumber(*stat, inactive_key).value_or(0) : std::uint64_t{0};
  const std::uint64_t held = used - std::min(used, inactive);
  return limit - std::min(limit, held);
}

// The files of one hierarchy version.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  const char* inactive_key;
};
constexpr MemoryFiles kMemoryV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr MemoryFiles kMemoryV2 = {"memory.max", "memory.current", "inactive_file"};

void ReadMemory(const std::filesystem::path& folder, const MemoryFiles& files,
                CgroupLimits& limits) {
  const auto text = TextOf(folder / files.limit);
  const auto limit = text ? ParseMemoryLimit(*text) : std::nullopt;
  if (!limit) return;
  KeepLeast(limits.memory_limit, limit);
  KeepLeast(limits.memory_available, Left(*limit, TextOf(folder / files.usage),
                                          TextOf(folder / "memory.stat"), files.inactive_key));
}

void ReadCpu(const std::filesystem::path& folder, int version, CgroupLimits& limits) {
  if (version == 2) {
    const auto text = TextOf(folder / "cpu.max");
    if (text) KeepLeast(limits.cpu_quota, ParseCpuMax(*text));
  } else {
    const auto quota = TextOf(folder / "cpu.cfs_quota_us");
    const auto period = TextOf(folder / "cpu.cfs_period_us");
    if (quota && period) KeepLeast(limits.cpu_quota, ParseCpuQuota(*quota, *period));
  }
}

bool Controls(const CgroupMount& mount, std::string_view controller) {
  return mount.version == 2 || std::find(mount.controllers.begin(), mount.controllers.end(),
                                         controller) != mount.controllers.end();
}

// This process's group under one controller.
struct Hierarchy {
  int version = 0;
  std::vector<std::filesystem::path> folders;  // of the group and of those above it
};

std::vector<Hierarchy> HierarchiesOf(const std::string& controller,
                                     const std::filesystem::path& root) {
  std::vector<Hierarchy> hierarchies;
  const auto membership_text = TextOf(root / "proc/self/cgroup");
  const auto mounts_text = TextOf(root / "proc/self/mountinfo");
  if (!membership_text || !mounts_text) return hierarchies;
  const auto membership = ParseCgroupMembership(*membership_text);
  for (const CgroupMount& mount : ParseCgroupMounts(*mounts_text)) {
    if (!Controls(mount, controller)) continue;
    const auto group = membership.find(mount.version == 2 ? "" : controller);
    if (group == membership.end()) continue;
    hierarchies.push_back({mount.version, FoldersOf(mount, group->second, root)});
  }
  return hierarchies;
}

// A version 1 controller takes precedence: version 2 cannot have it at the same time.
void NameSource(const Hierarchy& hierarchy, CgroupLimits& limits) {
  if (hierarchy.version == 1) limits.source = "cgroup v1";
  if (hierarchy.version == 2 && limits.source.empty()) limits.source = "cgroup v2";
}

}  // namespace

std::map<std::string, std::string> ParseCgroupMembership(std::string_view text) {
  std::map<std::string, std::string> membership;
  for (const std::string& line : Split(text, '\n')) {
    // hierarchy-ID:controller-list:path, the path may contain colons
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const std::string list = line.substr(first + 1, second - first - 1);
    if (list.empty()) membership[""] = path;
    for (const std::string& controller : Split(list, ',')) membership[controller] = path;
  }
  return membership;
}

std::vector<CgroupMount> ParseCgroupMounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const std::string& line : Split(mountinfo, '\n')) {
    // ID parent major:minor root mount-point options [tags] - type source super-options
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> left = Split(std::string_view(line).substr(0, dash), ' ');
    const std::vector<std::string> right = Split(std::string_view(line).substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] == "cgroup2") {
      mounts.push_back({2, {}, left[3], left[4]});
    } else if (right[0] == "cgroup") {
      mounts.push_back({1, Split(right[2], ','), left[3], left[4]});
    }
  }
  return mounts;
}

std::optional<std::uint64_t> ParseMemoryLimit(std::string_view text) {
  // Version 1 writes "no limit" as the largest multiple of the page size below 2^63.
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;
  const auto value = Number<std::uint64_t>(text);
  if (!value || *value >= kUnlimited) return std::nullopt;
  return value;
}

std::optional<double> ParseCpuQuota(std::string_view quota, std::string_view period) {
  const auto q = Number<std::int64_t>(quota);
  const auto p = Number<std::int64_t>(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
  return static_cast<double>(*q) / static_cast<double>(*p);
}

std::optional<double> ParseCpuMax(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return ParseCpuQuota(text.substr(0, blank), text.substr(blank + 1));
}

std::optional<std::uint64_t> ParseKeyedNumber(std::string_view text, std::string_view key) {
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = std::string_view(line).substr(key.size());
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (rest.starts_with(' ') || rest.starts_with('\t')) return Number<std::uint64_t>(rest);
  }
  return std::nullopt;
}

std::optional<CgroupThrottling> ParseCgroupThrottling(std::string_view cpu_stat) {
  const auto periods = ParseKeyedNumber(cpu_stat, "nr_periods");
  const auto throttled = ParseKeyedNumber(cpu_stat, "nr_throttled");
  const auto microseconds = ParseKeyedNumber(cpu_stat, "throttled_usec");
  const auto nanoseconds = ParseKeyedNumber(cpu_stat, "throttled_time");
  if (!periods || !throttled || (!microseconds && !nanoseconds)) return std::nullopt;
  const double seconds = microseconds ? static_cast<double>(*microseconds) * 1e-6
                                      : static_cast<double>(*nanoseconds) * 1e-9;
  return CgroupThrottling{*periods, *throttled, seconds};
}

CgroupLimits ReadCgroupLimits(const std::filesystem::path& root) {
  CgroupLimits limits;
  for (const Hierarchy& hierarchy : HierarchiesOf("memory", root)) {
    for (const auto& folder : hierarchy.folders) {
      ReadMemory(folder, hierarchy.version == 2 ? kMemoryV2 : kMemoryV1, limits);
    }
    NameSource(hierarchy, limits);
  }
  for (const Hierarchy& hierarchy : HierarchiesOf("cpu", root)) {
    for (const auto& folder : hierarchy.folders) ReadCpu(folder, hierarchy.version, limits);
    NameSource(hierarchy, limits);
  }
  return limits;
}

std::vector<std::string> ReadCgroupCpusets(const std::filesystem::path& root) {
  std::vector<std::string> lists;
  for (const Hierarchy& hierarchy : HierarchiesOf("cpuset", root)) {
    const bool second = hierarchy.version == 2;
    for (const auto& folder : hierarchy.folders) {
      auto text = TextOf(folder / (second ? "cpuset.cpus.effective" : "cpuset.effective_cpus"));
      // (version 1 of kernels before 3.17 has only this file)
      if (!text && !second) text = TextOf(folder / "cpuset.cpus");
      if (text) lists.push_back(*std::move(text));
    }
  }
  return lists;
}

std::optional<CgroupThrottling> ReadCgroupThrottling(const std::filesystem::path& root) {
  std::optional<CgroupThrottling> all;
  int counted = 0;  // the version: a hierarchy may be mounted at several places
  for (const Hierarchy& hierarchy : HierarchiesOf("cpu", root)) {
    if (hierarchy.version == counted) continue;
    for (const auto& folder : hierarchy.folders) {
      const auto text = TextOf(folder / "cpu.stat");
      const auto own = text ? ParseCgroupThrottling(*text) : std::nullopt;
      if (!own) continue;
      counted = hierarchy.version;
      if (!all) all.emplace();
      all->periods += own->periods;
      all->throttled += own->throttled;
      all->seconds += own->seconds;
    }
  }
  return all;
}

}  // namespace topdnn
