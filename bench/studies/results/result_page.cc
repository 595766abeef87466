#include "bench/studies/results/result_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "harness/report/html/json_parts.h"
#include "harness/report/html/page_data.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json SweepData(const Json& sweep) {
  Json data = {{"kind", "sweep"}};
  data.update(Members(sweep, "command left_out"));
  data["notes"] = TextsIn(sweep, "notes");
  data["machine"] = MachineData(ObjectIn(sweep, "machine"), nullptr);
  data["cases"] = Json::array();
  for (const Json& one : ObjectsIn(sweep, "cases")) {
    Json kept =
        Members(one,
                "id network mode batch dtype backend threads prefetch placement regime isa plan"
                " repeat status reason compute input_wait other means images_per_second file"
                " command");
    const Json& step = MemberOrNull(one, "step");
    kept["step"] = step.is_object() ? Members(step, "mean ci95") : Rounded(step);
    if (step.is_object()) {
      const Json& seconds = MemberOrNull(step, "seconds");
      kept["step"]["seconds"] = TimeData(seconds.is_null() ? step : seconds);
    }
    data["cases"].push_back(std::move(kept));
  }
  return data;
}

Json ComparisonData(const Json& comparison) {
  constexpr const char* kRow =
      "case name pass a b ratio ci95 a_peak_fraction b_peak_fraction ratio_normalised p p_single"
      " effect significant status reason";
  Json data = {{"kind", "comparison"}};
  data.update(Members(comparison, "name command a b verdict summary correction status reason"));
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
  data.update(Members(collection, "command cases finished"));
  data["chosen"] = MemberOrNull(comparison, "chosen");
  data["machines"] = Json::array();
  for (const Json& machine : ObjectsIn(comparison, "machines")) {
    data["machines"].push_back(ComparisonData(machine));
  }
  return data;
}

// A workload, a stage of it, or a pair of a matrix.
Json SlowdownOf(const Json& row) {
  Json kept =
      Members(row, "workload victim aggressor name pass cpus slowdown ci95 verdict status reason");
  for (const char* key : {"solo", "shared"}) kept[key] = TimeData(MemberOrNull(row, key));
  return kept;
}

Json SharingData(const Json& sharing) {
  Json data = {{"kind", "sharing"}};
  data.update(Members(sharing,
                      "command partial rounds window_seconds stp stp_ci95 antt antt_ci95 fairness"
                      " fairness_ci95"));
  data["machine"] = MachineData(ObjectIn(sharing, "machine"), nullptr);
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
  constexpr const char* kJob =
      "network mode batch steps priority min_width max_width arrival wait service turnaround"
      " slowdown status reason";
  Json data = {{"kind", "scheduling"}};
  data.update(Members(scheduling, "command complete simulated cpus"));
  data["machine"] = MachineData(ObjectIn(scheduling, "machine"), nullptr);
  data["policies"] = Json::array();
  std::size_t most = 0;
  for (const Json& policy : ObjectsIn(scheduling, "policies")) {
    Json kept = Members(policy,
                        "name what complete makespan simulated_makespan simulation_error mean_wait"
                        " mean_service mean_turnaround mean_slowdown max_slowdown fairness cpu_use"
                        " jobs_per_minute failed status reason common_speed_makespan");
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

// The course of the steps in at most kMostPoints points, each the mean of `steps_per_point` steps.
Json LiveData(const Json& live) {
  constexpr std::size_t kMostPoints = 1'000;
  constexpr std::size_t kMostOperators = 10;
  Json data = Members(live, "program_seconds span_seconds between_seconds processes step");
  data["operators"] = Json::array();
  for (const Json& own : ObjectsIn(live, "operators")) {
    if (data["operators"].size() == kMostOperators) break;
    data["operators"].push_back(Members(own, "name seconds share primitive_seconds"));
  }
  const Json& steps = ObjectIn(live, "steps");
  if (steps.is_null()) return data;
  Json& kept = data["steps"] = Members(steps, "primitives first_seconds");
  kept["later"] = TimeData(MemberOrNull(steps, "later"));
  const Json& series = ObjectsIn(steps, "series");
  const std::size_t each = series.size() / (kMostPoints + 1) + 1;
  kept["count"] = series.size();
  kept["steps_per_point"] = each;
  for (const char* key : {"seconds", "primitive_seconds"}) {
    Json& points = kept[key] = Json::array();
    for (std::size_t begin = 0; begin < series.size(); begin += each) {
      const std::size_t end = std::min(begin + each, series.size());
      double sum = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const Json& value = MemberOrNull(series[i], key);
        sum += value.is_number() ? value.get<double>() : std::nan("");
      }
      points.push_back(Rounded(sum / static_cast<double>(end - begin)));
    }
  }
  return data;
}

Json TraceData(const Json& trace) {
  constexpr const char* kRow =
      "primitive pass prop_kind problem types layouts count share framework_seconds hot_seconds"
      " best_seconds measured_seconds best status status_reason reason topdown topdown_bounds"
      " topdown_bounds_reason module operator live_seconds live_share overlapped counters"
      " live_topdown live_topdown_reason";
  Json data = {{"kind", "trace"}};
  data.update(Members(
      trace, "command library primitives framework_seconds covered reorder_share between_seconds"));
  data["machine"] = MachineData(ObjectIn(trace, "machine"), nullptr);
  if (const Json& ratio = ObjectIn(trace, "median_ratio"); !ratio.is_null()) {
    data["median_ratio"] = Members(ratio, "cold hot");
  }
  if (const Json& live = ObjectIn(trace, "live"); !live.is_null()) data["live"] = LiveData(live);
  data["rows"] = Json::array();
  for (const Json& row : ObjectsIn(trace, "rows")) data["rows"].push_back(Members(row, kRow));
  return data;
}

}  // namespace

std::optional<Json> PageDataOf(const ResultFile& result) {
  switch (result.kind) {
    case ResultKind::kProfile:
      return ProfileData(result.json);
    case ResultKind::kSweep:
      return SweepData(result.json);
    case ResultKind::kComparison:
      if (result.json.contains("exact")) break;  // counts: the page draws times
      return ComparisonData(result.json);
    case ResultKind::kFleet:
      return MachinesData(result.json);
    case ResultKind::kSharing:
      return SharingData(result.json);
    case ResultKind::kScheduling:
      return SchedulingData(result.json);
    case ResultKind::kTrace:
      return TraceData(result.json);
    case ResultKind::kGoogleBenchmark:
    case ResultKind::kMachine:
      break;
  }
  return std::nullopt;
}

}  // namespace topdnn
