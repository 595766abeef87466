#include "harness/resctrl/capabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <sstream>

#include "harness/files/small_file.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

constexpr std::size_t kShownBytes = 60;

std::string Shown(std::string_view text) {
  const std::string shown = OneLine(text.substr(0, kShownBytes));
  return text.size() > kShownBytes ? shown + "..." : shown;
}

std::string_view WithoutEnd(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

[[noreturn]] void ThrowUnreadable(const ResctrlFiles& files, const std::string& path, int error) {
  const bool denied = error == EACCES || error == EPERM;
  throw ResctrlError(fmt::format("{}/{} cannot be read: {}: {}", files.root(), path,
                                 std::strerror(error),
                                 denied ? "run topdnn as root" : "mount resctrl again"));
}

[[noreturn]] void ThrowStrange(const ResctrlFiles& files, const std::string& path,
                               std::string_view text, const char* wanted) {
  throw ResctrlError(fmt::format("{}/{}: '{}' is not {}: mount resctrl there, or set --resctrl",
                                 files.root(), path, Shown(text), wanted));
}

// Absent if there is no such file.
std::optional<std::string> TextOf(const ResctrlFiles& files, const std::string& path) {
  const FileText file = files.Read(path);
  if (file.error == ENOENT) return std::nullopt;
  if (file.error != 0) ThrowUnreadable(files, path, file.error);
  return std::string(WithoutEnd(file.text));
}

std::optional<std::uint64_t> MaskOf(const ResctrlFiles& files, const std::string& path) {
  const auto text = TextOf(files, path);
  if (!text) return std::nullopt;
  const auto mask = ParseMask(*text);
  if (!mask) ThrowStrange(files, path, *text, "a mask");
  return mask;
}

int NumberOf(const ResctrlFiles& files, const std::string& path, int absent) {
  const auto text = TextOf(files, path);
  if (!text) return absent;
  const auto value = ParseNumber<int>(*text);
  if (!(value >= 0)) ThrowStrange(files, path, *text, "a number");
  return *value;
}

std::vector<int> DomainsOf(const Schemata& schemata, const std::string& resource) {
  std::vector<int> domains;
  const auto found = schemata.find(resource);
  if (found == schemata.end()) return domains;
  for (const auto& [domain, value] : found->second) domains.push_back(domain);
  return domains;
}

std::optional<CacheControl> CacheOf(const ResctrlFiles& files, const Schemata& root,
                                    const std::string& cache) {
  CacheControl control;
  control.cache = cache;
  for (const char* const part : {"", "CODE", "DATA"}) {
    const std::string resource = cache + part;
    const std::string folder = "info/" + resource + "/";
    const auto all = MaskOf(files, folder + "cbm_mask");
    // With CDP, schemata has only the two parts.
    if (!all || !root.contains(resource)) continue;
    const bool first = control.resources.empty();
    control.resources.push_back(resource);
    MaskRules& rules = control.rules;
    rules.all = first ? *all : rules.all & *all;
    rules.least_bits =
        std::max(first ? 0 : rules.least_bits, NumberOf(files, folder + "min_cbm_bits", 1));
    const bool sparse = NumberOf(files, folder + "sparse_masks", 0) == 1;
    rules.sparse = first ? sparse : rules.sparse && sparse;
    rules.shareable |= MaskOf(files, folder + "shareable_bits").value_or(0);
    const int closids = NumberOf(files, folder + "num_closids", 1);
    control.closids = first ? closids : std::min(control.closids, closids);
    control.domains = DomainsOf(root, resource);
  }
  if (control.resources.empty() || control.rules.all == 0) return std::nullopt;
  return control;
}

std::optional<BandwidthControl> BandwidthOf(const ResctrlFiles& files, const Schemata& root) {
  const auto found = root.find("MB");
  if (found == root.end() || !TextOf(files, "info/MB/num_closids")) return std::nullopt;
  BandwidthControl control{.least = NumberOf(files, "info/MB/min_bandwidth", 1),
                           .granularity = std::max(1, NumberOf(files, "info/MB/bandwidth_gran", 1)),
                           .closids = NumberOf(files, "info/MB/num_closids", 1),
                           .domains = DomainsOf(root, "MB"),
                           .largest = 0};
  for (const auto& [domain, value] : found->second) {
    constexpr std::uint64_t kMost = 1 << 20;
    control.largest = std::max(control.largest, static_cast<int>(std::min(value, kMost)));
  }
  return control;
}

// Whether the mode in brackets is mbm_event: "[mbm_event]\ndefault".
bool CountersAreAssigned(const ResctrlFiles& files, const std::string& folder) {
  const auto modes = TextOf(files, folder + "mbm_assign_mode");
  return modes && modes->find("[mbm_event]") != std::string::npos;
}

bool HasFlag(std::string_view cpuinfo, std::string_view flag) {
  const std::size_t at = cpuinfo.find("\nflags");
  if (at == std::string_view::npos) return false;
  std::istringstream words(std::string(cpuinfo.substr(at + 1, cpuinfo.find('\n', at + 1) - at)));
  return std::find(std::istream_iterator<std::string>(words), {}, flag) !=
         std::istream_iterator<std::string>();
}

}  // namespace

