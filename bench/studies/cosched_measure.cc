#include "bench/studies/cosched_measure.h"

#include <algorithm>
#include <map>

#include "bench/studies/measured_jobs.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

constexpr int kChanges = 8;  // of width, to measure their cost
constexpr std::size_t kMostAtOnce = 4;

int CountOf(const SpeedSettings& settings) { return static_cast<int>(settings.cpus.size()); }

// The time that changes between two widths add to the steps, for each change.
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

SpeedCurve CurveOf(const TraceJob& kind, const SpeedSettings& settings) {
  SpeedCurve curve{
      .network = kind.network, .training = kind.training, .batch = kind.batch, .step_seconds = {}};
  MeasuredJobs jobs({kind}, CountOf(settings), settings);
  curve.startup_seconds = jobs.AwaitFirstStep();
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
  curve.startup_seconds += jobs.EndSeconds();
  return curve;
}

// The speeds of the first `count` jobs alone, one after the other, in steps per second.
std::vector<double> SpeedsAlone(MeasuredJobs& jobs, std::size_t count, double window) {
  std::vector<double> speeds;
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t other = 0; other < count; ++other) {
      if (other == j) {
        jobs[other].Resume();
      } else {
        jobs[other].Pause();
      }
    }
    speeds.push_back(1 / jobs.StepSeconds(j, window));
  }
  for (std::size_t j = 0; j < count; ++j) jobs[j].Resume();
  return speeds;
}

std::vector<double> SpeedsTogether(MeasuredJobs& jobs, std::size_t count, double window) {
  std::vector<MeasuredJobs::Reading> begins;
  for (std::size_t j = 0; j < count; ++j) begins.push_back(jobs.StepEnd(j));
  jobs.Sleep(window);
  std::vector<double> speeds;
  for (std::size_t j = 0; j < count; ++j) {
    const auto end = jobs.StepEnd(j);
    speeds.push_back(static_cast<double>(end.iterations - begins[j].iterations) /
                     SecondsBetween(begins[j].time, end.time));
  }
  return speeds;
}

// The mean over the first `count` jobs of their speed together, relative to what their share of the
// CPUs would give. Above 1 if one job computes while another is in its serial part. Their speed
// alone is measured before and after, because the machine's speed may change.
double EfficiencyOf(MeasuredJobs& jobs, std::size_t count, int width, double load, double window) {
  for (std::size_t j = count; j < jobs.size(); ++j) jobs[j].Pause();
  for (std::size_t j = 0; j < count; ++j) jobs.AwaitWidth(j, width);
  const auto before = SpeedsAlone(jobs, count, window);
  const auto together = SpeedsTogether(jobs, count, 3 * window);
  const auto after = SpeedsAlone(jobs, count, window);
  for (std::size_t j = count; j < jobs.size(); ++j) jobs[j].Resume();
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j) {
    sum += together[j] / ((before[j] + after[j]) / 2) * std::max(load, 1.0);
  }
  return sum / static_cast<double>(count);
}

std::vector<LoadLoss> LossesOf(std::span<const TraceJob> kinds, const SpeedSettings& settings) {
  const int cpus = CountOf(settings);
  const int half_width = std::max(cpus / 2, 1);
  std::vector<TraceJob> at_once;
  for (std::size_t j = 0; j < kMostAtOnce; ++j) at_once.push_back(kinds[j % kinds.size()]);
  MeasuredJobs jobs(at_once, cpus, settings);
  for (std::size_t j = 0; j < jobs.size(); ++j) jobs.StepEnd(j);
  const double window = settings.window_seconds;
  std::vector<LoadLoss> losses;
  if (cpus > 1) {
    // Each job has its own CPUs, as under the policies that do not exceed the CPUs.
    const auto middle = settings.cpus.begin() + half_width;
    jobs[0].SetCpus({settings.cpus.begin(), middle});
    jobs[1].SetCpus({middle, middle + half_width});
    losses.push_back({1, EfficiencyOf(jobs, 2, half_width, 1, window)});
    for (const std::size_t j : {0, 1}) jobs[j].SetCpus(settings.cpus);
  }
  losses.push_back({2, EfficiencyOf(jobs, 2, cpus, 2, window)});
  losses.push_back({4, EfficiencyOf(jobs, 4, cpus, 4, window)});
  return losses;
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

std::vector<int> WidthsToMeasure(int cpus) {
  std::vector<int> widths;
  for (int width = 1; width < cpus; width *= 2) widths.push_back(width);
  widths.push_back(cpus);
  return widths;
}

SpeedModel MeasureSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings) {
  SpeedModel model;
  const auto say = [&](const std::string& what, std::size_t done) {
    if (!settings.progress) return;
    settings.progress(what, static_cast<double>(done) / static_cast<double>(kinds.size() + 1));
  };
  try {
    for (const TraceJob& kind : kinds) {
      say("measuring " + KindText(kind), model.curves.size());
      model.curves.push_back(CurveOf(kind, settings));
    }
    say("measuring jobs at once", kinds.size());
    model.losses = LossesOf(kinds, settings);
  } catch (const MeasureCancelled&) {
  }
  return model;
}

}  // namespace topdnn
