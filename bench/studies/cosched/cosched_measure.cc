#include "bench/studies/cosched/cosched_measure.h"

#include <algorithm>
#include <map>

#include "bench/studies/cosched/cosched_check.h"
#include "bench/studies/cosched/measured_jobs.h"
#include "bench/studies/cosched/others_share.h"
#include "harness/measure/watched_run.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr int kChanges = 8;  // of width, to measure their cost

int CountOf(const SpeedSettings& settings) { return static_cast<int>(settings.cpus.size()); }

// The mean time that a change between two widths adds to the steps.
double ChangeSeconds(MeasuredJobs& jobs, int narrow, int wide, const SpeedCurve& curve,
                     double window) {
  const std::map<int, double>& times = curve.step_seconds;
  double lost = 0;
  auto last = jobs.StepEnd(0);
  for (int i = 0; i < kChanges; ++i) {
    const int width = i % 2 == 0 ? narrow : wide;
    jobs[0].SetWidth(width);
    jobs.Sleep(window / kChanges);
    const auto next = jobs.StepEnd(0);
    lost += SecondsBetween(last.time, next.time) -
            static_cast<double>(next.iterations - last.iterations) * times.at(width);
    last = next;
  }
  return std::max(lost / kChanges, 0.0);
}

// Adds the CPU seconds of the measured job to `cpu_seconds`.
SpeedCurve CurveOf(const TraceJob& kind, const SpeedSettings& settings, double& cpu_seconds) {
  SpeedCurve curve{
      .network = kind.network, .training = kind.training, .batch = kind.batch, .step_seconds = {}};
  MeasuredJobs jobs({kind}, CountOf(settings), settings);
  const double first = jobs.AwaitFirstStep();
  const std::vector<int> widths = WidthsToMeasure(CountOf(settings));
  std::map<int, std::vector<double>> samples;
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      // Every second round is in the reverse order.
      const int width = widths[round % 2 == 0 ? widths.size() - 1 - i : i];
      jobs.AwaitWidth(0, width);
      samples[width].push_back(jobs.StepSeconds(0, settings.window_seconds));
    }
  }
  for (const auto& [width, seconds] : samples) curve.step_seconds[width] = Median(seconds);
  if (widths.size() > 1) {
    jobs.AwaitWidth(0, CountOf(settings));
    curve.change_seconds = ChangeSeconds(jobs, widths[widths.size() - 2], widths.back(), curve,
                                         2 * settings.window_seconds);
  }
  // (the first and the last step have the largest width)
  curve.startup_seconds =
      StartupSeconds(first, jobs.EndSeconds(), curve.step_seconds.at(CountOf(settings)));
  cpu_seconds += jobs[0].cpu_seconds();
  return curve;
}

}  // namespace

std::vector<TraceJob> KindsOf(std::span<const TraceJob> jobs) {
  std::vector<TraceJob> kinds;
  for (const TraceJob& job : jobs) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const TraceJob& kind) {
      return kind.network == job.network && kind.training == job.training &&
             kind.batch == job.batch;
    });
    if (!known) kinds.push_back(job);
  }
  return kinds;
}

double StartupSeconds(double first, double last, double step) {
  return std::max(first + last - 2 * step, 0.0);
}

std::vector<int> WidthsToMeasure(int cpus) {
  std::vector<int> widths;
  for (int width = 1; width < cpus; width *= 2) widths.push_back(width);
  widths.push_back(cpus);
  return widths;
}

MeasuredSpeed MeasureSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings) {
  MeasuredSpeed measured;
  SpeedModel& model = measured.model;
  const OthersShare others(CountOf(settings));
  double cpu_seconds = 0;
  try {
    for (const TraceJob& kind : kinds) {
      if (settings.progress) {
        settings.progress("measuring " + KindText(kind), static_cast<double>(model.curves.size()) /
                                                             static_cast<double>(kinds.size()));
      }
      model.curves.push_back(CurveOf(kind, settings, cpu_seconds));
    }
  } catch (const MeasureCancelled&) {
    return measured;
  }
  measured.others = others.Share(cpu_seconds);
  const SpeedCheck check = CheckSpeed(KindsToCheck(kinds, model), settings);
  if (IsCancelled(settings.cancel)) return measured;
  if (!check.failure.empty()) throw RunFailure(check.failure);
  model.losses = check.losses;
  if (check.others) measured.others = std::max(measured.others.value_or(0), *check.others);
  return measured;
}

}  // namespace topdnn
