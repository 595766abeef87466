// The tables and timelines of `topdnn cosched`.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/studies/cosched/cosched.h"
#include "harness/text/one_line.h"
#include "harness/text/table.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Kind = Table::Kind;

constexpr std::size_t kTimelineColumns = 80;

Table::Column Figure(std::string name, std::string unit, int rank, int decimals) {
  return {.name = std::move(name),
          .kind = Kind::kFigure,
          .unit = std::move(unit),
          .rank = rank,
          .decimals = decimals};
}

// Whether the table has estimates at the common speed: only if the speed makes a run doubtful.
bool HasEstimates(const CoschedResult& result) {
  const auto& policies = result.policies;
  return policies.size() > 1 && std::any_of(policies.begin(), policies.end(), [&](const auto& one) {
           return one.common_makespan && !SpeedDoubt(*one.speed, *result.common_speed).empty();
         });
}

// A simulation has no column of measurements.
std::string PoliciesTable(const CoschedResult& result, bool real, const Style& style) {
  std::vector<Table::Column> columns = {{.name = "policy", .kind = Kind::kWord}};
  if (real) columns.push_back(Figure("makespan", "s", 0, 2));
  columns.push_back(Figure("simulated", "s", 0, 2));
  if (real) columns.push_back({.name = "error", .kind = Kind::kPercent});
  const bool checked = result.common_speed.has_value();
  if (checked) columns.push_back(Figure("speed", "", 0, 2));
  const bool estimated = HasEstimates(result);
  if (estimated) columns.push_back(Figure("~equal speed", "s", 1, 2));
  for (const Table::Column& column :
       {Figure("wait", "s", 1, 2), Figure("service", "s", 2, 2), Figure("turnaround", "s", 1, 2),
        Figure("slowdown", "", 0, 2), Figure("largest", "", 1, 2), Figure("fairness", "", 1, 2),
        Table::Column{.name = "CPU", .kind = Kind::kPercent, .rank = 1},
        Figure("jobs/min", "", 2, 1)}) {
    columns.push_back(column);
  }
  Table table(columns);
  for (const CoschedPolicy& policy : result.policies) {
    const ScheduleMetrics metrics = MetricsOf(policy.shown());
    const bool whole = policy.real && policy.real->complete;
    std::vector<Table::Cell> row = {policy.policy->name};
    if (real) row.emplace_back(whole ? metrics.makespan : std::nullopt);
    row.emplace_back(policy.simulated ? MetricsOf(*policy.simulated).makespan : std::nullopt);
    if (real) row.emplace_back(SimulationError(policy));
    if (checked)
      row.emplace_back(policy.speed ? std::optional(policy.speed->mean()) : std::nullopt);
    if (estimated) row.emplace_back(policy.common_makespan);
    for (const auto& value :
         {metrics.wait, metrics.service, metrics.turnaround, metrics.mean_slowdown,
          metrics.max_slowdown, metrics.fairness, metrics.cpu_use, metrics.jobs_per_minute}) {
      row.emplace_back(value);
    }
    table.Add(row);
  }
  return table.Text(style);
}

// The jobs without a result, and the policies whose figures are in doubt.
std::string RemarksText(const CoschedResult& result) {
  std::string text;
  const std::string model_doubt = ModelDoubt(result);
  if (!model_doubt.empty()) text += fmt::format("times of steps: DEGRADED: {}\n", model_doubt);
  for (const CoschedPolicy& policy : result.policies) {
    const Schedule& schedule = policy.shown();
    for (std::size_t j = 0; j < result.jobs.size(); ++j) {
      if (schedule.jobs[j].failure.empty()) continue;
      text += fmt::format("{}: job {} FAILED: {}\n", policy.policy->name,
                          JobLabel(result.jobs[j], j + 1), OneLine(schedule.jobs[j].failure));
    }
    const std::string doubt = DoubtOf(policy);
    if (!doubt.empty()) text += fmt::format("{}: DEGRADED: {}\n", policy.policy->name, doubt);
    if (!schedule.complete) {
      text += fmt::format("{}: interrupted: its figures are of the jobs that had ended\n",
                          policy.policy->name);
    }
  }
  return text;
}

std::string SpeedLegend(const CoschedResult& result) {
  if (!result.common_speed) return "";
  std::string text =
      "speed: of the machine before and after the policy, mean, relative to the times of steps; "
      "the simulation has this speed. ";
  if (HasEstimates(result)) {
    text += fmt::format("~equal speed: an estimate of the makespan at the speed {:.2f}. ",
                        *result.common_speed);
  }
  return text;
}

}  // namespace

std::string CoschedText(const CoschedResult& result, std::size_t most_jobs, const Style& style) {
  if (result.policies.empty()) return "";
  const bool real = result.policies.front().real.has_value();
  std::string text = fmt::format(
      "{} on {}{}; times of steps: {}\n", CountText(std::ssize(result.jobs), "job"),
      CountText(result.cpus, "CPU"), real ? "" : ", simulated", OneLine(result.model_source));
  text += PoliciesTable(result, real, style) + RemarksText(result);
  text += Wrap(
      SpeedLegend(result) +
          "wait, service, turnaround: means over the jobs. slowdown: turnaround / time alone at "
          "the maximum width (from the times of steps), mean and largest. fairness: smallest alone "
          "/ "
          "turnaround divided by the largest.",
      style.width, 0);
  std::vector<std::string> labels;
  const std::size_t count = std::min(most_jobs, result.jobs.size());
  for (std::size_t j = 0; j < count; ++j) labels.push_back(JobLabel(result.jobs[j], j + 1));
  for (const CoschedPolicy& policy : result.policies) {
    text += fmt::format("\n{}: {}\n", policy.policy->name, policy.policy->what);
    text += TimelineText(policy.shown(), labels, count, kTimelineColumns);
  }
  if (count < result.jobs.size()) {
    text += fmt::format("\n{} more jobs: --json has them\n", result.jobs.size() - count);
  }
  return text + fmt::format(
                    "\nwidths over the time of each policy, first arrival to last end; "
                    "'.': waits{}\n",
                    result.complete ? "" : "; interrupted, so incomplete");
}

}  // namespace topdnn
