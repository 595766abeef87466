#include "bench/studies/cosched/cosched_check.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bench/studies/cosched/measured_jobs.h"
#include "bench/studies/cosched/others_share.h"
#include "harness/scheduling/simulator.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostAtOnce = 4;

using Group = std::vector<std::size_t>;

// Four jobs of at most four kinds.
class Check {
 public:
  Check(std::span<const TraceJob> kinds, const SpeedSettings& settings)
      : kinds_(kinds),
        settings_(settings),
        cpus_(static_cast<int>(settings.cpus.size())),
        others_(cpus_),
        jobs_(AtOnce(kinds), cpus_, settings) {
    for (std::size_t j = 0; j < kMostAtOnce; ++j) jobs_.StepEnd(j);
  }

  SpeedCheck Run() {
    SpeedCheck check;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      Say(check.curves.size());
      check.curves.push_back(CurveOf(k));
    }
    Say(check.curves.size());
    check.losses = LossesOf(check.curves);
    jobs_.RunOnly({0, 1, 2, 3});
    check.others = others_.Share(jobs_.EndAll());
    return check;
  }

 private:
  static std::vector<TraceJob> AtOnce(std::span<const TraceJob> kinds) {
    std::vector<TraceJob> jobs;
    for (std::size_t j = 0; j < kMostAtOnce; ++j) jobs.push_back(kinds[j % kinds.size()]);
    return jobs;
  }

  void Say(std::size_t done) {
    if (!settings_.progress) return;
    settings_.progress("checking the machine's speed",
                       static_cast<double>(done) / static_cast<double>(kinds_.size() + 1));
  }

  SpeedCurve CurveOf(std::size_t k) {
    const TraceJob& kind = kinds_[k];
    SpeedCurve curve{.network = kind.network,
                     .training = kind.training,
                     .batch = kind.batch,
                     .step_seconds = {}};
    jobs_.RunOnly({k});
    std::vector<int> widths = WidthsToMeasure(cpus_);
    std::reverse(widths.begin(), widths.end());  // the job starts at the largest width
    for (const int width : widths) {
      jobs_.AwaitWidth(k, width);
      curve.step_seconds[width] = jobs_.StepSeconds(k, settings_.window_seconds);
    }
    return curve;
  }

  // Runs the jobs of the group at once. Returns the sum of their speeds, each relative to the job's
  // speed alone.
  double SpeedsOf(const Group& group, int width, const std::vector<SpeedCurve>& curves) {
    jobs_.RunOnly(group);
    for (const std::size_t j : group) jobs_.AwaitWidth(j, width);
    std::vector<MeasuredJobs::Reading> begins;
    for (const std::size_t j : group) begins.push_back(jobs_.StepEnd(j));
    jobs_.Sleep(1.5 * settings_.window_seconds);
    double sum = 0;
    for (std::size_t g = 0; g < group.size(); ++g) {
      const auto end = jobs_.StepEnd(group[g]);
      const double step = SecondsBetween(begins[g].time, end.time) /
                          static_cast<double>(end.iterations - begins[g].iterations);
      sum += StepTimeAt(curves[group[g] % curves.size()], width) / step;
    }
    return sum;
  }

  // The efficiency is the mean over the jobs, relative to what their share of the CPUs would give.
  // It is above 1 if one job computes while another is in its serial part.
  std::vector<LoadLoss> LossesOf(const std::vector<SpeedCurve>& curves) {
    const Group pairs[] = {{0, 1}, {2, 3}};
    std::vector<LoadLoss> losses;
    const auto add = [&](double load, double speeds) {
      losses.push_back({load, speeds * std::max(load, 1.0) / kMostAtOnce});
    };
    if (cpus_ > 1) {
      // Each job has its own CPUs, as under the policies that do not exceed the CPUs.
      const int half = cpus_ / 2;
      const auto middle = settings_.cpus.begin() + half;
      double speeds = 0;
      for (const Group& pair : pairs) {
        jobs_[pair[0]].SetCpus({settings_.cpus.begin(), middle});
        jobs_[pair[1]].SetCpus({middle, middle + half});
        speeds += SpeedsOf(pair, half, curves);
        for (const std::size_t j : pair) jobs_[j].SetCpus(settings_.cpus);
      }
      add(1, speeds);
    }
    double speeds = 0;
    for (const Group& pair : pairs) speeds += SpeedsOf(pair, cpus_, curves);
    add(2, speeds);
    add(4, SpeedsOf({0, 1, 2, 3}, cpus_, curves));
    return losses;
  }

  std::span<const TraceJob> kinds_;
  const SpeedSettings& settings_;
  int cpus_;
  OthersShare others_;
  MeasuredJobs jobs_;
};

}  // namespace

std::vector<TraceJob> KindsToCheck(std::span<const TraceJob> jobs, const SpeedModel& model) {
  const std::vector<std::size_t> curves = CurvesOf(jobs, model);
  std::vector<double> work(model.curves.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    work[curves[j]] += static_cast<double>(jobs[j].steps) * StepTimeAt(model.curves[curves[j]], 1);
  }
  std::vector<std::pair<double, TraceJob>> kinds;
  for (const TraceJob& kind : KindsOf(jobs)) {
    kinds.emplace_back(work[CurvesOf(std::span(&kind, 1), model).front()], kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<TraceJob> most;
  for (std::size_t k = 0; k < std::min(kinds.size(), kMostAtOnce); ++k) {
    most.push_back(kinds[k].second);
  }
  return most;
}

SpeedCheck CheckSpeed(std::span<const TraceJob> kinds, const SpeedSettings& settings) {
  try {
    return Check(kinds, settings).Run();
  } catch (const MeasureCancelled&) {
    return {.curves = {}, .losses = {}, .others = {}, .failure = "interrupted"};
  } catch (const RunFailure& error) {
    return {.curves = {}, .losses = {}, .others = {}, .failure = error.what()};
  }
}

}  // namespace topdnn
