// Rounds of windows: each member of a group alone, and all at once. A disturbance that lasts longer
// than a round affects all of its windows, so times are compared within a round.

#ifndef TOPDNN_HARNESS_SHARING_ROUNDS_H_
#define TOPDNN_HARNESS_SHARING_ROUNDS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/sharing/group.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"

namespace topdnn {

struct SharingRoundOptions {
  int rounds = 8;
  double window_seconds = 0.5;
  std::function<void(double share)> progress;  // between windows
};

// One kind of window in a round: which members run, and how.
struct WindowKind {
  std::vector<bool> active;  // by member
  WindowOptions options = {};
};

// By kind of window, member and round.
struct KindRounds {
  std::vector<std::vector<std::vector<WindowSamples>>> samples;
  bool cancelled = false;
};

// Called before and after each window, with the index of its kind.
struct WindowHooks {
  std::function<void(std::size_t kind)> before, after;
};

// Every round has a window of each kind. Every second round runs them in the reverse order, so that
// a steady drift cancels out. A round that was cancelled is left out. Throws RunFailure.
KindRounds RunRoundsOf(Group& group, const std::vector<WindowKind>& kinds,
                       const SharingRoundOptions& options, const WindowHooks& hooks = {});

// By member and round.
struct SharingRounds {
  std::vector<std::vector<WindowSamples>> solo, shared;
  bool cancelled = false;
};

// Windows of each member alone (their kinds are 0, 1, ...), and of all. Throws RunFailure.
SharingRounds RunSharingRounds(Group& group, const SharingRoundOptions& options,
                               const WindowHooks& hooks = {}, const WindowOptions& window = {});

// The time of a window: a median is robust against other programs. If members take turns on a CPU,
// a few iterations become much longer, and only the mean shows how much work was done.
enum class WindowTime { kMedian, kMean };

// Seconds by round of a stage, or of the whole iteration; absent if no iteration was complete.
// Pure, as are the others below.
std::vector<std::optional<double>> StageByRound(std::span<const WindowSamples> windows,
                                                std::size_t stage, WindowTime time);
std::vector<std::optional<double>> IterationByRound(std::span<const WindowSamples> windows,
                                                    WindowTime time);

// Of all complete iterations of all windows; absent if there is none.
std::optional<Summary> SummaryOfIterations(std::span<const WindowSamples> windows);
std::optional<Summary> SummaryOfStage(std::span<const WindowSamples> windows, std::size_t stage);

struct Slowdown {
  double median = 0;  // of shared / solo over the rounds
  Interval ci95;
};

// From the seconds by round. Rounds that lack one of the two are left out. Absent below 6 rounds.
std::optional<Slowdown> SlowdownOf(std::span<const std::optional<double>> solo,
                                   std::span<const std::optional<double>> shared);

// "slower" or "faster" only if the interval does not contain 1.
enum class SharingVerdict { kSame, kSlower, kFaster, kUnknown };
SharingVerdict VerdictOf(const std::optional<Slowdown>& slowdown);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_ROUNDS_H_
