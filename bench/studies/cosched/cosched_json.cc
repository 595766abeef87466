// The JSON of `topdnn cosched`.

#include <nlohmann/json.hpp>

#include "bench/studies/cosched/cosched.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "bench/studies/results/result_file.h"
#include "harness/report/json.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// With more jobs than this, the JSON has no timelines.
constexpr std::size_t kMostTimelines = 200;

Json JobJson(const TraceJob& job, const JobRun& run, bool timeline) {
  Json json = {{"network", job.network},
               {"mode", PassOf(job)},
               {"batch", job.batch},
               {"steps", job.steps},
               {"priority", job.priority},
               {"min_width", job.min_width},
               {"max_width", job.max_width},
               {"arrival", JsonNumber(run.arrival)},
               {"wait", JsonNumber(WaitOf(run))},
               {"service", JsonNumber(ServiceOf(run))},
               {"turnaround", JsonNumber(TurnaroundOf(run))},
               {"slowdown", JsonNumber(SlowdownOf(run))},
               {"alone", JsonNumber(run.alone)}};
  json["status"] = !run.failure.empty() ? "FAILED" : run.end ? "OK" : "INTERRUPTED";
  json["reason"] = TextOrNull(run.failure);
  if (!timeline) return json;
  json["timeline"] = Json::array();
  for (const WidthSegment& segment : run.segments) {
    json["timeline"].push_back({{"start", JsonNumber(segment.begin)},
                                {"end", JsonNumber(segment.end)},
                                {"width", segment.width}});
  }
  return json;
}

void AddMetrics(const ScheduleMetrics& metrics, Json& json) {
  json["done"] = metrics.done;
  json["failed"] = metrics.failed;
  json["mean_wait"] = JsonNumber(metrics.wait);
  json["mean_service"] = JsonNumber(metrics.service);
  json["mean_turnaround"] = JsonNumber(metrics.turnaround);
  json["mean_slowdown"] = JsonNumber(metrics.mean_slowdown);
  json["max_slowdown"] = JsonNumber(metrics.max_slowdown);
  json["fairness"] = JsonNumber(metrics.fairness);
  json["cpu_use"] = JsonNumber(metrics.cpu_use);
  json["jobs_per_minute"] = JsonNumber(metrics.jobs_per_minute);
}

// "simulated_with" has the times of steps that the simulation used.
Json MachineSpeedJson(const CoschedPolicy& policy) {
  if (!policy.speed) return nullptr;
  return {{"before", JsonNumber(policy.speed->before)},
          {"after", JsonNumber(policy.speed->after)},
          {"mean", JsonNumber(policy.speed->mean())},
          {"simulated_with", SpeedModelJson(policy.model)}};
}

Json PolicyJson(const CoschedPolicy& policy, const std::vector<TraceJob>& jobs) {
  const Schedule& schedule = policy.shown();
  const ScheduleMetrics metrics = MetricsOf(schedule);
  Json json = {{"name", policy.policy->name},
               {"what", policy.policy->what},
               {"complete", schedule.complete},
               {"simulated", !policy.real},
               {"makespan", JsonNumber(metrics.makespan)}};
  AddMetrics(metrics, json);
  const std::string doubt = DoubtOf(policy);
  json["status"] = doubt.empty() ? "OK" : "DEGRADED";
  json["reason"] = TextOrNull(doubt);
  json["others_cpu_share"] = JsonNumber(schedule.others);
  json["simulated_makespan"] =
      policy.simulated ? JsonNumber(MetricsOf(*policy.simulated).makespan) : Json();
  json["simulation_error"] = JsonNumber(SimulationError(policy));
  json["machine_speed"] = MachineSpeedJson(policy);
  json["common_speed_makespan"] = JsonNumber(policy.common_makespan);
  json["jobs"] = Json::array();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    json["jobs"].push_back(JobJson(jobs[j], schedule.jobs[j], jobs.size() <= kMostTimelines));
  }
  return json;
}

}  // namespace

Json CoschedJson(const CoschedResult& result) {
  const std::string doubt = ModelDoubt(result);
  Json json = NewResult({{"complete", result.complete},
                         {"simulated", !result.policies.empty() && !result.policies.front().real},
                         {"cpus", result.cpus},
                         {"part_width", result.part_width},
                         {"speed_source", result.model_source},
                         {"speed", SpeedModelJson(result.model)},
                         {"speed_status", doubt.empty() ? "OK" : "DEGRADED"},
                         {"speed_reason", TextOrNull(doubt)},
                         {"common_speed", JsonNumber(result.common_speed)},
                         {"policies", Json::array()}});
  for (const CoschedPolicy& policy : result.policies) {
    json["policies"].push_back(PolicyJson(policy, result.jobs));
  }
  return json;
}

}  // namespace topdnn
