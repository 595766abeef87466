#include "bench/studies/malleable/malleable_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <random>
#include <span>
#include <thread>

#include "bench/studies/malleable/malleable_figures.h"
#include "bench/studies/malleable/width_requests.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/thread_cpus.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"
#include "harness/width/width_limits.h"

namespace topdnn {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 8;
// Training amplifies a difference in rounding from step to step, so later losses prove nothing.
constexpr std::int64_t kComparedSteps = 20;
constexpr int kRestarts = 5;
constexpr double kWindowSeconds = 0.2;  // of one condition in a round
constexpr int kLeastSteps = 5;          // in a window
constexpr std::chrono::seconds kPatience{60};

TimedStep NextStep(MalleableRun& run) { return {run.Step(), run.stage_seconds()}; }

// Steps for a window of time; the first one is left out, since it refills the caches.
std::vector<double> Window(MalleableRun& run) {
  run.Step();
  std::vector<double> seconds;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(kWindowSeconds));
  while (seconds.size() < kLeastSteps || Clock::now() < end) {
    seconds.push_back(run.Step().seconds);
  }
  return seconds;
}

// The values that a step computes: its loss, or its output.
std::vector<double> ResultOf(const MalleableRun& run) {
  if (const auto loss = run.Loss()) return {*loss};
  return run.Output();
}

// The results of the first steps at one width.
std::vector<std::vector<double>> ResultsAt(int width, WidthControl& control, MalleableRun& run) {
  run.Return(run.first());
  control.SetWidth(width);
  std::vector<std::vector<double>> results;
  for (std::int64_t i = 0; i < kComparedSteps && !control.stopped(); ++i) {
    run.Step();
    results.push_back(ResultOf(run));
  }
  return results;
}

// Steps that ask for another width at about every third stage.
class RandomWidths {
 public:
  RandomWidths(const PhaseSettings& settings, WidthControl& control)
      : widths_(settings.widths), control_(control), random_(settings.seed) {}

  std::vector<double> Step(MalleableRun& run) {
    run.Step([this](std::size_t) {
      if (random_() % 3 == 0) control_.SetWidth(widths_[random_() % widths_.size()]);
    });
    return ResultOf(run);
  }

 private:
  const std::vector<int>& widths_;
  WidthControl& control_;
  std::mt19937_64 random_;
};

std::vector<std::vector<double>> ResultsAtRandomWidths(const PhaseSettings& settings,
                                                       WidthControl& control, MalleableRun& run) {
  run.Return(run.first());
  RandomWidths widths(settings, control);
  std::vector<std::vector<double>> results;
  for (std::int64_t i = 0; i < kComparedSteps && !control.stopped(); ++i) {
    results.push_back(widths.Step(run));
  }
  return results;
}

// The loss after one update at random widths, compared with that at the largest one, from the same
// state each time.
double ErrorFromSameState(const PhaseSettings& settings, WidthControl& control, MalleableRun& run) {
  RandomWidths widths(settings, control);
  run.Return(run.first());
  double worst = 0;
  for (int i = 0; i < kRestarts && !control.stopped(); ++i) {
    const MalleableRun::Moment begin = run.Now();
    widths.Step(run);
    const std::vector<double> changing = widths.Step(run);
    run.Return(begin);
    control.SetWidth(settings.widths.back());
    run.Step();
    run.Step();
    worst = std::max(worst, ResultDifference(changing, ResultOf(run)));
  }
  return worst;
}

// The largest difference in any step, relative to the step's largest value.
double ErrorOf(const std::vector<std::vector<double>>& a,
               const std::vector<std::vector<double>>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, ResultDifference(a[i], b[i]));
  }
  return worst;
}

