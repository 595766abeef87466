#include "harness/statistics/time_differences.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "harness/statistics/distributions.h"
#include "harness/statistics/empirical_null.h"
#include "harness/statistics/multiple_tests.h"
#include "harness/statistics/rank_comparison.h"
#include "harness/statistics/spread.h"
#include "harness/statistics/steady.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

constexpr double kPointwise = 0.05;
// The number of blocks of a run whose medians are almost independent, and of the long blocks, whose
// spread is used for that between runs if nothing else shows it.
constexpr std::size_t kBlocks = 20;
constexpr std::size_t kLongBlocks = 5;
// The least standard error of a log ratio: clocks and empty regions are not known better.
constexpr double kResolution = 5e-4;
// Degrees of freedom of the empirical null. Differences between two runs have longer tails than a
// normal distribution: one badly placed buffer changes one stage.
constexpr int kNullDegrees = 12;
// The weight of similar stages in the variance of a stage between runs, in degrees of freedom
// (Smyth, "Linear models and empirical Bayes methods", 2004, with a fixed prior).
constexpr int kPriorDegrees = 4;
constexpr std::size_t kNearest = 7;  // stages of similar times

std::vector<double> Logs(const std::vector<double>& times) {
  std::vector<double> logs;
  logs.reserve(times.size());
  for (const double time : times) logs.push_back(std::log(time));
  return logs;
}

std::vector<double> MediansOf(const std::vector<RunTimes>& runs) {
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const RunTimes& run : runs) medians.push_back(Median(run));
  return medians;
}

std::vector<double> Blocks(const std::vector<RunTimes>& runs, std::size_t blocks) {
  std::vector<double> all;
  for (const RunTimes& run : runs) {
    const std::vector<double> own = Logs(BlockMedians(run, blocks));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<double> AllTimes(const std::vector<RunTimes>& runs) {
  std::vector<double> all;
  for (const RunTimes& run : runs) all.insert(all.end(), run.begin(), run.end());
  return all;
}

bool Measured(const std::vector<RunTimes>& runs) {
  return !runs.empty() &&
         std::none_of(runs.begin(), runs.end(), [](const RunTimes& run) { return run.empty(); });
}

bool Measured(const TimedPair& pair) { return Measured(pair.a) && Measured(pair.b); }

// Whether a side has a single time, which does not show its spread.
bool HasOneTime(const TimedPair& pair) {
  return AllTimes(pair.a).size() == 1 || AllTimes(pair.b).size() == 1;
}

bool SeveralRuns(const TimedPair& pair) { return pair.a.size() > 1 && pair.b.size() > 1; }

// A log ratio, and the standard error with which it is known.
struct Estimate {
  double log_ratio = 0;
  double error = kResolution;
  double rank_p = 1;
};

// The figures that need no spread between runs.
TimeDifference Describe(const TimedPair& pair, Estimate& estimate) {
  TimeDifference difference;
  if (!Measured(pair)) return difference;
  const std::vector<double> a = MediansOf(pair.a);
  const std::vector<double> b = MediansOf(pair.b);
  difference.a = Median(a);
  difference.b = Median(b);
  difference.ratio = *difference.b / *difference.a;
  difference.effect =
      SeveralRuns(pair) ? CliffsDelta(a, b) : CliffsDelta(AllTimes(pair.a), AllTimes(pair.b));
  const std::vector<double> blocks_a = Blocks(pair.a, kBlocks);
  const std::vector<double> blocks_b = Blocks(pair.b, kBlocks);
  estimate.log_ratio = std::log(*difference.ratio);
  estimate.error = std::max(
      kResolution, std::hypot(StandardErrorOfMedian(blocks_a), StandardErrorOfMedian(blocks_b)));
  estimate.rank_p = MannWhitney(blocks_a, blocks_b)->p;
  return difference;
}

// The geometric mean of the times of both sides. The difference must have a ratio.
double TimeOf(const TimeDifference& difference) { return std::sqrt(*difference.a * *difference.b); }

// The spread of the long parts of the runs, for both sides together.
double LongSpread(const TimedPair& pair) {
  return std::hypot(ScaledMad(Blocks(pair.a, kLongBlocks)), ScaledMad(Blocks(pair.b, kLongBlocks)));
}

// Sets the interval that covers the log ratio without each of the `changes` (0: the ratio itself),
// and the p-value of the one nearest to no difference.
void Conclude(const Estimate& estimate, double error, int degrees,
              const std::vector<double>& changes, TimeDifference& difference) {
  const auto [least, most] = std::minmax_element(changes.begin(), changes.end());
  const double low = estimate.log_ratio - *most;
  const double high = estimate.log_ratio - *least;
  const double reach = StudentQuantile(kPointwise, degrees) * error;
  difference.interval = Interval{.low = std::exp(low - reach), .high = std::exp(high + reach)};
  const double nearest = low * high <= 0 ? 0 : std::min(std::abs(low), std::abs(high));
  difference.p = std::max(estimate.rank_p, StudentTwoSided(nearest / error, degrees));
}

// ---- One run on a side.

// How much longer the median may be than without other work, as a log: over the 10th percentile of
// all times, or over a time at the best known speed.
double Disturbance(const std::vector<RunTimes>& runs, double speed) {
  std::vector<double> times = AllTimes(runs);
  std::sort(times.begin(), times.end());
  return std::log(std::max(QuantileOfSorted(times, 0.5) / QuantileOfSorted(times, 0.1), 1 / speed));
}

// The changes and 0, and each of these with the disturbance of each disturbed side.
std::vector<double> WithDisturbances(const TimedPair& pair, std::vector<double> changes) {
  changes.push_back(0);
  const std::vector<double> undisturbed = changes;
  for (const double change : undisturbed) {
    if (pair.a_disturbed) changes.push_back(change - Disturbance(pair.a, pair.a_speed));
    if (pair.b_disturbed) changes.push_back(change + Disturbance(pair.b, pair.b_speed));
  }
  return changes;
}

TimeDifferences EstimateFromStages(const std::vector<TimedPair>& stages,
                                   const std::optional<TimedPair>& step,
                                   const MachineChanges& machine) {
  TimeDifferences result;
  std::vector<Estimate> estimates(stages.size());
  std::vector<double> ratios, errors, times;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    result.stages.push_back(Describe(stages[i], estimates[i]));
    if (!result.stages[i].ratio) continue;
    estimates[i].error = std::hypot(estimates[i].error, stages[i].least_spread);
    ratios.push_back(estimates[i].log_ratio);
    errors.push_back(estimates[i].error);
    times.push_back(TimeOf(result.stages[i]));
  }
  const std::optional<EmpiricalNull> null = EstimateNull(ratios, errors, times);
  if (null) {
    result.common = std::exp(null->common);
    result.spread = null->relative;
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!result.stages[i].ratio || (!null && HasOneTime(stages[i]))) continue;
    const double between = null ? null->SpreadOf(TimeOf(result.stages[i])) : LongSpread(stages[i]);
    const double error = std::hypot(estimates[i].error, between);
    const std::vector<double> changes = WithDisturbances(stages[i], {null ? null->common : 0.0});
    Conclude(estimates[i], error, kNullDegrees, changes, result.stages[i]);
    if (!null) result.stages[i].p.reset();
  }
  if (!step) return result;
  Estimate estimate;
  result.step = Describe(*step, estimate);
  if (!result.step->ratio || (!null && HasOneTime(*step))) return result;
  // The step has the spread of its stages, too. The only estimate of the rest of its spread between
  // runs is the spread within them.
  const double error = std::hypot(estimate.error, LongSpread(*step), null ? null->relative : 0.0);
  MachineChanges changes = machine;
  if (changes.empty() || step->a_disturbed || step->b_disturbed) {
    changes.push_back(null ? null->common : estimate.log_ratio);
  }
  Conclude(estimate, error, kNullDegrees, WithDisturbances(*step, changes), *result.step);
  return result;
}

