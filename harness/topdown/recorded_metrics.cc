#include "harness/topdown/recorded_metrics.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace topdnn {

namespace {

// AMD's names of level 2 (Linux pmu-events amdzen4, amdzen5, amdzen6: pipeline.json), without the
// "by" and "from" of later versions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kAmdNames = {{
    {"frontend_bound_latency", "Fetch_Latency"},
    {"frontend_bound_bandwidth", "Fetch_Bandwidth"},
    {"bad_speculation_mispredicts", "Branch_Mispredicts"},
    {"bad_speculation_pipeline_restarts", "Machine_Clears"},
    {"backend_bound_memory", "Memory_Bound"},
    {"backend_bound_cpu", "Core_Bound"},
    {"retiring_fastpath", "Light_Operations"},
    {"retiring_microcode", "Heavy_Operations"},
}};

std::string LowerCase(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    lower += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

void Remove(std::string& text, std::string_view part) {
  const std::size_t place = text.find(part);
  if (place != std::string::npos) text.erase(place, part.size());
}

struct MetricName {
  std::string node;  // in lower case
  bool percent = false;
};

// "%  tma_retiring", "%slots  retiring", "percent of slots  retiring", "retiring", "Retiring".
MetricName NameOf(const std::string& text) {
  MetricName name;
  const std::size_t gap = text.rfind("  ");
  const std::string unit = gap == std::string::npos ? "" : text.substr(0, gap);
  std::string rest = gap == std::string::npos ? text : text.substr(gap + 2);
  if (unit.empty() && rest.starts_with('%')) {
    rest.erase(0, rest.find_first_not_of("% "));
    name.percent = true;
  }
  if (unit.find("cycles") != std::string::npos) return name;  // of cycles, and not of slots
  name.percent = name.percent || unit.find('%') != std::string::npos ||
                 unit.find("percent") != std::string::npos;
  name.node = LowerCase(rest);
  for (const char* part : {"tma_", "_by", "_from"}) Remove(name.node, part);
  for (const auto& [amd, node] : kAmdNames) {
    if (name.node == amd) name.node = LowerCase(node);
  }
  return name;
}

bool IsSelected(const CountOrigin& origin, const CountSelection& selection) {
  return origin.group == selection.group &&
         (!selection.interval || origin.interval == *selection.interval);
}

double SumOf(const TopdownResult::Values& values) {
  double sum = 0;
  for (const auto& [name, value] : values) sum += value.value_or(0);
  return sum;
}

}  // namespace

RecordedNodes NodesOfMetrics(const TopdownTable& table, const RecordedCounts& recorded,
                             const CountSelection& selection) {
  std::map<std::string, std::vector<std::pair<double, bool>>> metrics;
  for (const RecordedMetric& metric : recorded.metrics) {
    if (!IsSelected(recorded.origins[metric.origin], selection)) continue;
    const MetricName name = NameOf(metric.name);
    if (!name.node.empty()) metrics[name.node].emplace_back(metric.value, name.percent);
  }
  RecordedNodes nodes;
  nodes.result.path = "metrics of the file";
  bool percent = false, several = false, any = false;
  for (const TopdownNode& node : table.paths.front().nodes) {
    if (node.level != 1 && node.level != 2) continue;
    auto& level = node.level == 1 ? nodes.result.level1 : nodes.result.level2;
    const auto found = metrics.find(LowerCase(node.name));
    if (found != metrics.end() && found->second.size() == 1) {
      percent = percent || found->second.front().second;
      level.emplace_back(node.name, found->second.front().first);
      any = any || node.level == 1;
    } else {
      several = several || found != metrics.end();
      level.emplace_back(node.name, std::nullopt);
    }
  }
  if (several) {
    nodes.note =
        "the file has metrics of several intervals or CPUs, which have no common share: "
        "record events";
  }
  // perf --topdown prints percentages without their sign.
  const double sum = SumOf(nodes.result.level1);
  if (percent || sum > 50) {
    for (auto* level : {&nodes.result.level1, &nodes.result.level2}) {
      for (auto& [name, value] : *level) {
        if (value) *value /= 100;
      }
    }
  }
  if (!any || several) {
    nodes.result.level1.clear();
    return nodes;
  }
  bool all = true;
  for (const auto& [name, value] : nodes.result.level1) {
    all = all && (value || name == "SMT_Contention");
  }
  const double total = SumOf(nodes.result.level1);
  if (total > 1.1 || (all && total < 0.5)) {
    nodes.contradiction = fmt::format(
        "the file's metrics of level 1 add up to {:.1f} %, and not to 100 %: they are of different "
        "runs or CPUs; record events",
        100 * total);
  }
  return nodes;
}

}  // namespace topdnn
