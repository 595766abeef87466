// What is measured now, for whoever ends the process: the handler of a crash, of SIGTERM or of a
// timer. Nothing is added to the measured region: the stage that runs is the one whose mark is the
// last one written.

#ifndef TOPDNN_HARNESS_MEASURE_WATCHED_RUN_H_
#define TOPDNN_HARNESS_MEASURE_WATCHED_RUN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/measure/measure.h"

namespace topdnn {

// Everything that is measured while it exists is named so; one in another's scope comes first.
// `name` and `marks` outlive it.
class WatchedRun {
 public:
  explicit WatchedRun(const char* name) : WatchedRun(name, {}, {}, {}) {}
  // `marks`: rows of readings of the clock, zero where nothing was read yet. `parts`: one past the
  // last stage of each part of a row; a part has one reading more than stages. None: one part.
  WatchedRun(std::span<const TimedStage> stages, std::span<const std::uint64_t> marks,
             std::span<const std::size_t> parts = {})
      : WatchedRun(nullptr, stages, marks, parts) {}
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  // The name of what runs now; empty: nothing that is watched. For a signal handler: no allocation,
  // no lock.
  static std::string_view Now() noexcept;
  // The stage that runs now in the innermost one; null: none. For a signal handler.
  static const TimedStage* StageNow() noexcept;

 private:
  WatchedRun(const char* name, std::span<const TimedStage> stages,
             std::span<const std::uint64_t> marks, std::span<const std::size_t> parts);
  const TimedStage* Running() const noexcept;

  const char* name_;
  std::span<const TimedStage> stages_;
  std::span<const std::uint64_t> marks_;
  std::span<const std::size_t> parts_;
  const WatchedRun* outer_;
};

// A measurement is between two iterations: whatever ran before has ended.
void CountWatchedIteration() noexcept;
// Whether a poll finds the flag, which may be null, set: then whatever ran before has ended, too.
bool IsCancelled(const std::atomic<bool>* flag) noexcept;
// How often something ended.
std::uint64_t WatchedIterations() noexcept;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_WATCHED_RUN_H_
