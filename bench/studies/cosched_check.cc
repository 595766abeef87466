#include "bench/studies/cosched_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bench/studies/measured_jobs.h"
#include "harness/one_line.h"
#include "harness/scheduling/simulator.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostKinds = 4;

SpeedCurve TimesOf(const TraceJob& kind, const SpeedSettings& settings) {
  SpeedCurve curve{
      .network = kind.network, .training = kind.training, .batch = kind.batch, .step_seconds = {}};
  const int cpus = static_cast<int>(settings.cpus.size());
  MeasuredJobs jobs({kind}, cpus, settings);
  curve.startup_seconds = jobs.AwaitFirstStep();
  std::vector<int> widths = WidthsToMeasure(cpus);
  std::reverse(widths.begin(), widths.end());  // the job has the last one
  for (const int width : widths) {
    jobs.AwaitWidth(0, width);
    curve.step_seconds[width] = jobs.StepSeconds(0, settings.window_seconds);
  }
  curve.startup_seconds += jobs.EndSeconds();
  return curve;
}

Schedule Simulated(const CoschedResult& result, const SpeedModel& model, const Policy& policy) {
  return Simulate(result.jobs, model, policy,
                  {.cpus = result.cpus, .part_width = result.part_width});
}

// The makespan at the common speed is the real one, changed as that of the simulation.
void Compare(double common, const CoschedResult& result, CoschedPolicy& policy) {
  policy.doubt = SpeedDoubt(*policy.speed, common);
  const auto real = MetricsOf(*policy.real).makespan;
  const auto simulated = MetricsOf(*policy.simulated).makespan;
  if (!policy.real->complete || !real || !simulated) return;
  const SpeedModel model = ModelAtSpeed(policy.model, common / policy.speed->mean());
  const auto changed = MetricsOf(Simulated(result, model, *policy.policy)).makespan;
  if (changed) policy.common_makespan = *real * *changed / *simulated;
}

}  // namespace

std::vector<TraceJob> KindsToCheck(std::span<const TraceJob> jobs, const SpeedModel& model) {
  const std::vector<std::size_t> curves = CurvesOf(jobs, model);
  std::vector<double> work(model.curves.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    work[curves[j]] +=
        static_cast<double>(jobs[j].steps) * StepTimeAt(model.curves[curves[j]], 1).seconds;
  }
  std::vector<std::pair<double, TraceJob>> kinds;
  for (const TraceJob& kind : KindsOf(jobs)) {
    kinds.emplace_back(work[CurvesOf(std::span(&kind, 1), model).front()], kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<TraceJob> most;
  for (std::size_t k = 0; k < std::min(kinds.size(), kMostKinds); ++k) {
    most.push_back(kinds[k].second);
  }
  return most;
}

SpeedCheck CheckSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings) {
  SpeedCheck check;
  try {
    for (const TraceJob& kind : kinds) {
      if (settings.progress) {
        settings.progress("checking the machine's speed", static_cast<double>(check.curves.size()) /
                                                              static_cast<double>(kinds.size()));
      }
      check.curves.push_back(TimesOf(kind, settings));
    }
  } catch (const MeasureCancelled&) {
    check = {.curves = {}, .failure = "interrupted"};
  } catch (const CoschedError& error) {
    check = {.curves = {}, .failure = error.what()};
  }
  return check;
}

void AddSpeed(const SpeedCheck& before, const SpeedCheck& after, const CoschedResult& result,
              CoschedPolicy& policy) {
  const auto first = SpeedAt(result.jobs, result.model, before);
  const auto last = SpeedAt(result.jobs, result.model, after);
  if (first && last) {
    policy.speed = RunSpeed{.before = *first, .after = *last};
    policy.model = ModelAround(result.model, before, after, *policy.speed);
    return;
  }
  policy.doubt = fmt::format("the machine's speed around its run is not known: {}",
                             OneLine(first ? after.failure : before.failure));
}

void SimulatePolicy(const CoschedResult& result, CoschedPolicy& policy) {
  policy.simulated = Simulated(result, policy.speed ? policy.model : result.model, *policy.policy);
  if (!policy.real) return;
  for (std::size_t j = 0; j < result.jobs.size(); ++j) {
    policy.real->jobs[j].alone = policy.simulated->jobs[j].alone;
  }
}

void CompareSpeeds(CoschedResult& result) {
  std::vector<RunSpeed> speeds;
  for (const CoschedPolicy& policy : result.policies) {
    if (policy.speed) speeds.push_back(*policy.speed);
  }
  if (speeds.empty()) return;
  result.common_speed = CommonSpeed(speeds);
  for (CoschedPolicy& policy : result.policies) {
    if (policy.speed) Compare(*result.common_speed, result, policy);
  }
}

}  // namespace topdnn
