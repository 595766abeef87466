// What the times of a region say about its time with all data in L1. Pure.
//
// In a round the same calls are timed natively (N), translated (T), and translated with the data in
// L1 (R; harness/exact/translated_run.h). 1 - R/T is the share of the time that waits for data
// beyond L1, and R is the time without these waits: it does not depend on where the data were.
// Without the work on vectors as well, it takes as long as the front end needs to deliver the
// instructions, mispredictions included.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_CORE_TIMES_H_
#define TOPDNN_HARNESS_EXPERIMENTS_CORE_TIMES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/experiment_results.h"

namespace topdnn {

// Seconds of a call, from one round.
struct CoreRound {
  double native = 0;
  double translated = 0;  // as long as `native`, if translation costs nothing
  // Without the time to start OpenMP teams and to wait for them.
  double translated_work = 0;
  double redirected_work = 0;
  double delivered_work = 0;  // with placeholders; 0: not measured
  // Of `translated`, the time in which a thread waited for others, as a mean over the threads.
  double idle = 0;
};

// Seconds of a call, from samples in which the cores were undisturbed (CorePace).
struct CoreSamples {
  std::vector<double> native, translated, translated_work, redirected_work, delivered_work;
};

// Of one call.
struct CoreCounts {
  double instructions = 0;        // without those of the OpenMP runtime
  double instructions_again = 0;  // of a second call: waiting loops differ by themselves
  double instructions_redirected = 0;
  double instructions_delivered = 0;  // with placeholders
  double redirected_bytes = 0;
  double kept_bytes = 0;       // of its data, moved by instructions that are not redirected
  double crossings_added = 0;  // of cache lines, by redirected operands; below 0: fewer
};

// What translation adds to a call by following its OpenMP teams, indirect calls and returns.
struct TranslationCost {
  double whole = 0;  // seconds, in `translated`
  double work = 0;   // seconds, in `translated_work` and `redirected_work`
};

struct CoreJudgement {
  std::optional<CoreResult> result;
  std::string reason;  // why there is none; or empty
};

// Translated code may take this much more or less than native code: it lies elsewhere in memory.
// It is refused if the whole 95 % interval of the ratio is further off.
inline constexpr double kMostOffNative = 0.06;
// The instructions of a region that executes other code on other values differ by more.
inline constexpr double kSameCoreInstructions = 0.0002;
// More bytes that stay where they are would leave waits in R.
inline constexpr double kMostKept = 0.05;
// R/T of regions whose data L1 holds anyway differs from 1 by this much.
inline constexpr double kCoreShareError = 0.02;

// 95 %: the share of the time, over all threads, in which threads wait for each other: to start, at
// the end of a team, and while one thread works alone. Waits at barriers within a team are not
// seen. Absent if there are too few rounds.
std::optional<Interval> WaitingShare(std::span<const CoreRound> rounds,
                                     const TranslationCost& teams);

// Why a redirected call is not the same work, or not with its data in L1; empty: it is.
std::string WhyNotTheSameWork(const CoreCounts& counts);

// `hertz`: of the core; 0: not known. `undisturbed` takes the place of the rounds if it has enough
// samples for an interval of each time.
CoreJudgement JudgeCore(std::span<const CoreRound> rounds, const CoreCounts& counts,
                        const TranslationCost& cost, double hertz,
                        const CoreSamples& undisturbed = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_CORE_TIMES_H_
