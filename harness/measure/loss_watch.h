// The share of a short time that other work took from the threads of this process: they waited for
// a CPU, or another machine used the other hardware thread of a core.

#ifndef TOPDNN_HARNESS_MEASURE_LOSS_WATCH_H_
#define TOPDNN_HARNESS_MEASURE_LOSS_WATCH_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "harness/measure/scheduler_watch.h"
#include "harness/probes/quiet.h"

namespace topdnn {

class LossWatch {
 public:
  // Of the threads that the process has now. `team`: the number of threads whose pace is read;
  // absent: only the waiting is.
  explicit LossWatch(std::optional<int> team = std::nullopt);

  // To call at the begin of a time.
  void Begin() noexcept;
  // At its end, which is the begin of the next one: the share that was lost of the time, of
  // `seconds`. Of the pace the slower one of both ends counts, if it is slow. 0: undisturbed. Does
  // not allocate.
  double End(double seconds) noexcept;

  // The median time of a reading.
  double cost_seconds() const;

 private:
  double ReadPace() noexcept;

  std::unique_ptr<CorePace> pace_;  // null: not read
  SchedulerWatch scheduler_;        // (after the pace, which may start the team's threads)
  std::uint64_t waited_ = 0;        // at the begin
  double pace_at_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_LOSS_WATCH_H_
