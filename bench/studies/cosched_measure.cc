#include "bench/studies/cosched_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

using std::chrono::milliseconds;

constexpr auto kTick = milliseconds(1);
// Longer than any measurement; the job is stopped when it has been measured.
constexpr std::int64_t kEndless = 1'000'000'000;
constexpr int kChanges = 8;  // of width, to measure their cost
constexpr std::size_t kMostAtOnce = 4;

int CountOf(const SpeedSettings& settings) { return static_cast<int>(settings.cpus.size()); }

struct Cancelled {};

double Seconds(CoschedClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string TextOf(const TraceJob& job) {
  return fmt::format("{} {} batch {}", job.network, PassOf(job), job.batch);
}

// Jobs that run at once while they are measured.
class MeasuredJobs {
 public:
  MeasuredJobs(std::vector<TraceJob> jobs, int width, const SpeedSettings& settings)
      : jobs_(std::move(jobs)), settings_(settings) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      jobs_[j].steps = kEndless;
      jobs_[j].min_width = 1;
      jobs_[j].max_width = CountOf(settings);
      processes_.push_back(std::make_unique<JobProcess>(
          jobs_[j], width, fmt::format("measured{}", j), settings.launch));
      processes_.back()->SetCpus(settings.cpus);
    }
  }

  JobProcess& operator[](std::size_t job) { return *processes_[job]; }
  std::size_t size() const { return jobs_.size(); }
  const TraceJob& job(std::size_t j) const { return jobs_[j]; }

  // Polls until `done` holds.
  template <class Done>
  void Await(const Done& done) {
    for (;;) {
      if (settings_.cancel != nullptr && settings_.cancel->load()) throw Cancelled();
      for (std::size_t j = 0; j < size(); ++j) {
        processes_[j]->Poll(CoschedClock::now());
        if (processes_[j]->ended()) {
          const std::string& fault = processes_[j]->fault();
          throw CoschedError(fmt::format("the job {} {}", TextOf(jobs_[j]),
                                         fault.empty() ? "ended too early" : fault));
        }
      }
      if (done()) return;
      std::this_thread::sleep_for(kTick);
    }
  }

  void Sleep(double seconds) {
    const auto until = CoschedClock::now() + std::chrono::duration<double>(seconds);
    Await([&] { return CoschedClock::now() >= until; });
  }

  // A reply that the job sends from now on.
  struct Reading {
    CoschedClock::time_point time;
    std::int64_t iterations = 0;
  };
  Reading Read(std::size_t j) {
    const auto since = CoschedClock::now();
    Await([&] {
      processes_[j]->AskNow();
      return processes_[j]->status() && processes_[j]->answered() >= since;
    });
    return {processes_[j]->answered(), processes_[j]->status()->iterations};
  }

  // The moment at which a step ends.
  Reading StepEnd(std::size_t j) {
    const std::int64_t before = Read(j).iterations;
    for (;;) {
      const Reading reading = Read(j);
      if (reading.iterations > before) return reading;
    }
  }

  void AwaitWidth(std::size_t j, int width) {
    processes_[j]->SetWidth(width);
    Await([&] {
      processes_[j]->AskNow();
      return processes_[j]->status() && processes_[j]->status()->width == width;
    });
    StepEnd(j);
  }

 private:
  std::vector<TraceJob> jobs_;
  const SpeedSettings& settings_;
  std::vector<std::unique_ptr<JobProcess>> processes_;
};

double StepSeconds(MeasuredJobs& jobs, double window) {
  const auto begin = jobs.StepEnd(0);
  jobs.Sleep(window);
  const auto end = jobs.StepEnd(0);
  return Seconds(end.time - begin.time) / static_cast<double>(end.iterations - begin.iterations);
}

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
    lost += Seconds(next.time - last.time) -
            static_cast<double>(next.iterations - last.iterations) * times.at(width);
    last = next;
  }
  return std::max(lost / kChanges, 0.0);
}

// From the last step to the end of the process.
double EndSeconds(MeasuredJobs& jobs) {
  const auto begin = CoschedClock::now();
  jobs[0].Stop();
  while (!jobs[0].ended()) {
    jobs[0].Poll(CoschedClock::now());
    std::this_thread::sleep_for(kTick);
  }
  if (!jobs[0].fault().empty()) {
    throw CoschedError(fmt::format("the job {} {}", TextOf(jobs.job(0)), jobs[0].fault()));
  }
  return Seconds(jobs[0].end() - begin);
}

