#include "bench/studies/compare/compared_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/command_line/command.h"
#include "harness/statistics/empirical_null.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// A time, or a share, that a logarithm can be taken of.
std::optional<double> TimeOf(const Json& json) {
  if (!json.is_number()) return std::nullopt;
  const double seconds = json.get<double>();
  return std::isfinite(seconds) && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

// The samples; in results of earlier versions, which lack them, the median.
RunTimes TimesOf(const Json& seconds) {
  RunTimes times;
  if (!seconds.is_object()) return times;
  const auto samples = seconds.find("samples");
  if (samples != seconds.end() && samples->is_array()) {
    for (const Json& sample : *samples) {
      if (const auto time = TimeOf(sample)) times.push_back(*time);
    }
  }
  if (!times.empty() || !seconds.contains("median")) return times;
  if (const auto median = TimeOf(seconds["median"])) times.push_back(*median);
  return times;
}

// The bytes of the data caches by level; empty if the result has none.
std::map<int, double> CachesOf(const Json& about) {
  std::map<int, double> caches;
  const Json listed = about.value("/machine/caches"_json_pointer, Json::array());
  for (const Json& cache : listed) {
    if (!cache.is_object() || cache.value("type", Json()) == "instruction") continue;
    const Json level = cache.value("level", Json());
    const Json size = cache.value("size", Json());
    if (level.is_number() && size.is_number()) caches[level.get<int>()] = size.get<double>();
  }
  return caches;
}

// The least spread of the ratio of two runs.
double SpreadOf(double bytes, double flops, const std::map<int, double>& caches) {
  if (!(bytes > 0) || flops >= kFlopsPerByte * bytes) return kSpreadOfArithmetic;
  for (const auto& [level, size] : caches) {
    if (level == 1) continue;
    const auto inner = caches.find(1);
    const bool private_cache = level == 2 && inner != caches.end();
    const double least = private_cache ? inner->second : size / 2;
    if (bytes > least && bytes < 2 * size) return kSpreadInCaches;
  }
  return kSpreadOfMovedData;
}

StageTimes StageOf(const Json& json, std::string name, std::string pass,
                   const std::map<int, double>& caches = {}) {
  StageTimes stage{.name = std::move(name),
                   .pass = std::move(pass),
                   .status = TextAt(json, "status"),
                   .reason = TextAt(json, "reason")};
  const auto number = [&json](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
  };
  stage.spread = SpreadOf(number("bytes"), number("flops"), caches);
  const Json speeds = json.contains("speeds") ? json["speeds"] : Json();
  for (const char* probe : {"arithmetic", "memory"}) {
    if (!speeds.contains(probe)) continue;
    stage.speed = std::min(stage.speed, TimeOf(speeds[probe]).value_or(1));
  }
  const bool valid = stage.status != "INVALID" && stage.status != "FAILED";
  if (valid && json.contains("seconds")) stage.times = TimesOf(json["seconds"]);
  if (valid && json.contains("peak_fraction")) stage.peak = TimeOf(json["peak_fraction"]);
  return stage;
}

// ---- Sweeps.

constexpr const char* kConfiguration[] = {"network", "mode",    "batch",    "dtype",
                                          "backend", "threads", "prefetch", "placement",
                                          "regime",  "isa",     "plan"};

std::string ConfigurationOf(const Json& json) {
  std::string text;
  for (const char* key : kConfiguration) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) continue;
    const std::string value = found->is_string() ? found->get<std::string>() : found->dump();
    // (the usual regime, ISA and plan)
    if (value == "in-network" || value == "any" || value == "best") continue;
    const bool plain = std::string_view(key) == "network" || std::string_view(key) == "mode" ||
                       std::string_view(key) == "dtype" || std::string_view(key) == "backend";
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : " ", plain ? "" : std::string(key) + " ", value);
  }
  return text;
}

using RunsByCase = std::vector<std::pair<std::string, std::vector<ComparedRun>>>;

RunsByCase CasesOfSweep(const ResultFile& sweep, const char* side,
                        std::vector<std::string>& unpaired) {
  RunsByCase cases;
  for (const Json& json : sweep.json["cases"]) {
    if (!json.is_object()) throw UsageError(sweep.path + ": a case is not an object");
    const std::string name = ConfigurationOf(json);
    const std::string file = TextAt(json, "file");
    if (file.empty()) {
      unpaired.push_back(fmt::format("{}: {} has no profile: {} {}", name, side,
                                     TextAt(json, "status"), TextAt(json, "reason")));
      continue;
    }
    ComparedRun run = RunOfProfile(ReadSweepCase(sweep.path, file).json);
    run.isa = TextAt(json, "isa");
    auto found = cases.begin();
    while (found != cases.end() && found->first != name) ++found;
    if (found == cases.end()) found = cases.insert(found, {name, {}});
    found->second.push_back(std::move(run));
  }
  return cases;
}

