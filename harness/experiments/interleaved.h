// Times a sequence of stages under several conditions, in rounds. A round runs every condition
// once, so a disturbance that lasts longer than a round meets all of them.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_INTERLEAVED_H_
#define TOPDNN_HARNESS_EXPERIMENTS_INTERLEAVED_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/counters/clock.h"
#include "harness/measure/loss_watch.h"
#include "harness/measure/measure.h"

namespace topdnn {

struct Condition {
  std::span<const TimedStage> stages;            // the same stages in every condition
  Action before_iteration;                       // the next input
  std::function<void()> enter = {}, leave = {};  // around its runs in a round; may be empty
};

// Seconds by condition, stage and round.
using ConditionTimes = std::vector<std::vector<std::vector<double>>>;

struct RoundOptions {
  // About; at least 6 rounds are run, below which a median has no interval (fewer only if they take
  // over 4 times as long, and 30 s). If other work disturbs the rounds, up to twice as long.
  double seconds = 10;
  // If given, receives the time that threads waited for a CPU as a share of each time. A reading
  // costs at most 1 % of the time; shorter stages share it with their neighbours.
  ConditionTimes* waited = nullptr;
  const std::atomic<bool>* cancel = nullptr;  // polled between conditions
  std::function<void(std::string_view what, double share)> progress;
};

// One timed run of a sequence: seconds by stage, and the share of them that was lost (LossWatch).
struct TimedRun {
  std::vector<double> seconds, waited;
};
TimedRun RunTimed(const Condition& condition, const TickClock& clock, LossWatch& watch);

// In each round and condition the sequence runs twice, and the second run is timed: the first one
// brings the caches to the state of a running network. The order of the conditions is reversed from
// round to round, so that a steady drift cancels out. A round that was cancelled is left out.
// Throws InputError if the conditions differ in their number of stages.
ConditionTimes RunInterleaved(std::span<const Condition> conditions, const RoundOptions& options);

// The rounds in which a stage was undisturbed under every condition, or else the least disturbed
// ones; `waited` as of RoundOptions, of one stage or of the whole sequence (TimesOfStage). Pure.
std::vector<std::size_t> UndisturbedRounds(const std::vector<std::vector<double>>& waited);
// The same of the whole sequence. Pure.
std::vector<std::size_t> UndisturbedRounds(const ConditionTimes& waited);
// The waiting of the whole sequence by condition and round: at most the largest share of its
// stages. Pure.
std::vector<std::vector<double>> WaitingOfSequence(const ConditionTimes& waited);
// The times of these rounds, by condition. Pure.
std::vector<std::vector<double>> TimesInRounds(std::vector<std::vector<double>> times,
                                               const std::vector<std::size_t>& rounds);

// Seconds by condition and round: of one stage, and of the whole sequence. Pure.
std::vector<std::vector<double>> TimesOfStage(const ConditionTimes& times, std::size_t stage);
std::vector<std::vector<double>> TimesOfSequence(const ConditionTimes& times);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_INTERLEAVED_H_
