#include "bench/studies/scale/scale_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/studies/scale/scale_figures.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

constexpr int kMostRanks = 4096;

std::vector<AllreducePoint> PointsOf(const std::vector<GroupRun>& runs, Wire wire) {
  std::vector<AllreducePoint> points;
  for (const GroupRun& run : runs) {
    for (const SumSpeed& speed : run.speeds) {
      if (speed.seconds.empty()) continue;
      points.push_back({run.ranks, speed.elements * BytesOf(wire), Median(speed.seconds)});
    }
  }
  return points;
}

// The median over all ranks and steps.
template <class Value>
double MedianOf(const GroupRun& run, Value value) {
  std::vector<double> values;
  for (const RankSamples& rank : run.samples) {
    for (const StepTimes& step : rank.steps) values.push_back(value(step));
  }
  return Median(values);
}

std::vector<ReadyBucket> ReadyBucketsOf(const GroupRun& run, Wire wire) {
  std::vector<ReadyBucket> buckets;
  for (std::size_t i = 0; i < run.buckets.size(); ++i) {
    buckets.push_back({MedianOf(run, [i](const StepTimes& step) { return step.buckets[i].ready; }),
                       run.buckets[i].elements * BytesOf(wire)});
  }
  return buckets;
}

std::vector<std::string> AssumptionsOf(const GroupRun& largest) {
  return {
      fmt::format("the batch per rank stays, and each rank computes as the {} ranks did here, with "
                  "the jitter that they had, independent of each other",
                  largest.ranks),
      "every rank reaches every other one at the latency and bandwidth that were measured here: "
      "ranks on one node share its memory, and a network between nodes is slower",
      "sums run one after the other, as soon as a bucket is ready, and take nothing from the CPUs "
      "that compute; packing takes as long as here"};
}

}  // namespace

ScalePrediction PredictScaling(const std::vector<GroupRun>& measured, Wire wire) {
  ScalePrediction prediction;
  // A sum of ranks that share CPUs waits for a CPU, which says nothing about the interconnect.
  std::vector<GroupRun> runs;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(runs),
               [](const GroupRun& run) { return !run.shares_cpus; });
  if (runs.size() < 2) runs = measured;
  prediction.on_own_cpus =
      std::none_of(runs.begin(), runs.end(), [](const GroupRun& run) { return run.shares_cpus; });
  prediction.points = PointsOf(runs, wire);
  const bool timed = std::all_of(measured.begin(), measured.end(), [](const GroupRun& run) {
    return !run.samples.empty() && !run.samples.front().steps.empty();
  });
  if (runs.size() < 2 || runs.front().ranks != 1) {
    prediction.reason = "it needs one rank and two or more: start them with mpirun";
  } else if (!timed || prediction.points.size() < 2) {
    prediction.reason = "the run was interrupted";
  }
  if (!prediction.reason.empty()) return prediction;
  prediction.models = FitAllreduce(prediction.points);
  prediction.distinguished = runs.size() > 2;
  const AllreduceModel& model = prediction.models.front();
  const GroupRun& largest = runs.back();
  prediction.assumptions = AssumptionsOf(largest);
  const std::vector<ReadyBucket> buckets = ReadyBucketsOf(largest, wire);
  const double backward =
      MedianOf(largest, [](const StepTimes& step) { return step.compute - step.update; });
  std::vector<double> compute;
  for (const RankSamples& rank : largest.samples) {
    for (const StepTimes& step : rank.steps) compute.push_back(step.compute);
  }
  const double packing = MedianOf(largest, [](const StepTimes& step) { return step.packing; });
  const double one = Median(LongestSteps(runs.front()));
  std::set<int> sizes;
  for (int ranks = 2; ranks <= kMostRanks; ranks *= 2) sizes.insert(ranks);
  for (const GroupRun& run : measured) {
    if (run.ranks > 1) sizes.insert(run.ranks);
  }
  for (const int ranks : sizes) {
    PredictedStep step{.ranks = ranks};
    step.exposed = ExposedSeconds(buckets, backward, model, ranks) + packing;
    step.step = ExpectedLongest(compute, ranks) + step.exposed;
    step.efficiency = one / step.step;
    for (const GroupRun& run : measured) {
      if (run.ranks != ranks) continue;
      const double seconds = Median(LongestSteps(run));
      if (run.shares_cpus) {
        step.step_bound = seconds;
        step.efficiency_bound = one / seconds;
      } else {
        step.measured = seconds;
        step.error = step.step / seconds - 1;
      }
    }
    prediction.steps.push_back(step);
  }
  return prediction;
}

}  // namespace topdnn