// ---- Several runs a side.

// The logs of the runs' medians, those of A first, and where those of B begin.
struct RunLogs {
  std::vector<double> logs;
  std::size_t runs_of_a = 0;
};

RunLogs LogsOfRuns(const TimedPair& pair) {
  RunLogs runs{.logs = Logs(MediansOf(pair.a)), .runs_of_a = pair.a.size()};
  const std::vector<double> b = Logs(MediansOf(pair.b));
  runs.logs.insert(runs.logs.end(), b.begin(), b.end());
  return runs;
}

// The variance within the sides, and the difference of the sides' medians.
struct BetweenRuns {
  double difference = 0;
  double variance = 0;
};

BetweenRuns Compare(const RunLogs& runs) {
  const auto middle = runs.logs.begin() + static_cast<std::ptrdiff_t>(runs.runs_of_a);
  const std::vector<double> a(runs.logs.begin(), middle);
  const std::vector<double> b(middle, runs.logs.end());
  double squares = 0;
  for (const std::vector<double>& side : {a, b}) {
    double mean = 0;
    for (const double value : side) mean += value / static_cast<double>(side.size());
    for (const double value : side) squares += (value - mean) * (value - mean);
  }
  return {.difference = Median(b) - Median(a),
          .variance = squares / static_cast<double>(runs.logs.size() - 2)};
}

// Removes from each run what its stages have in common: its level.
std::vector<RunLogs> WithoutLevels(std::vector<RunLogs> stages,
                                   const std::vector<double>& weights) {
  std::vector<double> centers;
  centers.reserve(stages.size());
  for (const RunLogs& stage : stages) centers.push_back(Median(stage.logs));
  for (std::size_t run = 0; run < stages.front().logs.size(); ++run) {
    std::vector<double> offsets;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      offsets.push_back(stages[i].logs[run] - centers[i]);
    }
    const double level = WeightedMedian(offsets, weights);
    for (RunLogs& stage : stages) stage.logs[run] -= level;
  }
  return stages;
}

