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

// The ceilings for the run's number of threads, because others are not roofs of this run.
Json CeilingsOf(const Json& machine, const Json& threads) {
  Json kept = Json::array();
  for (const Json& ceiling : ObjectsIn(machine, "ceilings")) {
    const Json& unit = MemberOrNull(ceiling, "unit");
    if (unit != "FLOP/s" && unit != "OP/s" && unit != "B/s") continue;
    if (!threads.is_null() && MemberOrNull(ceiling, "threads") != threads) continue;
    kept.push_back(
        Members(ceiling, "name isa type operands threads value unit spread status reason"));
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

// The step that was fed by its input pipeline: the means of its parts sum to its mean.
Json FedStepOf(const Json& fed) {
  if (fed.is_null()) return nullptr;
  Json kept = Members(fed, "source prefetch loaders augmentation placement images_per_second");
  for (const char* part : {"step", "compute", "input_wait", "other"}) {
    kept[part] = Members(ObjectIn(fed, part), "mean ci95");
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
               phases.push_back(Members(phase, "phase group iterations seconds share"));
             }
             return phases;
           }()}};
}

}  // namespace

Json MachineData(const Json& machine, const Json& threads) {
  if (!machine.is_object()) return nullptr;
  Json kept = Members(machine, "operating_system allowed_cores");
  kept["doubts"] = TextsIn(machine, "doubts");
  if (const Json& cpu = ObjectIn(machine, "cpu"); !cpu.is_null()) {
    kept["cpu"] = Members(cpu, "brand microarchitecture hypervisor");
  }
  if (const Json ceilings = CeilingsOf(machine, threads); !ceilings.empty()) {
    kept["ceilings"] = ceilings;
  }
  return kept;
}

Json TimeData(const Json& seconds) {
  if (!seconds.is_object()) return Rounded(seconds);
  return Members(seconds, "median min p90 n");
}

Json ProfileData(const Json& profile) {
  const Json& threads = MemberOrNull(profile, "threads");
  Json data = {{"kind", "profile"}, {"subject", SubjectOf(profile)}};
  data.update(Members(profile, "command partial remainder_seconds"));
  data["notes"] = TextsIn(profile, "notes");
  data["warnings"] = TextsIn(profile, "warnings");
  data["groups"] = Rounded(ObjectsIn(profile, "groups"));
  data["memory"] = ObjectIn(profile, "memory");
  data["machine"] = MachineData(ObjectIn(profile, "machine"), threads);
  data["step"] =
      Members(ObjectIn(profile, "step"),
              "status reason seconds images_per_second flops flops_counted gflops peak_fraction"
              " ceiling ceiling_gflops ceiling_status ceiling_reason topdown topdown_bounds"
              " topdown_bounds_reason topdown_experiment topdown_experiment_reason tree"
              " tree_reason bound_by");
  data["step"]["seconds"] = TimeData(MemberOrNull(MemberOrNull(profile, "step"), "seconds"));
  data["fed_step"] = FedStepOf(ObjectIn(profile, "fed_step"));
  data["stages"] = StageColumns(ObjectsIn(profile, "stages"));
  if (Json evolution = EvolutionOf(ObjectIn(profile, "evolution")); !evolution.is_null()) {
    data["evolution"] = std::move(evolution);
  }
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
