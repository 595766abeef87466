#include "harness/measure/loss_watch.h"

#include <algorithm>

namespace topdnn {

LossWatch::LossWatch(std::optional<int> team)
    : pace_(team ? std::make_unique<CorePace>(*team) : nullptr) {
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
  waited_ = pace_ != nullptr ? scheduler_.Waited() : waited;  // (without waking the workers)
  return lost;
}

double LossWatch::cost_seconds() const {
  const double accounts = scheduler_.cost_seconds();
  return pace_ != nullptr ? 2 * accounts + pace_->cost_seconds() : accounts;
}

}  // namespace topdnn
