#include "bench/studies/scale/scale_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "harness/probes/ceiling_verdict.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

using Value = std::function<double(const StepTimes& step)>;

// By step: the mean over the ranks.
std::vector<double> Means(const GroupRun& run, const Value& value) {
  std::vector<double> means(run.samples.front().steps.size());
  for (std::size_t i = 0; i < means.size(); ++i) {
    for (const RankSamples& rank : run.samples) means[i] += value(rank.steps[i]);
    means[i] /= static_cast<double>(run.samples.size());
  }
  return means;
}

std::vector<double> OfRank(const RankSamples& rank, const Value& value) {
  std::vector<double> values;
  for (const StepTimes& step : rank.steps) values.push_back(value(step));
  return values;
}

const SumSpeed* SpeedOf(const GroupRun& run, std::int64_t elements) {
  const auto found = std::find_if(run.speeds.begin(), run.speeds.end(), [&](const SumSpeed& speed) {
    return speed.elements == elements && !speed.seconds.empty();
  });
  return found == run.speeds.end() ? nullptr : &*found;
}

// Each size's best tenth: other work on the machine only makes a sum slower.
std::optional<SumCeiling> CeilingOf(const GroupRun& run, Wire wire) {
  constexpr double kBest = 0.1;
  std::optional<SumCeiling> ceiling;
  for (const SumSpeed& speed : run.speeds) {
    if (speed.seconds.empty()) continue;
    std::vector<double> sorted = speed.seconds;
    std::sort(sorted.begin(), sorted.end());
    const std::int64_t bytes = speed.elements * BytesOf(wire);
    const double rate = static_cast<double>(bytes) / QuantileOfSorted(sorted, kBest);
    if (!ceiling || rate > ceiling->bytes_per_second) ceiling = {rate, bytes};
  }
  return ceiling;
}

BucketFigures FiguresOfBucket(const GroupRun& run, std::size_t bucket, Wire wire,
                              const std::optional<SumCeiling>& ceiling) {
  BucketFigures figures;
  figures.layers = run.buckets[bucket].Name();
  figures.bytes = run.buckets[bucket].elements * BytesOf(wire);
  if (run.ranks == 1) return figures;
  const auto median = [&](double BucketTimes::*member) {
    return MedianIfAny(
        Means(run, [&](const StepTimes& step) { return step.buckets[bucket].*member; }));
  };
  figures.seconds = median(&BucketTimes::seconds);
  figures.exposed = median(&BucketTimes::exposed);
  figures.hidden = median(&BucketTimes::hidden);
  if (const SumSpeed* speed = SpeedOf(run, run.buckets[bucket].elements)) {
    figures.alone = Median(speed->seconds);
    figures.bytes_per_second = static_cast<double>(figures.bytes) / *figures.alone;
    if (ceiling) figures.ceiling_share = *figures.bytes_per_second / ceiling->bytes_per_second;
  }
  return figures;
}

std::vector<RankFigures> FiguresOfRanks(const GroupRun& run) {
  std::vector<RankFigures> figures(run.samples.size());
  const std::size_t steps = run.samples.front().steps.size();
  if (steps == 0) return figures;
  std::vector<double> computes;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].compute =
        Median(OfRank(run.samples[i], [](const StepTimes& step) { return step.compute; }));
    computes.push_back(*figures[i].compute);
    figures[i].slowest = 0;
    figures[i].on_cpu = run.samples[i].on_cpu;
    if (run.ranks == 1) continue;
    figures[i].exposed =
        Median(OfRank(run.samples[i], [](const StepTimes& step) { return step.exposed; }));
  }
  for (std::size_t step = 0; step < steps; ++step) {
    const auto slowest = std::max_element(run.samples.begin(), run.samples.end(),
                                          [step](const auto& a, const auto& b) {
                                            return a.steps[step].compute < b.steps[step].compute;
                                          });
    *figures[static_cast<std::size_t>(slowest - run.samples.begin())].slowest +=
        1.0 / static_cast<double>(steps);
  }
  const double middle = Median(computes);
  for (RankFigures& rank : figures) rank.excess = *rank.compute / middle - 1;
  return figures;
}

}  // namespace

std::vector<double> LongestSteps(const GroupRun& run) {
  std::vector<double> longest(run.samples.front().steps.size());
  for (std::size_t i = 0; i < longest.size(); ++i) {
    for (const RankSamples& rank : run.samples) {
      longest[i] = std::max(longest[i], rank.steps[i].seconds);
    }
  }
  return longest;
}

GroupFigures FiguresOf(const GroupRun& run, Wire wire) {
  GroupFigures figures;
  figures.ranks = run.ranks;
  figures.global_batch = run.global_batch;
  figures.step = LongestSteps(run);
  figures.compute = Means(run, [](const StepTimes& step) { return step.compute; });
  figures.exposed = Means(run, [](const StepTimes& step) { return step.exposed; });
  figures.hidden = Means(run, [](const StepTimes& step) { return step.hidden; });
  figures.ceiling = CeilingOf(run, wire);
  for (std::size_t i = 0; i < run.buckets.size(); ++i) {
    figures.buckets.push_back(FiguresOfBucket(run, i, wire, figures.ceiling));
  }
  figures.rank = FiguresOfRanks(run);
  return figures;
}

std::string DisturbanceOf(const GroupFigures& figures) {
  constexpr double kPercent = 100;
  const auto least = std::min_element(
      figures.rank.begin(), figures.rank.end(),
      [](const auto& a, const auto& b) { return a.on_cpu.value_or(1) < b.on_cpu.value_or(1); });
  if (least == figures.rank.end() || least->on_cpu.value_or(1) >= kMinOnCpu) return "";
  return fmt::format("rank {} of {} had a CPU for {:.0f} % of its steps: other work ran there",
                     least - figures.rank.begin(), figures.ranks, *least->on_cpu * kPercent);
}

void RemoveTimes(GroupFigures& figures) {
  for (std::vector<double>* times :
       {&figures.step, &figures.compute, &figures.exposed, &figures.hidden}) {
    times->clear();
  }
  for (BucketFigures& bucket : figures.buckets) {
    BucketFigures kept;
    kept.layers = bucket.layers;
    kept.bytes = bucket.bytes;
    bucket = std::move(kept);
  }
  for (RankFigures& rank : figures.rank) rank = {};
  figures.ceiling.reset();
}

Speedup SpeedupOf(double one, double own, int ranks, bool weak) {
  const double images = one / own * (weak ? ranks : 1);
  return {images, images / ranks};
}

double LossDifference(std::span<const double> a, std::span<const double> b) {
  double difference = 0;
  for (std::size_t i = 0; i < std::min({a.size(), b.size(), kComparedLosses}); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]) / std::abs(b[i]));
  }
  return difference;
}

}  // namespace topdnn
