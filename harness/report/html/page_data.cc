#include "harness/report/html/page_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "harness/report/html/json_parts.h"
#include "harness/report/html/stage_columns.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// These members of an object, or of null, in this order; a member that is absent stays absent.
template <std::size_t kCount>
Json Members(const Json& from, const std::array<const char*, kCount>& keys) {
  Json to = Json::object();
  for (const char* key : keys) {
    if (const auto found = from.find(key); found != from.end()) to[key] = Rounded(*found);
  }
  return to;
}

// The ceilings for the run's number of threads, because others are not roofs of this run.
Json CeilingsOf(const Json& machine, const Json& threads) {
  Json kept = Json::array();
  for (const Json& ceiling : ObjectsIn(machine, "ceilings")) {
    const Json& unit = MemberOrNull(ceiling, "unit");
    if (unit != "FLOP/s" && unit != "B/s") continue;
    if (!threads.is_null() && MemberOrNull(ceiling, "threads") != threads) continue;
    kept.push_back(Members(ceiling, std::array{"name", "isa", "type", "operands", "threads",
                                               "value", "unit", "spread", "status", "reason"}));
  }
  return kept;
}

Json MachineOf(const Json& machine, const Json& threads) {
  if (!machine.is_object()) return nullptr;
  Json kept = Members(machine, std::array{"operating_system", "allowed_cores"});
  kept["doubts"] = TextsIn(machine, "doubts");
  if (const Json& cpu = ObjectIn(machine, "cpu"); !cpu.is_null()) {
    kept["cpu"] = Members(cpu, std::array{"brand", "microarchitecture", "hypervisor"});
  }
  if (const Json ceilings = CeilingsOf(machine, threads); !ceilings.empty()) {
    kept["ceilings"] = ceilings;
  }
  return kept;
}

// The pairs that say what was measured: every plain value except those of kOthers.
Json SubjectOf(const Json& profile) {
  constexpr std::array kOthers = {"schema", "command", "remainder_seconds", "measuring_seconds",
                                  "partial"};
  Json subject = Json::array();
  for (const auto& [key, value] : profile.items()) {
    const auto same = [&name = key](const char* other) { return name == other; };
    if (!value.is_primitive() || value.is_null()) continue;
    if (std::any_of(kOthers.begin(), kOthers.end(), same)) continue;
    subject.push_back({key, Rounded(value)});
  }
  return subject;
}

// Without the samples, which are many.
Json TimeOf(const Json& seconds) {
  if (!seconds.is_object()) return Rounded(seconds);
  return Members(seconds, std::array{"median", "min", "p90", "n"});
}

// The step that was fed by its input pipeline: the means of its parts sum to its mean.
Json FedStepOf(const Json& fed) {
  if (fed.is_null()) return nullptr;
  Json kept = Members(fed, std::array{"source", "prefetch", "loaders", "augmentation", "placement",
                                      "images_per_second"});
  for (const char* part : {"step", "compute", "input_wait", "other"}) {
    kept[part] = Members(ObjectIn(fed, part), std::array{"mean", "ci95"});
  }
  return kept;
}

// The means of up to `points` groups of consecutive values. A mean is null if one of its values is.
Json Thinned(const Json& values, std::size_t points) {
  const std::size_t count = values.size();
  const std::size_t merged = std::max<std::size_t>(1, (count + points - 1) / points);
  Json means = Json::array();
  for (std::size_t begin = 0; begin < count; begin += merged) {
    const std::size_t end = std::min(count, begin + merged);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += values[i].is_number() ? values[i].get<double>() : std::nan("");
    }
    means.push_back(Rounded(sum / static_cast<double>(end - begin)));
  }
  return means;
}

// The times of the step and of the longest stages: all 587 stages of a large network
// would need more room than the rest of the page, and the page draws few of them.
Json EvolutionOf(const Json& evolution) {
  constexpr std::size_t kMostSeries = 33;  // with the step, which is the last one
  constexpr std::size_t kMostPoints = 150;
  if (!evolution.is_object()) return nullptr;
  const Json& stages = ObjectsIn(evolution, "stages");
  std::vector<std::pair<double, std::size_t>> by_time;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    double sum = 0;
    for (const Json& value : MemberOrNull(stages[i], "seconds")) {
      if (value.is_number()) sum += value.get<double>();
    }
    by_time.emplace_back(-sum, i);
  }
  std::sort(by_time.begin(), by_time.end());
  Json kept = Json::array();
  for (std::size_t i = 0; i < std::min(kMostSeries, by_time.size()); ++i) {
    const std::size_t stage = by_time[i].second;
    const Json& series = stages[stage];
    const Json& seconds = MemberOrNull(series, "seconds");
    const std::size_t merged =
        std::max<std::size_t>(1, (seconds.size() + kMostPoints - 1) / kMostPoints);
    const Json& per_value = MemberOrNull(series, "values_per_point");
    kept.push_back({{"stage", stage + 1 == stages.size() ? Json(nullptr) : Json(stage)},
                    {"warmup", Thinned(MemberOrNull(series, "warmup_seconds"), kMostPoints)},
                    {"seconds", Thinned(seconds, kMostPoints)},
                    {"values_per_point",
                     per_value.is_number()
                         ? Json(per_value.get<std::int64_t>() * static_cast<std::int64_t>(merged))
                         : Json(nullptr)}});
  }
  return {{"series", kept},
          {"phases", [&] {
             Json phases = Json::array();
             for (const Json& phase : ObjectsIn(evolution, "phases")) {
               phases.push_back(
                   Members(phase, std::array{"phase", "group", "iterations", "seconds", "share"}));
             }
             return phases;
           }()}};
}

