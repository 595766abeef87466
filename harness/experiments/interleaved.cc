#include "harness/experiments/interleaved.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "harness/counters/clock.h"
#include "harness/measure/watched_run.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr int kLeastRounds = 6;
constexpr int kMostRounds = 24;

void RunUntimed(const Condition& condition) {
  if (condition.before_iteration) condition.before_iteration();
  for (const TimedStage& stage : condition.stages) stage.run();
}

std::vector<double> RunTimed(const Condition& condition, const TickClock& clock) {
  std::vector<double> seconds(condition.stages.size());
  if (condition.before_iteration) condition.before_iteration();
  std::uint64_t before = clock.now();
  for (std::size_t i = 0; i < condition.stages.size(); ++i) {
    condition.stages[i].run();
    const std::uint64_t after = clock.now();
    seconds[i] = clock.SecondsBetween(before, after).value_or(0);
    before = after;
  }
  return seconds;
}

}  // namespace

ConditionTimes RunInterleaved(std::span<const Condition> conditions, const RoundOptions& options) {
  ConditionTimes times(conditions.size());
  for (std::size_t c = 0; c < conditions.size(); ++c) {
    if (conditions[c].stages.size() != conditions.front().stages.size()) {
      throw InputError("the conditions of an experiment differ in their stages");
    }
    times[c].resize(conditions[c].stages.size());
  }
  const TickClock clock = BestClock();
  const std::uint64_t start = clock.now();
  for (int round = 0; round < kMostRounds; ++round) {
    const double spent = clock.SecondsBetween(start, clock.now()).value_or(0);
    if (round >= kLeastRounds && spent > options.seconds) break;
    if (options.progress) {
      options.progress("experiment: rounds",
                       std::min(1.0, std::max(static_cast<double>(round) / kMostRounds,
                                              spent / options.seconds)));
    }
    std::vector<std::vector<double>> of_round(conditions.size());
    for (std::size_t k = 0; k < conditions.size(); ++k) {
      if (IsCancelled(options.cancel)) return times;
      const std::size_t c = round % 2 == 0 ? k : conditions.size() - 1 - k;
      if (conditions[c].enter) conditions[c].enter();
      RunUntimed(conditions[c]);
      of_round[c] = RunTimed(conditions[c], clock);
      if (conditions[c].leave) conditions[c].leave();
    }
    for (std::size_t c = 0; c < conditions.size(); ++c) {
      for (std::size_t i = 0; i < of_round[c].size(); ++i) {
        times[c][i].push_back(of_round[c][i]);
      }
    }
  }
  return times;
}

std::vector<std::vector<double>> TimesOfStage(const ConditionTimes& times, std::size_t stage) {
  std::vector<std::vector<double>> seconds;
  for (const auto& of_condition : times) seconds.push_back(of_condition.at(stage));
  return seconds;
}

std::vector<std::vector<double>> TimesOfSequence(const ConditionTimes& times) {
  std::vector<std::vector<double>> sums;
  for (const auto& of_condition : times) {
    std::vector<double>& sum = sums.emplace_back();
    for (const std::vector<double>& of_stage : of_condition) {
      sum.resize(of_stage.size());
      for (std::size_t round = 0; round < sum.size(); ++round) sum[round] += of_stage[round];
    }
  }
  return sums;
}

}  // namespace topdnn
