#include "harness/counters/sysfs_pmu.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

// "5" or "2-4": the first and the last.
std::optional<std::pair<int, int>> Range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = ParseNumber<int>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : ParseNumber<int>(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

std::string WordOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::string FormatOf(const std::string& key, const std::filesystem::path& pmu) {
  std::string listed = WordOf(pmu / "format" / key);
  if (!listed.empty()) return listed;
  static const std::map<std::string, std::string> usual = {
      {"event", "config:0-7"}, {"umask", "config:8-15"}, {"cmask", "config:24-31"}};
  const auto found = usual.find(key);
  return found == usual.end() ? "" : found->second;
}

}  // namespace

std::vector<SysfsPmu> ReadPmus(const std::string& sysfs) {
  std::vector<SysfsPmu> pmus;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(sysfs, ignored)) {
    SysfsPmu pmu;
    pmu.name = entry.path().filename().string();
    pmu.folder = entry.path();
    if (!(std::ifstream(pmu.folder / "type") >> pmu.type)) continue;
    pmu.of_core_type = std::filesystem::exists(pmu.folder / "cpus", ignored);
    pmu.cpus = ParseCpuList(WordOf(pmu.folder / (pmu.of_core_type ? "cpus" : "cpumask")));
    pmus.push_back(std::move(pmu));
  }
  std::sort(pmus.begin(), pmus.end(),
            [](const SysfsPmu& a, const SysfsPmu& b) { return a.name < b.name; });
  return pmus;
}

std::vector<SysfsPmu> CoreTypes(const std::string& sysfs) {
  std::vector<SysfsPmu> types = ReadPmus(sysfs);
  std::erase_if(types, [](const SysfsPmu& pmu) { return !pmu.of_core_type || pmu.cpus.empty(); });
  if (types.size() < 2) types.clear();
  return types;
}

std::vector<int> ParseCpuList(std::string_view text) {
  constexpr int kMaxCpus = 1 << 16;  // more than any kernel is built for
  std::vector<int> cpus;
  for (const std::string_view part : SplitText(text, ",")) {
    const auto range = Range(part);
    if (!range || range->second >= kMaxCpus) continue;
    for (int cpu = range->first; cpu <= range->second; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<std::uint64_t> PlaceBits(std::string_view format, std::uint64_t value) {
  constexpr std::string_view kField = "config:";
  if (!format.starts_with(kField)) return std::nullopt;
  std::uint64_t config = 0;
  for (const std::string_view part : SplitText(format.substr(kField.size()), ",")) {
    const auto range = Range(part);
    if (!range || range->second > 63) return std::nullopt;
    for (int bit = range->first; bit <= range->second; ++bit) {
      config |= (value & 1) << bit;
      value >>= 1;
    }
  }
  return value == 0 ? std::optional(config) : std::nullopt;
}

std::optional<std::uint64_t> ConfigOf(const std::string& terms, const std::filesystem::path& pmu) {
  std::uint64_t config = 0;
  for (const std::string_view term : SplitText(terms, ",")) {
    if (term.empty()) continue;
    const std::size_t equals = term.find('=');
    const std::string key(term.substr(0, equals));
    const std::string text(equals == std::string_view::npos ? "1" : term.substr(equals + 1));
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text.c_str(), &end, 0);
    if (text.empty() || *end != '\0') return std::nullopt;  // "event=?": the user gives the value
    const auto placed =
        key == "config" ? std::optional(value) : PlaceBits(FormatOf(key, pmu), value);
    if (!placed) return std::nullopt;
    config |= *placed;
  }
  return config;
}

}  // namespace topdnn