// A thread that asks for widths while the run steps.
class Asking {
 public:
  Asking(const std::string& source, const PhaseSettings& settings, WidthControl& control,
         double step_seconds)
      : requester_(MakeRequester(source, control, settings.socket_path)),
        settings_(settings),
        control_(control),
        step_seconds_(step_seconds),
        random_(settings.seed),
        thread_([this] { Ask(); }) {}
  // After an exception no step follows, so the thread must not wait for one.
  ~Asking() {
    abandoned_ = true;
    thread_.join();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  bool done() const { return done_.load(); }
  // Valid when done.
  const std::vector<WidthRequest>& requests() const { return requests_; }
  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void Ask() {
    try {
      for (std::int64_t i = 0; i < settings_.changes && !control_.stopped(); ++i) {
        if (abandoned_) break;
        AskOnce();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    done_ = true;
  }

  // Waits for some steps and a random part of one, and asks for the next width.
  void AskOnce() {
    constexpr int kStepsBetween = 4;
    const std::int64_t done = control_.iterations();
    while (control_.iterations() < done + kStepsBetween) {
      if (abandoned_) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    std::uniform_real_distribution<double> part(0, 1);
    std::this_thread::sleep_for(std::chrono::duration<double>(part(random_) * step_seconds_));
    const int before = control_.current();
    const auto at = std::find(settings_.widths.begin(), settings_.widths.end(), before);
    const bool last = at == settings_.widths.end() || at + 1 == settings_.widths.end();
    const int to = last ? settings_.widths.front() : *(at + 1);
    requests_.push_back({to, Clock::now()});
    requester_->Ask(to);
    AwaitEffect(to);
  }

  // (the run itself notes when its width changes, so this may be late)
  void AwaitEffect(int width) const {
    const Clock::time_point begin = Clock::now();
    while (control_.current() != width && !abandoned_) {
      if (Clock::now() - begin > kPatience) {
        throw RunFailure(
            fmt::format("the run does not get {} threads within {} s", width, kPatience.count()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::unique_ptr<WidthRequester> requester_;
  const PhaseSettings& settings_;
  WidthControl& control_;
  double step_seconds_;
  std::mt19937_64 random_;
  std::vector<WidthRequest> requests_;
  std::exception_ptr failure_;
  std::atomic<bool> done_ = false;
  std::atomic<bool> abandoned_ = false;  // the run makes no more steps
  std::thread thread_;
};

// Steps with a change of the width every few steps.
void TimeChanging(const PhaseSettings& settings, WidthControl& control, MalleableRun& run,
                  std::mt19937_64& random, std::vector<TimedStep>& steps) {
  constexpr int kStepsPerChange = 5;
  const std::size_t stages = run.stage_seconds().size();
  std::uniform_int_distribution<std::size_t> any_stage(0, stages - 1);
  std::size_t next = 0;
  double seconds = 0;
  for (int i = 0; i < kLeastSteps || seconds < kWindowSeconds; ++i) {
    const std::size_t at = i % kStepsPerChange == 0 ? any_stage(random) : stages;
    const MalleableStep step = run.Step([&](std::size_t stage) {
      if (stage != at) return;
      next = (next + 1) % settings.widths.size();
      control.SetWidth(settings.widths[next]);
    });
    seconds += step.seconds;
    steps.push_back({step, run.stage_seconds()});
  }
}

// The seconds of the steps, if each stage took its median time at the width at which it ran.
double ExpectedSeconds(std::span<const TimedStep> steps, std::span<const WidthChange> changes,
                       std::int64_t first, int width_before,
                       const std::map<int, std::vector<double>>& medians) {
  double expected = 0;
  auto change = changes.begin();
  int width = width_before;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t stage = 0; stage < steps[i].stages.size(); ++stage) {
      while (change != changes.end() &&
             (change->step < first + static_cast<std::int64_t>(i) ||
              (change->step == first + static_cast<std::int64_t>(i) && change->stage <= stage))) {
        width = (change++)->to;
      }
      expected += medians.at(width)[stage];
    }
  }
  return expected;
}

}  // namespace

ResultError CompareResults(const PhaseSettings& settings, WidthControl& control,
                           MalleableRun& run) {
  const auto narrow = ResultsAt(settings.widths.front(), control, run);
  const auto wide = ResultsAt(settings.widths.back(), control, run);
  const std::int64_t before = run.change_count();
  const auto changing = ResultsAtRandomWidths(settings, control, run);
  const std::int64_t changes = run.change_count() - before;
  std::optional<double> from_same_state;
  if (settings.training) from_same_state = ErrorFromSameState(settings, control, run);
  return {.what = settings.training ? "loss" : "output",
          .steps = static_cast<std::int64_t>(changing.size()),
          .changes = changes,
          .error = ErrorOf(changing, wide),
          .between_widths = ErrorOf(narrow, wide),
          .from_same_state = from_same_state};
}

void TimeWidths(const PhaseSettings& settings, WidthControl& control, MalleableRun& run,
                MalleableResult& result) {
  for (const int width : settings.widths) result.fixed.push_back({width, {}});
  std::vector<TimedStep> all, changing;
  std::mt19937_64 random(settings.seed);
  for (int round = 0; round < kRounds && !control.stopped(); ++round) {
    for (std::size_t i = 0; i < settings.widths.size(); ++i) {
      // Every second round runs in the reverse order, so that a steady drift cancels out.
      const std::size_t at = round % 2 == 0 ? i : settings.widths.size() - 1 - i;
      control.SetWidth(settings.widths[at]);
      NextStep(run);  // with the change
      const std::size_t begin = all.size();
      double seconds = 0;
      while (all.size() - begin < kLeastSteps || seconds < kWindowSeconds) {
        all.push_back(NextStep(run));
        seconds += all.back().step.seconds;
        result.fixed[at].seconds.push_back(all.back().step.seconds);
      }
    }
    const std::int64_t first = run.started();
    const std::size_t change = run.changes().size();
    const int width = control.current();
    changing.clear();
    TimeChanging(settings, control, run, random, changing);
    result.changing.steps += static_cast<std::int64_t>(changing.size());
    result.changing.expected += ExpectedSeconds(changing, std::span(run.changes()).subspan(change),
                                                first, width, StageMedians(all));
    result.changing.changes += static_cast<std::int64_t>(run.changes().size() - change);
    for (const TimedStep& step : changing) result.changing.seconds += step.step.seconds;
  }
}

SourceFigures ChangeBy(const std::string& source, const PhaseSettings& settings,
                       WidthControl& control, MalleableRun& run) {
  control.SetWidth(settings.widths.front());
  run.Step();
  const double step_seconds = run.Step().seconds;
  const std::int64_t first = run.started();
  const std::size_t before = run.changes().size();
  std::vector<TimedStep> steps;
  SourceFigures figures;
  figures.name = source;
  {
    Asking asking(source, settings, control, step_seconds);
    while (!asking.done()) steps.push_back(NextStep(run));
    asking.Rethrow();
    const auto changes = std::span(run.changes()).subspan(before);
    figures.latencies = Latencies(asking.requests(), changes);
    figures.changes = static_cast<std::int64_t>(figures.latencies.size());
    figures.costs = ChangeCosts(steps, changes, first);
  }
  figures.steps_to_steady = StepsToSteady(steps);
  return figures;
}

Oversubscription TimeOnOneCpu(const PhaseSettings& settings, WidthControl& control,
                              MalleableRun& run) {
  Oversubscription times;
  times.threads = settings.widths.back();
  control.SetWidth(times.threads);
  const std::vector<int> one = {AllowedCpus().cpus.front()};
  const ProcessOnCpus kept(one);
  if (!kept.failure().empty()) throw RunFailure(kept.failure());
  const int limit = WidthLimit(AffinityOfProcess());
  run.Prepare(limit);
  for (int round = 0; round < kRounds && !control.stopped(); ++round) {
    for (const bool follows : {round % 2 == 0, round % 2 != 0}) {
      control.SetLimit(follows ? limit : std::numeric_limits<int>::max());
      (follows ? times.followed : times.ignored).push_back(Median(Window(run)));
    }
  }
  control.SetLimit(std::numeric_limits<int>::max());
  return times;
}

}  // namespace topdnn