Json ProfileData(const Json& profile) {
  const Json& threads = MemberOrNull(profile, "threads");
  Json data = {{"kind", "profile"}, {"subject", SubjectOf(profile)}};
  data.update(Members(profile, std::array{"command", "partial", "remainder_seconds"}));
  data["notes"] = TextsIn(profile, "notes");
  data["groups"] = Rounded(ObjectsIn(profile, "groups"));
  data["memory"] = ObjectIn(profile, "memory");
  data["machine"] = MachineOf(ObjectIn(profile, "machine"), threads);
  data["step"] = Members(
      ObjectIn(profile, "step"),
      std::array{"status", "reason", "seconds", "images_per_second", "flops", "flops_counted",
                 "gflops", "peak_fraction", "ceiling", "ceiling_gflops", "ceiling_status",
                 "ceiling_reason", "topdown", "topdown_bounds", "topdown_bounds_reason",
                 "topdown_experiment", "topdown_experiment_reason"});
  data["step"]["seconds"] = TimeOf(MemberOrNull(MemberOrNull(profile, "step"), "seconds"));
  data["fed_step"] = FedStepOf(ObjectIn(profile, "fed_step"));
  data["stages"] = StageColumns(ObjectsIn(profile, "stages"));
  if (Json evolution = EvolutionOf(ObjectIn(profile, "evolution")); !evolution.is_null()) {
    data["evolution"] = std::move(evolution);
  }
  return data;
}

Json SweepData(const Json& sweep) {
  Json data = {{"kind", "sweep"}};
  data.update(Members(sweep, std::array{"command", "left_out"}));
  data["notes"] = TextsIn(sweep, "notes");
  data["machine"] = MachineOf(ObjectIn(sweep, "machine"), nullptr);
  data["cases"] = Json::array();
  for (const Json& one : ObjectsIn(sweep, "cases")) {
    Json kept = Members(
        one, std::array{"id",      "network",  "mode",       "batch",  "dtype", "backend",
                        "threads", "prefetch", "placement",  "regime", "isa",   "status",
                        "reason",  "compute",  "input_wait", "other",  "means", "images_per_second",
                        "file",    "command"});
    const Json& step = MemberOrNull(one, "step");
    kept["step"] = step.is_object() ? Members(step, std::array{"mean", "ci95"}) : Rounded(step);
    if (step.is_object()) {
      const Json& seconds = MemberOrNull(step, "seconds");
      kept["step"]["seconds"] = TimeOf(seconds.is_null() ? step : seconds);
    }
    data["cases"].push_back(std::move(kept));
  }
  return data;
}

Json ComparisonData(const Json& comparison) {
  constexpr std::array kRow = {"case",
                               "name",
                               "pass",
                               "a",
                               "b",
                               "ratio",
                               "ci95",
                               "a_peak_fraction",
                               "b_peak_fraction",
                               "ratio_normalised",
                               "p",
                               "p_single",
                               "effect",
                               "significant",
                               "status",
                               "reason"};
  Json data = {{"kind", "comparison"}};
  data.update(Members(comparison, std::array{"name", "command", "a", "b", "verdict", "summary",
                                             "correction", "status", "reason"}));
  data["notes"] = TextsIn(comparison, "notes");
  data["differences"] = TextsIn(comparison, "differences");
  if (const Json& step = ObjectIn(comparison, "step"); !step.is_null()) {
    data["step"] = Members(step, kRow);
  }
  data["rows"] = Json::array();
  for (const Json& row : ObjectsIn(comparison, "rows")) data["rows"].push_back(Members(row, kRow));
  return data;
}

// The machines of a study, each compared with the chosen one.
Json MachinesData(const Json& collection) {
  const Json& comparison = ObjectIn(collection, "comparison");
  Json data = {{"kind", "machines"}};
  data.update(Members(collection, std::array{"command", "cases", "finished"}));
  data["chosen"] = MemberOrNull(comparison, "chosen");
  data["machines"] = Json::array();
  for (const Json& machine : ObjectsIn(comparison, "machines")) {
    data["machines"].push_back(ComparisonData(machine));
  }
  return data;
}

// A workload, a stage of it, or a pair of a matrix.
Json SlowdownOf(const Json& row) {
  Json kept = Members(row, std::array{"workload", "victim", "aggressor", "name", "pass", "cpus",
                                      "slowdown", "ci95", "verdict", "status", "reason"});
  for (const char* key : {"solo", "shared"}) kept[key] = TimeOf(MemberOrNull(row, key));
  return kept;
}

