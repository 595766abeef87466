#include "bench/studies/malleable/malleable_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "harness/statistics/summary.h"

namespace topdnn {

std::vector<double> Latencies(std::span<const WidthRequest> requests,
                              std::span<const WidthChange> changes) {
  std::vector<double> latencies;
  for (const WidthRequest& request : requests) {
    const auto effect =
        std::find_if(changes.begin(), changes.end(), [&](const WidthChange& change) {
          return change.to == request.to && change.when >= request.when;
        });
    if (effect == changes.end()) continue;
    latencies.push_back(std::chrono::duration<double>(effect->when - request.when).count());
  }
  return latencies;
}

std::map<int, std::vector<double>> StageMedians(std::span<const TimedStep> steps) {
  std::map<int, std::vector<std::vector<double>>> by_width;  // by width and stage
  for (const TimedStep& step : steps) {
    if (step.step.changes != 0) continue;
    auto& stages = by_width[step.step.width];
    stages.resize(step.stages.size());
    for (std::size_t i = 0; i < step.stages.size(); ++i) stages[i].push_back(step.stages[i]);
  }
  std::map<int, std::vector<double>> medians;
  for (const auto& [width, stages] : by_width) {
    for (const std::vector<double>& seconds : stages) medians[width].push_back(Median(seconds));
  }
  return medians;
}

std::vector<double> ChangeCosts(std::span<const TimedStep> steps,
                                std::span<const WidthChange> changes, std::int64_t first) {
  const std::map<int, std::vector<double>> medians = StageMedians(steps);
  std::vector<double> costs;
  for (const WidthChange& change : changes) {
    const std::int64_t index = change.step - first;
    if (index < 0 || index >= static_cast<std::int64_t>(steps.size())) continue;
    const TimedStep& step = steps[static_cast<std::size_t>(index)];
    const auto before = medians.find(change.from);
    const auto after = medians.find(change.to);
    if (step.step.changes != 1 || before == medians.end() || after == medians.end()) continue;
    double expected = 0;
    for (std::size_t i = 0; i < step.stages.size(); ++i) {
      expected += i < change.stage ? before->second[i] : after->second[i];
    }
    costs.push_back(step.step.seconds - expected);
  }
  return costs;
}

std::optional<int> StepsToSteady(std::span<const TimedStep> steps) {
  std::map<int, std::vector<double>> seconds;  // by width
  for (const TimedStep& step : steps) {
    if (step.step.changes == 0) seconds[step.step.width].push_back(step.step.seconds);
  }
  std::map<int, double> medians;
  for (const auto& [width, all] : seconds) medians[width] = Median(all);
  std::vector<std::vector<double>> ratios;  // by the number of whole steps since the change
  std::optional<std::size_t> since;         // absent before the first change
  for (const TimedStep& step : steps) {
    if (step.step.changes != 0) {
      since = 0;
    } else if (since) {
      ratios.resize(std::max(ratios.size(), *since + 1));
      ratios[*since].push_back(step.step.seconds / medians[step.step.width]);
      ++*since;
    }
  }
  for (std::size_t k = 0; k < ratios.size(); ++k) {
    if (Median(ratios[k]) <= kSteadyRatio) return static_cast<int>(k);
  }
  return std::nullopt;
}

double ResultDifference(std::span<const double> a, std::span<const double> b) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kNone;
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kNone;
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  if (difference == 0) return 0;
  return largest > 0 ? difference / largest : kNone;
}

}  // namespace topdnn