std::optional<CacheMonitor> ReadMonitor(const ResctrlFiles& files) {
  std::vector<std::string> folders = files.Folders("info");
  std::erase_if(folders, [](const std::string& name) { return !name.ends_with("_MON"); });
  if (folders.empty()) folders = {"L3_MON"};
  std::optional<CacheMonitor> monitor;
  for (const std::string& name : folders) {
    const std::string folder = "info/" + name + "/";
    const auto features = TextOf(files, folder + "mon_features");
    if (!features) continue;
    const int rmids = NumberOf(files, folder + "num_rmids", 1);
    monitor = monitor ? monitor : std::optional(CacheMonitor{.rmids = rmids, .features = {}});
    monitor->rmids = std::min(monitor->rmids, rmids);
    monitor->assigned = monitor->assigned || CountersAreAssigned(files, folder);
    std::istringstream lines(*features);
    for (std::string line; std::getline(lines, line);) {
      monitor->features.push_back(OneLine(line));
    }
  }
  return monitor;
}

int CacheControl::ways() const { return std::popcount(rules.all); }

const CacheControl* LastCacheControl(const ResctrlCapabilities& capabilities) {
  return capabilities.caches.empty() ? nullptr : &capabilities.caches.front();
}

std::string WhyNotMounted(const std::string& root, std::string_view cpuinfo) {
  const bool cache = HasFlag(cpuinfo, "cat_l3") || HasFlag(cpuinfo, "cat_l2");
  const bool bandwidth = HasFlag(cpuinfo, "mba");
  // Arm's cpuinfo has no flags, and does not say whether the CPU has MPAM.
  if (cpuinfo.find("\nflags") != std::string_view::npos && !cache && !bandwidth) {
    return fmt::format(
        "resctrl is not mounted at {}, and this CPU lacks it (no cat_l3, cat_l2 or mba in the "
        "flags of /proc/cpuinfo): use another machine (`mount -t resctrl resctrl {}`), or "
        "--cache-curve",
        root, root);
  }
  return fmt::format("resctrl is not mounted at {}: run `mount -t resctrl resctrl {}` as root",
                     root, root);
}

std::string LastStatus(const ResctrlFiles& files) {
  const FileText status = files.Read("info/last_cmd_status");
  const std::string_view text = WithoutEnd(status.text);
  if (status.error != 0 || text.empty() || text == "ok") return "";
  return fmt::format(" (the kernel says: {})", Shown(text));
}

int RoundedBandwidth(int percent, const BandwidthControl& control) {
  return (percent + control.granularity - 1) / control.granularity * control.granularity;
}

ResctrlCapabilities ReadCapabilities(const ResctrlFiles& files) {
  const auto text = TextOf(files, "schemata");
  if (!text) {
    throw ResctrlError(WhyNotMounted(files.root(), ReadSmallFile("/proc/cpuinfo").text));
  }
  const auto root = ParseSchemata(*text);
  if (!root) ThrowStrange(files, "schemata", *text, "a list of lines like L3:0=fff");
  ResctrlCapabilities capabilities;
  for (const char* const cache : {"L3", "L2"}) {
    auto control = CacheOf(files, *root, cache);
    if (control) capabilities.caches.push_back(*control);
  }
  capabilities.bandwidth = BandwidthOf(files, *root);
  capabilities.monitor = ReadMonitor(files);
  return capabilities;
}

}  // namespace topdnn