Json SharingData(const Json& sharing) {
  Json data = {{"kind", "sharing"}};
  data.update(
      Members(sharing, std::array{"command", "partial", "rounds", "window_seconds", "stp",
                                  "stp_ci95", "antt", "antt_ci95", "fairness", "fairness_ci95"}));
  data["machine"] = MachineOf(ObjectIn(sharing, "machine"), nullptr);
  data["group"] = Json::array();
  for (const Json& member : ObjectsIn(sharing, "group")) {
    Json kept = SlowdownOf(member);
    kept["stages"] = Json::array();
    for (const Json& stage : ObjectsIn(member, "stages")) {
      kept["stages"].push_back(SlowdownOf(stage));
    }
    data["group"].push_back(std::move(kept));
  }
  data["matrix"] = Json::array();
  for (const Json& pair : ObjectsIn(sharing, "matrix")) data["matrix"].push_back(SlowdownOf(pair));
  return data;
}

// [start, end, width] of each part; empty if the result has none.
Json TimelineOf(const Json& job) {
  Json parts = Json::array();
  for (const Json& part : ObjectsIn(job, "timeline")) {
    parts.push_back(Rounded(Json::array(
        {MemberOrNull(part, "start"), MemberOrNull(part, "end"), MemberOrNull(part, "width")})));
  }
  return parts;
}

// Leaves the jobs out if there are more than kMostJobs: `cosched` then writes no timelines.
Json SchedulingData(const Json& scheduling) {
  constexpr std::size_t kMostJobs = 200;
  constexpr std::array kJob = {"network",    "mode",      "batch",   "steps", "priority",
                               "min_width",  "max_width", "arrival", "wait",  "service",
                               "turnaround", "slowdown",  "status",  "reason"};
  Json data = {{"kind", "scheduling"}};
  data.update(Members(scheduling, std::array{"command", "complete", "simulated", "cpus"}));
  data["machine"] = MachineOf(ObjectIn(scheduling, "machine"), nullptr);
  data["policies"] = Json::array();
  std::size_t most = 0;
  for (const Json& policy : ObjectsIn(scheduling, "policies")) {
    Json kept = Members(policy, std::array{"name", "what", "complete", "makespan",
                                           "simulated_makespan", "simulation_error", "mean_wait",
                                           "mean_service", "mean_turnaround", "mean_slowdown",
                                           "max_slowdown", "fairness", "cpu_use", "jobs_per_minute",
                                           "failed", "status", "reason", "common_speed_makespan"});
    kept["speed"] = Rounded(MemberOrNull(ObjectIn(policy, "machine_speed"), "mean"));
    const Json& jobs = ObjectsIn(policy, "jobs");
    most = std::max(most, jobs.size());
    kept["jobs"] = Json::array();
    for (const Json& job : jobs) {
      if (jobs.size() > kMostJobs) break;
      Json one = Members(job, kJob);
      one["timeline"] = TimelineOf(job);
      kept["jobs"].push_back(std::move(one));
    }
    data["policies"].push_back(std::move(kept));
  }
  data["job_count"] = most;
  data["left_out"] = most > kMostJobs;
  return data;
}

Json TraceData(const Json& trace) {
  constexpr std::array kRow = {"primitive",
                               "pass",
                               "prop_kind",
                               "problem",
                               "types",
                               "layouts",
                               "count",
                               "share",
                               "framework_seconds",
                               "hot_seconds",
                               "best_seconds",
                               "measured_seconds",
                               "best",
                               "status",
                               "status_reason",
                               "reason",
                               "topdown",
                               "topdown_bounds",
                               "topdown_bounds_reason"};
  Json data = {{"kind", "trace"}};
  data.update(Members(trace, std::array{"command", "library", "primitives", "framework_seconds",
                                        "covered", "reorder_share", "between_seconds"}));
  data["machine"] = MachineOf(ObjectIn(trace, "machine"), nullptr);
  if (const Json& ratio = ObjectIn(trace, "median_ratio"); !ratio.is_null()) {
    data["median_ratio"] = Members(ratio, std::array{"cold", "hot"});
  }
  data["rows"] = Json::array();
  for (const Json& row : ObjectsIn(trace, "rows")) data["rows"].push_back(Members(row, kRow));
  return data;
}

Json DataOf(const PageResult& result) {
  switch (result.kind) {
    case PageKind::kProfile:
      return ProfileData(result.json);
    case PageKind::kSweep:
      return SweepData(result.json);
    case PageKind::kComparison:
      return ComparisonData(result.json);
    case PageKind::kMachines:
      return MachinesData(result.json);
    case PageKind::kSharing:
      return SharingData(result.json);
    case PageKind::kScheduling:
      return SchedulingData(result.json);
    case PageKind::kTrace:
      return TraceData(result.json);
  }
  return nullptr;
}

}  // namespace

Json PageData(const std::vector<PageResult>& results) {
  Json data = {{"results", Json::array()}};
  for (const PageResult& result : results) data["results"].push_back(DataOf(result));
  return data;
}

std::string JsonForScript(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    // (`<` occurs only inside strings)
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace topdnn
