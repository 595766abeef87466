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

#include "harness/measure/measure.h"

namespace topdnn {

struct Condition {
  std::span<const TimedStage> stages;  // the same stages in every condition
  Action before_iteration;             // the next input
  std::function<void()> enter, leave;  // around its runs in a round; may be empty
};

struct RoundOptions {
  double seconds = 10;  // about; at least 6 rounds are run, below which a median has no interval
  const std::atomic<bool>* cancel = nullptr;  // polled between conditions
  std::function<void(std::string_view what, double share)> progress;
};

// Seconds by condition, stage and round.
using ConditionTimes = std::vector<std::vector<std::vector<double>>>;

// In each round and condition the sequence runs twice, and the second run is timed: the first one
// brings the caches to the state of a running network. The order of the conditions is reversed from
// round to round, so that a steady drift cancels out. A round that was cancelled is left out.
// Throws InputError if the conditions differ in their number of stages.
ConditionTimes RunInterleaved(std::span<const Condition> conditions, const RoundOptions& options);

// Seconds by condition and round: of one stage, and of the whole sequence. Pure.
std::vector<std::vector<double>> TimesOfStage(const ConditionTimes& times, std::size_t stage);
std::vector<std::vector<double>> TimesOfSequence(const ConditionTimes& times);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_INTERLEAVED_H_
