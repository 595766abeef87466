#include "bench/studies/compare/settings_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/statistics/summary.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// A setting: its place in the JSON, and its name for a reader.
struct Setting {
  const char* pointer;
  const char* name;
};

constexpr Setting kSettings[] = {
    {"/network", "network"},
    {"/mode", "mode"},
    {"/batch", "batch"},
    {"/dtype", "dtype"},
    {"/backend", "backend"},
    {"/plan", "plan"},
    {"/threads", "threads"},
    {"/regime", "regime"},
    {"/library", "the framework's oneDNN"},
    {"/framework_threads", "the framework's threads"},
    {"/live/steps/primitives", "primitives in a step"},
    {"/live/processes", "processes with primitives"},
    {"/live/step", "the step whose rows are shown"},
    {"/data", "data"},
    {"/seed", "seed"},
    {"/partial", "interrupted before its end"},
    {"/machine/cpu/brand", "machine: CPU"},
    {"/machine/cpu/family", "machine: CPU family"},
    {"/machine/cpu/model", "machine: CPU model"},
    {"/machine/cpu/stepping", "machine: CPU stepping"},
    {"/machine/cpu/hypervisor", "machine: hypervisor"},
    {"/machine/microcode", "machine: microcode"},
    {"/machine/cores", "machine: cores"},
    {"/machine/cpus", "machine: logical CPUs"},
    {"/machine/allowed_cpus", "machine: allowed CPUs"},
    {"/machine/cpu_quota", "machine: CPU quota"},
    {"/machine/numa_nodes", "machine: NUMA nodes"},
    {"/machine/caches", "machine: caches"},
    {"/machine/memory", "machine: memory, bytes"},
    {"/machine/operating_system", "machine: kernel"},
    {"/machine/isa", "machine: instruction sets"},
    {"/context/host_name", "machine: host"},
    {"/context/num_cpus", "machine: logical CPUs"},
    {"/context/mhz_per_cpu", "machine: clock, MHz"},
    {"/context/cpu_scaling_enabled", "machine: CPU scaling"},
    {"/context/caches", "machine: caches"},
    {"/context/library_build_type", "Google Benchmark's build type"},
    {"/context/libraries", "libraries"},
};

std::string ValueText(const Json* value) {
  if (value == nullptr || value->is_null()) return std::string(kAbsentText);
  return value->is_string() ? value->get<std::string>() : value->dump();
}

const Json* Find(const Json& json, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return json.contains(place) ? &json.at(place) : nullptr;
}

// Adds a line if the values differ.
void Add(const std::string& name, const Json* a, const Json* b, std::vector<std::string>& lines) {
  const std::string in_a = ValueText(a);
  const std::string in_b = ValueText(b);
  if (in_a != in_b) lines.push_back(fmt::format("{}: {} in A, {} in B", name, in_a, in_b));
}

// Adds a line for each version that differs, or that only one result has.
void AddLibraries(const Json& a, const Json& b, std::vector<std::string>& lines) {
  const Json none = Json::object();
  const Json* const of_a = Find(a, "/machine/libraries");
  const Json* const of_b = Find(b, "/machine/libraries");
  const Json flat_a = (of_a == nullptr ? none : *of_a).flatten();
  const Json flat_b = (of_b == nullptr ? none : *of_b).flatten();
  Json keys = flat_a;
  keys.update(flat_b);
  for (const auto& [key, value] : keys.items()) {
    std::string name = key.substr(key.starts_with('/') ? 1 : 0);
    std::replace(name.begin(), name.end(), '/', ' ');
    Add("library: " + name, flat_a.contains(key) ? &flat_a[key] : nullptr,
        flat_b.contains(key) ? &flat_b[key] : nullptr, lines);
  }
}

// A ceiling in both results.
struct SharedCeiling {
  std::string name;
  std::string unit;
  bool ok = false;  // in both
  double a = 0;
  double b = 0;
  double spread = 0;  // of both together, relative

  bool latency() const { return unit == "s"; }
  // The log of B's slowdown.
  double Change() const { return latency() ? std::log(b / a) : std::log(a / b); }
};

std::optional<double> Positive(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

const Json* Ceilings(const Json& json) {
  const Json* const found = Find(json, "/machine/ceilings");
  return found != nullptr && found->is_array() ? found : nullptr;
}

std::vector<SharedCeiling> SharedCeilings(const Json& a, const Json& b) {
  std::vector<SharedCeiling> shared;
  if (Ceilings(a) == nullptr || Ceilings(b) == nullptr) return shared;
  for (const Json& own : *Ceilings(a)) {
    for (const Json& other : *Ceilings(b)) {
      if (!own.is_object() || !other.is_object()) continue;
      if (own.value("name", Json()) != other.value("name", Json())) continue;
      if (own.value("threads", Json()) != other.value("threads", Json())) continue;
      const auto in_a = Positive(own, "value");
      const auto in_b = Positive(other, "value");
      if (!in_a || !in_b) continue;
      const auto status = [](const Json& ceiling) { return ceiling.value("status", Json()); };
      shared.push_back(
          {.name = fmt::format("{} on {} threads", ValueText(Find(own, "/name")),
                               ValueText(Find(own, "/threads"))),
           .unit = ValueText(Find(own, "/unit")),
           .ok = status(own) == "OK" && status(other) == "OK",
           .a = *in_a,
           .b = *in_b,
           .spread = Positive(own, "spread").value_or(0) + Positive(other, "spread").value_or(0)});
    }
  }
  return shared;
}

// A rate in 10^9 per second, or a latency in nanoseconds.
std::string RateText(const SharedCeiling& ceiling, double value) {
  if (ceiling.latency()) return ThreeDigits(value * 1e9) + " ns";
  return ThreeDigits(value * 1e-9) + " G" + ceiling.unit;
}

}  // namespace

std::vector<std::string> SettingsDifferences(const Json& a, const Json& b) {
  std::vector<std::string> lines;
  for (const Setting& setting : kSettings) {
    Add(setting.name, Find(a, setting.pointer), Find(b, setting.pointer), lines);
  }
  AddLibraries(a, b, lines);
  return lines;
}

std::vector<std::string> CeilingDifferences(const Json& a, const Json& b) {
  std::vector<std::string> lines;
  for (const SharedCeiling& ceiling : SharedCeilings(a, b)) {
    if (std::abs(ceiling.b / ceiling.a - 1) <= ceiling.spread) continue;
    lines.push_back(fmt::format("ceiling: {}: {} in A, {} in B{}", ceiling.name,
                                RateText(ceiling, ceiling.a), RateText(ceiling, ceiling.b),
                                ceiling.ok ? "" : " (disturbed)"));
  }
  return lines;
}

std::string WhyNotComparable(const Json& a, const Json& b) {
  for (const char* key : {"network", "mode", "batch"}) {
    const std::string in_a = ValueText(Find(a, std::string("/") + key));
    const std::string in_b = ValueText(Find(b, std::string("/") + key));
    if (in_a != in_b) return fmt::format("{} {} in A and {} in B", key, in_a, in_b);
  }
  return "";
}

std::vector<double> CeilingChanges(const Json& a, const Json& b) {
  std::vector<double> arithmetic, memory;
  for (const SharedCeiling& ceiling : SharedCeilings(a, b)) {
    if (!ceiling.ok) continue;
    (ceiling.name.starts_with("fma") ? arithmetic : memory).push_back(ceiling.Change());
  }
  std::vector<double> changes;
  for (const std::vector<double>& kind : {arithmetic, memory}) {
    if (!kind.empty()) changes.push_back(Median(kind));
  }
  return changes;
}

}  // namespace topdnn