// For each value, the median of those of the stages with the nearest times, its own included.
std::vector<double> MediansOfNearest(const std::vector<double>& values,
                                     const std::vector<double>& times) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return times[i] < times[j]; });
  std::vector<double> medians(values.size());
  const std::size_t taken = std::min(kNearest, values.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t before = std::min(place, kNearest / 2);
    const std::size_t first = std::min(place - before, order.size() - taken);
    std::vector<double> near;
    for (std::size_t k = first; k < first + taken; ++k) near.push_back(values[order[k]]);
    medians[order[place]] = Median(near);
  }
  return medians;
}

// The differences of all stages. Each variance is a mean of its own and of those of stages with
// similar times, since short stages vary more than long ones.
struct Moderated {
  std::vector<BetweenRuns> stages;
  int degrees = 1;
  double typical = 0;  // variance

  Moderated(const std::vector<RunLogs>& logs, const std::vector<double>& times, int own_degrees)
      : degrees(own_degrees) {
    std::vector<double> variances;
    for (const RunLogs& stage : logs) {
      stages.push_back(Compare(stage));
      variances.push_back(stages.back().variance);
    }
    typical = WeightedMedian(variances, times);
    if (logs.size() < kNearest) return;
    const std::vector<double> similar = MediansOfNearest(variances, times);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].variance = (kPriorDegrees * similar[i] + own_degrees * stages[i].variance) /
                           (kPriorDegrees + own_degrees);
    }
    degrees += kPriorDegrees;
  }
};

double ErrorOfMedians(double variance, const TimedPair& pair) {
  const double runs =
      1 / static_cast<double>(pair.a.size()) + 1 / static_cast<double>(pair.b.size());
  return std::max(kResolution, kMedianPerMean * std::sqrt(variance * runs));
}

int DegreesOf(const TimedPair& pair) { return static_cast<int>(pair.a.size() + pair.b.size()) - 2; }

void ConcludeFromRuns(const TimedPair& pair, const BetweenRuns& own, int degrees,
                      TimeDifference& difference, Estimate estimate) {
  estimate.log_ratio = own.difference;
  Conclude(estimate, ErrorOfMedians(own.variance, pair), degrees, {0.0}, difference);
}

TimeDifferences EstimateFromRuns(const std::vector<TimedPair>& stages,
                                 const std::optional<TimedPair>& step) {
  TimeDifferences result;
  result.runs_measured = true;
  std::vector<Estimate> estimates(stages.size());
  std::vector<std::size_t> measured;
  std::vector<RunLogs> logs;
  std::vector<double> weights;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    result.stages.push_back(Describe(stages[i], estimates[i]));
    if (!result.stages[i].ratio) continue;
    measured.push_back(i);
    logs.push_back(LogsOfRuns(stages[i]));
    weights.push_back(TimeOf(result.stages[i]));
  }
  if (!measured.empty()) {
    const int degrees = DegreesOf(stages[measured.front()]);
    const Moderated as_timed(logs, weights, degrees);
    const Moderated relative(WithoutLevels(logs, weights), weights, degrees);
    result.spread = std::sqrt(as_timed.typical);
    for (std::size_t k = 0; k < measured.size(); ++k) {
      TimeDifference& difference = result.stages[measured[k]];
      const TimedPair& pair = stages[measured[k]];
      const Estimate& estimate = estimates[measured[k]];
      ConcludeFromRuns(pair, as_timed.stages[k], as_timed.degrees, difference, estimate);
      if (measured.size() < std::size_t{kLeastStagesForNull}) continue;
      // The smaller of two p-values is doubled (Bonferroni).
      const double error = ErrorOfMedians(relative.stages[k].variance, pair);
      const double p = StudentTwoSided(relative.stages[k].difference / error, relative.degrees);
      difference.p = std::min(1.0, 2 * std::min(*difference.p, std::max(p, estimate.rank_p)));
    }
  }
  if (!step) return result;
  Estimate estimate;
  result.step = Describe(*step, estimate);
  if (result.step->ratio) {
    ConcludeFromRuns(*step, Compare(LogsOfRuns(*step)), DegreesOf(*step), *result.step, estimate);
  }
  return result;
}

}  // namespace

TimeDifferences EstimateDifferences(const std::vector<TimedPair>& stages,
                                    const std::optional<TimedPair>& step,
                                    const MachineChanges& machine) {
  const auto one_run = [](const TimedPair& pair) { return Measured(pair) && !SeveralRuns(pair); };
  const bool several =
      std::none_of(stages.begin(), stages.end(), one_run) && !(step && one_run(*step));
  return several ? EstimateFromRuns(stages, step) : EstimateFromStages(stages, step, machine);
}

void Judge(const std::vector<TimeDifference*>& differences) {
  std::vector<TimeDifference*> tested;
  std::vector<double> p;
  for (TimeDifference* difference : differences) {
    if (!difference->p) continue;
    tested.push_back(difference);
    p.push_back(*difference->p);
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    const Interval& interval = *tested[i]->interval;
    tested[i]->adjusted_p = adjusted[i];
    tested[i]->significant = adjusted[i] < kFamilyLevel && (interval.low > 1 || interval.high < 1);
  }
}

}  // namespace topdnn
