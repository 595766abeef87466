#include "harness/scheduling/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

namespace topdnn {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Keeps the times of steps by kind and width, because an estimate by a fit takes longer than a
// look-up.
class StepTimes {
 public:
  explicit StepTimes(const std::vector<SpeedCurve>& curves)
      : curves_(curves), known_(curves.size()) {}

  double operator()(std::size_t curve, int width) {
    std::vector<double>& known = known_[curve];
    const auto index = static_cast<std::size_t>(width);
    if (known.size() <= index) known.resize(index + 1);
    if (known[index] == 0) known[index] = StepTimeAt(curves_[curve], width);
    return known[index];
  }

 private:
  const std::vector<SpeedCurve>& curves_;
  std::vector<std::vector<double>> known_;
};

struct Work {
  double before = 0;  // remaining seconds of the start and of changes of width
  double steps = 0;   // remaining steps
  double step_seconds = 0;
  double speed = 0;  // seconds of work per second
  double since = 0;  // when the present width began

  double left() const { return before + steps * step_seconds; }
};

class Simulator {
 public:
  Simulator(std::span<const TraceJob> jobs, const SpeedModel& model, const Policy& policy,
            const SimulatorSettings& settings)
      : jobs_(jobs),
        model_(model),
        policy_(policy),
        settings_(settings),
        curves_(CurvesOf(jobs, model)),
        step_times_(model.curves),
        work_(jobs.size()) {
    schedule_.cpus = settings.cpus;
    schedule_.jobs.resize(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      work_[j].before = model.curves[curves_[j]].startup_seconds;
      work_[j].steps = static_cast<double>(jobs[j].steps);
      schedule_.jobs[j].arrival = jobs[j].arrival;
      schedule_.jobs[j].alone = SecondsAlone(jobs[j], model.curves[curves_[j]], jobs[j].max_width);
    }
  }

  Schedule Run() {
    if (jobs_.empty()) return schedule_;
    time_ = jobs_.front().arrival;
    while (arrived_ < jobs_.size() || !queue_.empty()) {
      const double next = std::min(NextArrival(), NextEnd());
      if (next == kNever) throw std::logic_error(fmt::format("{}: no job can run", policy_.name));
      Advance(next);
      End();
      for (; NextArrival() <= time_; ++arrived_) Enqueue(arrived_, jobs_[arrived_], queue_);
      Decide();
    }
    return schedule_;
  }

 private:
  double NextArrival() const { return arrived_ < jobs_.size() ? jobs_[arrived_].arrival : kNever; }
  double EndOf(std::size_t job) const { return time_ + work_[job].left() / work_[job].speed; }

  double NextEnd() const {
    double next = kNever;
    for (const QueuedJob& queued : queue_) {
      if (queued.now.width > 0) next = std::min(next, EndOf(queued.job));
    }
    return next;
  }

  // Jobs whose ends differ only by rounding end together.
  void Advance(double next) {
    const double rounding = 1e-12 * std::max(next, 1.0);
    const double seconds = next - time_;
    int threads = 0;
    for (const QueuedJob& queued : queue_) {
      if (queued.now.width == 0) continue;
      threads += queued.now.width;
      Work& work = work_[queued.job];
      if (EndOf(queued.job) <= next + rounding) {
        work.before = work.steps = 0;
        continue;
      }
      const double done = seconds * work.speed;
      const double before = std::min(done, work.before);
      work.before -= before;
      work.steps -= (done - before) / work.step_seconds;
    }
    schedule_.cpu_seconds += seconds * std::min(threads, settings_.cpus);
    time_ = next;
  }

  void End() {
    std::erase_if(queue_, [this](const QueuedJob& queued) {
      if (queued.now.width == 0 || work_[queued.job].left() > 0) return false;
      CloseSegment(queued);
      schedule_.jobs[queued.job].end = time_;
      return true;
    });
  }

  void Decide() {
    const std::vector<JobWidth> widths = policy_.decide(
        {.cpus = settings_.cpus, .part_width = settings_.part_width, .jobs = queue_});
    int threads = 0;
    for (std::size_t q = 0; q < queue_.size(); ++q) {
      if (queue_[q].now != widths[q]) Resize(queue_[q], widths[q]);
      threads += widths[q].width;
    }
    for (const QueuedJob& queued : queue_) {
      const int width = queued.now.width;
      if (width == 0) continue;
      work_[queued.job].speed =
          RelativeSpeed(model_.losses, settings_.cpus, width, threads - width);
    }
  }

  void Resize(QueuedJob& queued, const JobWidth& to) {
    Work& work = work_[queued.job];
    const SpeedCurve& curve = model_.curves[curves_[queued.job]];
    if (queued.now.width == 0) {
      schedule_.jobs[queued.job].begin = time_;
    } else if (queued.now.width != to.width) {
      CloseSegment(queued);
      work.before += curve.change_seconds;
    }
    if (queued.now.width != to.width) work.since = time_;
    queued.now = to;
    work.step_seconds = step_times_(curves_[queued.job], to.width);
  }

  void CloseSegment(const QueuedJob& queued) {
    const double since = work_[queued.job].since;
    if (!settings_.keep_segments || since == time_) return;
    schedule_.jobs[queued.job].segments.push_back({since, time_, queued.now.width});
  }

  std::span<const TraceJob> jobs_;
  const SpeedModel& model_;
  const Policy& policy_;
  const SimulatorSettings& settings_;
  std::vector<std::size_t> curves_;  // by job
  StepTimes step_times_;
  std::vector<Work> work_;        // by job
  std::vector<QueuedJob> queue_;  // in the order of Enqueue
  std::size_t arrived_ = 0;
  double time_ = 0;
  Schedule schedule_;
};

}  // namespace

std::vector<std::size_t> CurvesOf(std::span<const TraceJob> jobs, const SpeedModel& model) {
  std::map<std::tuple<std::string, bool, int>, std::size_t> known;
  for (std::size_t c = 0; c < model.curves.size(); ++c) {
    const SpeedCurve& curve = model.curves[c];
    known.emplace(std::tuple(curve.network, curve.training, curve.batch), c);
  }
  std::vector<std::size_t> curves;
  for (const TraceJob& job : jobs) {
    const auto found = known.find({job.network, job.training, job.batch});
    if (found == known.end()) {
      throw std::invalid_argument(
          fmt::format("no times of {} {} batch {}", job.network, PassOf(job), job.batch));
    }
    curves.push_back(found->second);
  }
  return curves;
}

double SecondsAlone(const TraceJob& job, const SpeedCurve& curve, int width) {
  return curve.startup_seconds + static_cast<double>(job.steps) * StepTimeAt(curve, width);
}

Schedule Simulate(std::span<const TraceJob> jobs, const SpeedModel& model, const Policy& policy,
                  const SimulatorSettings& settings) {
  return Simulator(jobs, model, policy, settings).Run();
}

}  // namespace topdnn
