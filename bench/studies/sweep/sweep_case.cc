#include "bench/studies/sweep/sweep_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "bench/formats/checksum.h"
#include "bench/studies/process/child_program.h"
#include "networks/planning/plan_rules.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// Fisher-Yates, since std::shuffle may differ between implementations.
void Shuffle(std::mt19937_64& random, std::vector<CaseValues>& cases) {
  for (std::size_t i = cases.size(); i > 1; --i) std::swap(cases[i - 1], cases[random() % i]);
}

}  // namespace

std::string FileName(std::string text) {
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
    if (!safe) c = '_';
  }
  constexpr std::size_t kMost = 100;
  return text.substr(0, kMost);
}

std::string IdOf(const SweepCase& one, const CaseSettings& settings) {
  const auto value = [&](const char* key) { return one.values.at(key); };
  std::string name = fmt::format("{}-{}-b{}-{}-{}", value("network"), value("mode"), value("batch"),
                                 value("dtype"), value("backend"));
  if (!value("threads").empty()) name += "-t" + value("threads");
  name += fmt::format("-{}-p{}", value("placement"), value("prefetch"));
  if (value("regime") != "in-network") name += "-" + value("regime");
  if (value("isa") != "any") name += "-" + value("isa");
  if (value("plan") != kBestPlan) name += "-" + value("plan");
  if (one.repeat > 1) name += fmt::format("-r{}", one.repeat);
  const std::string whole =
      Json(one.values).dump() + Json(settings).dump() + std::to_string(one.repeat);
  return fmt::format("{}-{}", FileName(name), Checksum(whole));
}

std::vector<SweepCase> ScheduleOf(const AxisValues& values, int repeats, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<CaseValues> round = Product(values);
  std::vector<SweepCase> schedule;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    Shuffle(random, round);
    for (const CaseValues& one : round) schedule.push_back({.values = one, .repeat = repeat});
  }
  return schedule;
}

std::vector<std::string> ArgumentsOf(const SweepCase& one, const CaseSettings& settings,
                                     const std::string& json, int cpus) {
  const CaseValues& values = one.values;
  std::vector<std::string> arguments = {"profile", values.at("network"), "--" + values.at("mode"),
                                        "--no-isolated"};
  for (const char* key : {"batch", "dtype", "backend", "plan", "placement", "prefetch", "regime"}) {
    // (rules of a framework settle the backend)
    const bool settled = std::string_view(key) == "backend" && values.at("plan") != kBestPlan &&
                         values.at("backend") == "onednn";
    if (settled) continue;
    arguments.push_back(fmt::format("--{}", key));
    arguments.push_back(values.at(key));
  }
  std::string threads = values.at("threads");
  if (threads.empty() && values.at("placement") == "private" && cpus > 1) {
    threads = std::to_string(cpus - 1);
  }
  if (!threads.empty()) {
    arguments.emplace_back("--threads");
    arguments.push_back(threads);
  }
  for (const auto& [option, value] : settings) {
    arguments.push_back(option);
    arguments.push_back(value);
  }
  arguments.insert(arguments.end(), {"--json", json});
  return arguments;
}

std::vector<std::pair<std::string, std::string>> EnvironmentOf(const SweepCase& one) {
  return EnvironmentOfIsa(one.values.at("isa"));
}

Json RowOf(const SweepCase& one, const CaseSettings& settings) {
  Json row = {{"id", IdOf(one, settings)}};
  for (const SweepAxis& axis : SweepAxes()) {
    const std::string& value = one.values.at(axis.key);
    if (value.empty()) {
      row[axis.key] = nullptr;
    } else if (axis.number) {
      row[axis.key] = std::stoll(value);
    } else {
      row[axis.key] = value;
    }
  }
  row["repeat"] = one.repeat;
  for (const char* key : {"status", "reason", "step", "compute", "input_wait", "other", "means",
                          "images_per_second", "file", "process_seconds", "host"}) {
    row[key] = nullptr;
  }
  return row;
}

}  // namespace topdnn