// ---- Google Benchmark.

double SecondsPer(const std::string& unit) {
  if (unit == "s") return 1;
  if (unit == "ms") return 1e-3;
  return unit == "us" ? 1e-6 : 1e-9;
}

// Each repetition as a run: the spread between repetitions is then measured.
std::vector<ComparedRun> RunsOfRepetitions(const ComparedRun& all, std::size_t repetitions) {
  std::vector<ComparedRun> runs(repetitions, all);
  for (std::size_t i = 0; i < repetitions; ++i) {
    for (StageTimes& row : runs[i].stages) row.times = {row.times[i]};
  }
  return runs;
}

// The rows by name, with their repetitions in order. Without repetitions in the file, the median.
// Too few rows cannot show the spread between runs. Then each repetition is a run.
std::vector<ComparedRun> RunsOfBenchmarks(const ResultFile& file) {
  std::vector<std::string> order;
  std::map<std::string, RunTimes> repetitions, medians;
  for (const Json& row : file.json["benchmarks"]) {
    if (!row.is_object()) throw UsageError(file.path + ": a row is not an object");
    std::string name = TextAt(row, "run_name");
    if (name.empty()) name = TextAt(row, "name");
    const bool aggregate = TextAt(row, "run_type") == "aggregate";
    if (aggregate && TextAt(row, "aggregate_name") != "median") continue;
    if (row.value("error_occurred", Json()) == true || !row.contains("real_time")) continue;
    const auto time = TimeOf(row["real_time"]);
    if (!time) continue;
    if (!repetitions.contains(name)) order.push_back(name);
    RunTimes& times = repetitions[name];
    const double seconds = *time * SecondsPer(TextAt(row, "time_unit"));
    (aggregate ? medians[name] : times).push_back(seconds);
  }
  ComparedRun run{.about = {{"context", file.json["context"]}}};
  std::size_t least = SIZE_MAX;
  for (const std::string& name : order) {
    const RunTimes& times = repetitions[name].empty() ? medians[name] : repetitions[name];
    run.stages.push_back({.name = name, .times = times, .status = "OK"});
    least = std::min(least, times.size());
  }
  const bool few = run.stages.size() < std::size_t{kLeastStagesForNull};
  if (few && !run.stages.empty() && least > 1) return RunsOfRepetitions(run, least);
  return {std::move(run)};
}

bool IsLive(const ResultFile& result) {
  return result.kind == ResultKind::kTrace && result.json.value("live", Json()).is_object();
}

RunsByCase CasesOf(const ResultFile& result, const char* side, bool live,
                   std::vector<std::string>& unpaired) {
  switch (result.kind) {
    case ResultKind::kProfile:
      return {{"", {RunOfProfile(result.json)}}};
    case ResultKind::kTrace:
      return {{"", {RunOfTrace(result.json, live)}}};
    case ResultKind::kGoogleBenchmark:
      return {{"", RunsOfBenchmarks(result)}};
    case ResultKind::kSweep:
      return CasesOfSweep(result, side, unpaired);
    default:
      throw UsageError(fmt::format(
          "{}: is a {} file: give a profile, a sweep's folder, a trace or Google Benchmark's JSON",
          result.path, NameOf(result.kind)));
  }
}

// A primitive computes all of its time. Marks one whose threads waited for CPUs meanwhile; if that
// was most of its time, the time is that of other programs. A row without counts is not marked.
void MarkWaiting(double cpu_seconds, double seconds, StageTimes& stage) {
  constexpr double kLeastCpus = 0.9;
  constexpr double kOwnTime = 0.5;
  if (!(seconds > 0) || !(cpu_seconds < kLeastCpus * seconds)) return;
  if (cpu_seconds < kOwnTime * seconds) stage.no_interval = true;
  stage.status = "DEGRADED";
  stage.reason = fmt::format("waited for CPUs: {:.2f} CPUs in its time", cpu_seconds / seconds);
}

// CPU time and time of a row's tasks; NaN if it has no counts.
std::pair<double, double> TaskTimesOf(const Json& row) {
  const Json clock = row.value("/counters/task-clock"_json_pointer, Json());
  const Json seconds = row.value("live_seconds", Json());
  if (!clock.is_number() || !seconds.is_number()) return {std::nan(""), std::nan("")};
  return {clock.get<double>() * 1e-9, seconds.get<double>()};
}

