#include "harness/measure/loss_watch.h"

#include <algorithm>

namespace topdnn {

LossWatch::LossWatch(std::optional<int> team) {
  if (team) pace_ = std::make_unique<CorePace>(*team);
  if (pace_ != nullptr && !pace_->works()) pace_.reset();
}

double LossWatch::ReadPace() noexcept { return pace_ == nullptr ? 0 : pace_->Read(); }

void LossWatch::Begin() noexcept {
  pace_at_ = ReadPace();
  waited_ = scheduler_.Waited();
}

double LossWatch::End(double seconds) noexcept {
  const std::uint64_t waited = scheduler_.Waited();
  const double pace = ReadPace();
  double lost = seconds > 0 ? 1e-9 * static_cast<double>(waited - waited_) / seconds : 0;
  const double slower = std::min(pace, pace_at_);
  if (pace_ != nullptr && pace_->IsSlow(slower)) lost += 1 - slower / pace_->full();
  pace_at_ = pace;
  waited_ = waited;
  return lost;
}

double LossWatch::cost_seconds() const {
  return scheduler_.cost_seconds() + (pace_ != nullptr ? pace_->cost_seconds() : 0);
}

}  // namespace topdnn