SpeedCurve CurveOf(const TraceJob& kind, const SpeedSettings& settings) {
  SpeedCurve curve{
      .network = kind.network, .training = kind.training, .batch = kind.batch, .step_seconds = {}};
  MeasuredJobs jobs({kind}, CountOf(settings), settings);
  jobs.Await([&] {
    jobs[0].AskNow();
    return jobs[0].status() && jobs[0].status()->iterations > 0;
  });
  curve.startup_seconds = Seconds(CoschedClock::now() - jobs[0].begin());
  const std::vector<int> widths = WidthsToMeasure(CountOf(settings));
  std::map<int, std::vector<double>> samples;
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      // Every second round is in the reverse order.
      const int width = widths[round % 2 == 0 ? widths.size() - 1 - i : i];
      jobs.AwaitWidth(0, width);
      samples[width].push_back(StepSeconds(jobs, settings.window_seconds));
    }
  }
  for (const auto& [width, seconds] : samples) curve.step_seconds[width] = Median(seconds);
  if (widths.size() > 1) {
    jobs.AwaitWidth(0, CountOf(settings));
    curve.change_seconds = ChangeSeconds(jobs, widths[widths.size() - 2], widths.back(), curve,
                                         2 * settings.window_seconds);
  }
  curve.startup_seconds += EndSeconds(jobs);
  return curve;
}

// The mean over the jobs of their speed, relative to what their share of the CPUs would give.
double EfficiencyOf(MeasuredJobs& jobs, std::size_t count, int width, double load,
                    const std::vector<double>& alone, double window) {
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (j >= count) jobs[j].Pause();
  }
  for (std::size_t j = 0; j < count; ++j) jobs.AwaitWidth(j, width);
  std::vector<MeasuredJobs::Reading> begins;
  for (std::size_t j = 0; j < count; ++j) begins.push_back(jobs.StepEnd(j));
  jobs.Sleep(window);
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const auto end = jobs.StepEnd(j);
    const double step = Seconds(end.time - begins[j].time) /
                        static_cast<double>(end.iterations - begins[j].iterations);
    sum += alone[j] / step * std::max(load, 1.0);
  }
  for (std::size_t j = count; j < jobs.size(); ++j) jobs[j].Resume();
  // (above 1 if one job computes while another is in its serial part)
  return sum / static_cast<double>(count);
}

std::vector<LoadLoss> LossesOf(std::span<const TraceJob> kinds,
                               const std::vector<SpeedCurve>& curves,
                               const SpeedSettings& settings) {
  const int cpus = CountOf(settings);
  const int half_width = std::max(cpus / 2, 1);
  std::vector<TraceJob> at_once;
  std::vector<double> wide, half;
  for (std::size_t j = 0; j < kMostAtOnce; ++j) {
    at_once.push_back(kinds[j % kinds.size()]);
    wide.push_back(StepTimeAt(curves[j % kinds.size()], cpus).seconds);
    half.push_back(StepTimeAt(curves[j % kinds.size()], half_width).seconds);
  }
  MeasuredJobs jobs(at_once, cpus, settings);
  for (std::size_t j = 0; j < jobs.size(); ++j) jobs.StepEnd(j);
  const double window = 3 * settings.window_seconds;
  std::vector<LoadLoss> losses;
  if (cpus > 1) {
    // Each job has its own CPUs, as under the policies that do not exceed the CPUs.
    const auto middle = settings.cpus.begin() + half_width;
    jobs[0].SetCpus({settings.cpus.begin(), middle});
    jobs[1].SetCpus({middle, middle + half_width});
    losses.push_back({1, EfficiencyOf(jobs, 2, half_width, 1, half, window)});
    for (const std::size_t j : {0, 1}) jobs[j].SetCpus(settings.cpus);
  }
  losses.push_back({2, EfficiencyOf(jobs, 2, cpus, 2, wide, window)});
  losses.push_back({4, EfficiencyOf(jobs, 4, cpus, 4, wide, window)});
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
      say("measuring " + TextOf(kind), model.curves.size());
      model.curves.push_back(CurveOf(kind, settings));
    }
    say("measuring jobs at once", kinds.size());
    model.losses = LossesOf(kinds, model.curves, settings);
  } catch (const Cancelled&) {
  }
  return model;
}

}  // namespace topdnn
