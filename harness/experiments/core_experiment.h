// The time of each stage of a sequence with all its data in L1, measured without a PMU: the same
// translated code is timed on its own data and on lines of L1 (core_times.h), beside the native
// code. A round times the three after each other, so a disturbance that lasts meets all of them.
//
// A redirected call loses its results, so a native one follows before the next stage runs. Stages
// that change their own input (an update of weights) do so in every call: the caller restores them.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_CORE_EXPERIMENT_H_
#define TOPDNN_HARNESS_EXPERIMENTS_CORE_EXPERIMENT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/experiments/core_times.h"
#include "harness/measure/measure.h"

namespace topdnn {

struct CoreSubject {
  std::span<const TimedStage> stages;  // in the order in which they run
  // Memory that the stages use and that holds no addresses. Other memory is redirected only where
  // wide vectors use it.
  std::vector<std::span<const std::byte>> tensors;
  int threads = 1;
  Action before_iteration;  // the next input
};

struct CoreExperimentOptions {
  // About; up to `most_seconds` if the stages need more. The longest stages come first: those for
  // which the time does not suffice are left out.
  double seconds = 10;
  double most_seconds = 0;
  const std::atomic<bool>* cancel = nullptr;  // polled between rounds
  std::function<void(std::string_view what, double share)> progress{};
};

struct StageCore {
  std::vector<CoreRound> rounds;  // empty: see `reason`
  // For WaitingShare: also of a stage that is refused, if it runs translated. Empty on one thread.
  std::vector<CoreRound> waiting;
  CoreSamples undisturbed;
  CoreCounts counts;
  TranslationCost teams;  // what translation adds to its OpenMP teams
  TranslationCost cost;
  std::string reason;  // why the stage was not measured
};

// One entry per stage, also if it was cancelled. Requires ExactCounter::Probe().
std::vector<StageCore> RunCoreExperiment(const CoreSubject& subject,
                                         const CoreExperimentOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_CORE_EXPERIMENT_H_
