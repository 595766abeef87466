// The figures of a malleable run: pure arithmetic on its steps and changes.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_FIGURES_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_FIGURES_H_

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "bench/studies/malleable/malleable_run.h"

namespace topdnn {

// A step with the seconds of its stages.
struct TimedStep {
  MalleableStep step;
  std::vector<double> stages;
};

// A request for a width.
struct WidthRequest {
  int to = 0;
  std::chrono::steady_clock::time_point when;
};

// For each request, the seconds until the run had that width. A request without an effect has none.
std::vector<double> Latencies(std::span<const WidthRequest> requests,
                              std::span<const WidthChange> changes);

// By width: the median seconds of each stage, over the steps without a change.
std::map<int, std::vector<double>> StageMedians(std::span<const TimedStep> steps);

// What the changes cost: for each step with exactly one change, its seconds less the expected ones.
// Expected are the median seconds of the stages before the change at the old width, and of the
// others at the new one. `first` is the number of the first of the steps, in the run.
std::vector<double> ChangeCosts(std::span<const TimedStep> steps,
                                std::span<const WidthChange> changes, std::int64_t first);

// How many whole steps after a change are slower than a steady one: the k-th step after a change is
// steady if the median over the changes of its seconds, divided by the median of all steps of that
// width, is at most kSteadyRatio. Absent if no such step is steady.
inline constexpr double kSteadyRatio = 1.02;
std::optional<int> StepsToSteady(std::span<const TimedStep> steps);

// The largest difference of two results, relative to the largest value of `b`. Infinite if a value
// is not finite, or the lengths differ.
double ResultDifference(std::span<const double> a, std::span<const double> b);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_FIGURES_H_
