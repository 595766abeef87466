#include "harness/experiments/interleaved.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "harness/counters/clock.h"
#include "harness/measure/undisturbed.h"
#include "harness/measure/watched_run.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

constexpr std::size_t kLeastRounds = kLeastSamples;
constexpr std::size_t kMostRounds = 24;
constexpr double kBudget = 4;  // times options.seconds, even with fewer rounds
constexpr double kLeastBudget = 30;
constexpr double kMostSeconds = 2;  // times options.seconds, if other work disturbs the rounds

void RunUntimed(const Condition& condition) {
  if (condition.before_iteration) condition.before_iteration();
  for (const TimedStage& stage : condition.stages) stage.run();
}

// Whether too few rounds are undisturbed so far.
bool NeedsMore(const ConditionTimes& times, const ConditionTimes& waited) {
  std::vector<StageRounds> stages;
  for (std::size_t i = 0; i < waited.front().size(); ++i) {
    if (times.front()[i].empty()) return true;
    StageRounds stage{.seconds = Median(times.front()[i])};
    for (std::size_t round = 0; round < waited.front()[i].size(); ++round) {
      stage.undisturbed += std::all_of(waited.begin(), waited.end(), [&](const auto& of_condition) {
        return of_condition[i][round] <= kMaxWaitedOfSample;
      });
    }
    stages.push_back(stage);
  }
  return NeedMoreRounds(stages);
}

// `waited`: several series of the same rounds.
std::vector<double> LargestByRound(const std::vector<std::vector<double>>& waited) {
  std::vector<double> most(waited.front().size(), 0);
  for (const std::vector<double>& series : waited) {
    for (std::size_t round = 0; round < most.size(); ++round) {
      most[round] = std::max(most[round], series[round]);
    }
  }
  return most;
}

}  // namespace

TimedRun RunTimed(const Condition& condition, const TickClock& clock, LossWatch& watch) {
  TimedRun run;
  run.seconds.assign(condition.stages.size(), 0);
  run.waited.assign(condition.stages.size(), 0);
  if (condition.before_iteration) condition.before_iteration();
  const double least = watch.cost_seconds() / kReadingShare;
  std::size_t first = 0;  // of the stages since the last reading
  double since = 0;       // their time
  watch.Begin();
  std::uint64_t before = clock.now();
  for (std::size_t i = 0; i < condition.stages.size(); ++i) {
    condition.stages[i].run();
    const std::uint64_t after = clock.now();
    run.seconds[i] = clock.SecondsBetween(before, after).value_or(0);
    before = after;
    since += run.seconds[i];
    if (since < least && i + 1 < condition.stages.size()) continue;
    const double share = watch.End(since);
    for (; first <= i; ++first) run.waited[first] = share;
    since = 0;
    before = clock.now();
  }
  return run;
}

ConditionTimes RunInterleaved(std::span<const Condition> conditions, const RoundOptions& options) {
  ConditionTimes times(conditions.size());
  for (std::size_t c = 0; c < conditions.size(); ++c) {
    if (conditions[c].stages.size() != conditions.front().stages.size()) {
      throw InputError("the conditions of an experiment differ in their stages");
    }
    times[c].resize(conditions[c].stages.size());
  }
  ConditionTimes waited = times;
  const TickClock clock = BestClock();
  const std::uint64_t start = clock.now();
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    const double spent = clock.SecondsBetween(start, clock.now()).value_or(0);
    const bool enough = spent > kMostSeconds * options.seconds || !NeedsMore(times, waited);
    if (round >= kLeastRounds && spent > options.seconds && enough) break;
    if (round > 0 && spent > std::max(kBudget * options.seconds, kLeastBudget)) break;
    if (options.progress) {
      options.progress("experiment: rounds",
                       std::min(1.0, std::max(static_cast<double>(round) / kMostRounds,
                                              spent / options.seconds)));
    }
    std::vector<TimedRun> of_round(conditions.size());
    for (std::size_t k = 0; k < conditions.size(); ++k) {
      if (IsCancelled(options.cancel)) {
        if (options.waited != nullptr) *options.waited = std::move(waited);
        return times;
      }
      const std::size_t c = round % 2 == 0 ? k : conditions.size() - 1 - k;
      if (conditions[c].enter) conditions[c].enter();
      RunUntimed(conditions[c]);
      // (a condition may start threads, so their accounts are opened anew)
      LossWatch watch;
      of_round[c] = RunTimed(conditions[c], clock, watch);
      if (conditions[c].leave) conditions[c].leave();
    }
    for (std::size_t c = 0; c < conditions.size(); ++c) {
      for (std::size_t i = 0; i < of_round[c].seconds.size(); ++i) {
        times[c][i].push_back(of_round[c].seconds[i]);
        waited[c][i].push_back(of_round[c].waited[i]);
      }
    }
  }
  if (options.waited != nullptr) *options.waited = std::move(waited);
  return times;
}

std::vector<std::size_t> UndisturbedRounds(const std::vector<std::vector<double>>& waited) {
  if (waited.empty()) return {};
  return SelectRounds(LargestByRound(waited));
}

std::vector<std::size_t> UndisturbedRounds(const ConditionTimes& waited) {
  return UndisturbedRounds(WaitingOfSequence(waited));
}

std::vector<std::vector<double>> WaitingOfSequence(const ConditionTimes& waited) {
  std::vector<std::vector<double>> most;
  for (const auto& of_condition : waited) {
    if (!of_condition.empty()) most.push_back(LargestByRound(of_condition));
  }
  return most;
}

std::vector<std::vector<double>> TimesInRounds(std::vector<std::vector<double>> times,
                                               const std::vector<std::size_t>& rounds) {
  for (std::vector<double>& of_condition : times) of_condition = ValuesAt(of_condition, rounds);
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