// The times and counts of a row in its program.
void SetLive(const Json& row, StageTimes& stage) {
  stage.status = "OK";
  stage.reason.clear();
  stage.times = TimesOf(row.value("/execution/framework"_json_pointer, Json()));
  stage.spread = std::max(stage.spread, kSpreadOfMovedData);
  const auto [cpu_seconds, seconds] = TaskTimesOf(row);
  MarkWaiting(cpu_seconds, seconds, stage);
  if (stage.times.size() < kLeastLiveRuns) {
    stage.no_interval = true;
    stage.status = "DEGRADED";
    stage.reason =
        fmt::format("{}: too few for an interval", CountText(std::ssize(stage.times), "timed run"));
  }
  const Json runs = row.value("count", Json());
  if (!runs.is_number() || !(runs.get<double>() > 0)) return;
  stage.counts.emplace_back("runs", runs.get<double>());
  const Json counters = row.value("counters", Json());
  if (!counters.is_object()) return;
  for (const auto& [name, sum] : counters.items()) {
    stage.counts.emplace_back(name, sum.is_number()
                                        ? std::optional(sum.get<double>() / runs.get<double>())
                                        : std::nullopt);
  }
}

// The steps without the first one, which is the warm-up.
std::vector<StageTimes> StepOfLive(const Json& trace) {
  const Json series = trace.value("/live/steps/series"_json_pointer, Json());
  if (!series.is_array()) return {};
  StageTimes step{.name = "step", .pass = "step", .status = "OK"};
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (!series[i].is_object()) continue;
    if (const auto time = TimeOf(series[i].value("seconds", Json()))) step.times.push_back(*time);
  }
  step.no_interval = step.times.size() < kLeastLiveRuns;
  double all_cpu_seconds = 0, all_seconds = 0;
  for (const Json& row : trace["rows"]) {
    const auto [cpu_seconds, seconds] = TaskTimesOf(row);
    if (!(seconds > 0)) continue;
    all_cpu_seconds += cpu_seconds;
    all_seconds += seconds;
  }
  MarkWaiting(all_cpu_seconds, all_seconds, step);
  return {step};
}

}  // namespace

ComparedRun RunOfProfile(const Json& profile) {
  ComparedRun run{.command = TextAt(profile, "command"), .about = profile};
  for (const char* key : {"stages", "step", "groups", "notes", "evolution"}) run.about.erase(key);
  const std::map<int, double> caches = CachesOf(profile);
  for (const Json& stage : profile["stages"]) {
    run.stages.push_back(StageOf(stage, TextAt(stage, "name"), TextAt(stage, "pass"), caches));
  }
  run.step.push_back(StageOf(profile["step"], "step", "step"));
  return run;
}

ComparedRun RunOfTrace(const Json& trace, bool live) {
  ComparedRun run{.command = TextAt(trace, "command"), .about = trace};
  run.about.erase("rows");
  const std::map<int, double> caches = CachesOf(trace);
  for (const Json& row : trace["rows"]) {
    if (!row.is_object()) continue;
    std::string name = TextAt(row, "primitive");
    for (const char* key :
         {"problem", "auxiliary", "types", "layouts", "attributes", "module", "operator"}) {
      const std::string part = TextAt(row, key);
      if (!part.empty()) name += " " + part;
    }
    // (as the JSON of a stage)
    Json stage = row;
    const Json::json_pointer cold("/execution/cold");
    if (row.contains(cold)) stage["seconds"] = row.at(cold);
    if (row.contains("status_reason")) stage["reason"] = row["status_reason"];
    // (the share of the ceiling is that of the hot time)
    stage.erase("peak_fraction");
    run.stages.push_back(StageOf(stage, std::move(name), TextAt(row, "prop_kind"), caches));
    if (live) SetLive(row, run.stages.back());
  }
  if (live) run.step = StepOfLive(trace);
  return run;
}

ComparedResults PairResults(const ResultFile& a, const ResultFile& b) {
  ComparedResults results{.kind = a.kind};
  const bool live = IsLive(a) && IsLive(b);
  RunsByCase of_a = CasesOf(a, "A", live, results.unpaired);
  RunsByCase of_b = CasesOf(b, "B", live, results.unpaired);
  if (a.kind != b.kind) {
    throw UsageError(fmt::format("{} is a {} and {} is a {}: compare two results of one kind",
                                 a.path, NameOf(a.kind), b.path, NameOf(b.kind)));
  }
  for (auto& [name, runs] : of_a) {
    auto found = of_b.begin();
    while (found != of_b.end() && found->first != name) ++found;
    if (found == of_b.end()) {
      results.unpaired.push_back(name + ": only in A");
      continue;
    }
    results.cases.push_back({.name = name, .a = std::move(runs), .b = std::move(found->second)});
    of_b.erase(found);
  }
  for (const auto& [name, runs] : of_b) results.unpaired.push_back(name + ": only in B");
  if (results.cases.empty()) {
    throw UsageError(
        fmt::format("{} and {}: no case is in both: compare sweeps of the same configurations",
                    a.path, b.path));
  }
  return results;
}

}  // namespace topdnn
