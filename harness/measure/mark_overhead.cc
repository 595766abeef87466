#include "harness/measure/mark_overhead.h"

#include <stdexcept>
#include <vector>

#include "harness/measure/measure_loop.h"
#include "harness/statistics/summary.h"

namespace topdnn {

std::optional<MarkOverhead> MeasureMarkOverhead(std::span<const TimedStage> stages,
                                                const MeasureOptions& options) {
  CheckStages(stages);
  const TickClock clock = options.clock ? *options.clock : BestClock();
  const IterationBounds pairs = BoundsOf(options, 2);
  std::vector<std::uint64_t> inner(stages.size() + 1, 0);
  std::vector<std::optional<double>> with;
  std::vector<std::optional<double>> without;
  with.reserve(static_cast<std::size_t>(pairs.most));
  without.reserve(static_cast<std::size_t>(pairs.most));
  MeasureLoop loop(options, clock, "overhead");
  // Pairs run as marked-bare, bare-marked, ..., so that a drift affects both equally.
  const auto least = [&] { return loop.Elapsed() < options.budget_seconds ? 2 * pairs.least : 2; };
  while (loop.Next(least(), 2 * pairs.most, options.seconds)) {
    const bool marked = (loop.done() % 4 == 0) || (loop.done() % 4 == 3);
    (marked ? RunMarked : RunBare)(stages, clock, inner.data());
    const std::uint64_t last = inner[marked ? stages.size() : 1];
    (marked ? with : without).push_back(clock.SecondsBetween(inner[0], last));
    loop.Finished();
  }
  // Omits pairs in which the clock went backwards.
  std::vector<double> whole_with;
  std::vector<double> whole_without;
  for (std::size_t i = 0; i < std::min(with.size(), without.size()); ++i) {
    if (!with[i] || !without[i]) continue;
    whole_with.push_back(*with[i]);
    whole_without.push_back(*without[i]);
  }
  if (whole_with.empty()) return std::nullopt;
  return OverheadOf(whole_with, whole_without);
}

MarkOverhead OverheadOf(std::span<const double> with, std::span<const double> without) {
  if (with.empty() || with.size() != without.size()) {
    throw std::invalid_argument("an overhead needs pairs of times");
  }
  std::vector<double> ratios;
  ratios.reserve(with.size());
  for (std::size_t i = 0; i < with.size(); ++i) ratios.push_back(with[i] / without[i] - 1);
  return {.ratio = Median(ratios),
          .interval = MedianInterval(ratios),
          .pairs = static_cast<std::int64_t>(ratios.size())};
}

}  // namespace topdnn
