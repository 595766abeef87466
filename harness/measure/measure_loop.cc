#include "harness/measure/measure_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/measure/watched_run.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"

namespace topdnn {

double EmptySeconds(const TickClock& clock) {
  std::array<std::uint64_t, 258> marks{};
  for (std::uint64_t& mark : marks) mark = clock.now();
  std::vector<double> seconds;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    seconds.push_back(clock.SecondsBetween(marks[i], marks[i + 1]).value_or(0));
  }
  return Median(seconds);
}

void CheckStages(std::span<const TimedStage> stages) {
  if (stages.empty()) throw InputError("there is no stage to measure");
  for (const TimedStage& stage : stages) {
    if (!stage.run) throw InputError(fmt::format("stage '{}' has no code to run", stage.name));
  }
}

IterationBounds BoundsOf(const MeasureOptions& options, std::int64_t numbers) {
  const std::int64_t fit = kMaxNumbers / numbers;
  IterationBounds bounds = {options.least_iterations, options.most_iterations};
  if (options.iterations) bounds = {*options.iterations, *options.iterations};
  if (bounds.least < 1 || bounds.most < bounds.least) {
    throw InputError(
        "a measurement needs at least one iteration, and its maximum must not be below its "
        "minimum");
  }
  if (bounds.least > fit) {
    throw InputError(fmt::format("{} iterations of {} marks exceed 256 MiB; use at most {}",
                                 bounds.least, numbers, fit));
  }
  bounds.most = std::min(bounds.most, fit);
  return bounds;
}

bool MeasureLoop::Next(std::int64_t least, std::int64_t most, double most_seconds) {
  CountWatchedIteration();
  const double elapsed = Elapsed();
  if (done_ >= most || (done_ >= least && elapsed >= most_seconds)) return false;
  if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed)) {
    cancelled_ = true;
    return false;
  }
  ShowProgress(elapsed, least, most, most_seconds);
  if (options_.before_iteration) options_.before_iteration();
  return true;
}

double MeasureLoop::Elapsed() const {
  return clock_.SecondsBetween(start_, clock_.now()).value_or(0);
}

// At most ten times a second, so that short iterations do not wait for a terminal.
void MeasureLoop::ShowProgress(double elapsed, std::int64_t least, std::int64_t most,
                               double most_seconds) {
  if (!options_.progress || (done_ > 0 && elapsed - shown_ < 0.1)) return;
  shown_ = elapsed;
  const double by_count = static_cast<double>(done_) / static_cast<double>(most);
  const double by_time = most_seconds > 0 ? elapsed / most_seconds : 1;
  const double by_least = least > 0 ? static_cast<double>(done_) / static_cast<double>(least) : 1;
  options_.progress(
      {.phase = phase_,
       .done = done_,
       .share = std::clamp(std::max(by_count, std::min(by_time, by_least)), 0.0, 1.0)});
}

}  // namespace topdnn
