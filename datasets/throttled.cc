#include "datasets/throttled.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace topdnn {

ThrottledDataset::ThrottledDataset(std::unique_ptr<Dataset> source, double images_per_second)
    : source_(std::move(source)),
      name_(fmt::format("{}, at most {} images/s", source_->name(), images_per_second)),
      interval_(std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::duration<double>(1.0 / images_per_second))) {}

void ThrottledDataset::CopyImage(std::int64_t index, std::span<float> pixels) const {
  std::chrono::steady_clock::time_point turn;
  {
    const std::lock_guard lock(mutex_);
    // The image takes one interval from the end of the one before it, or from now.
    turn = std::max(next_, std::chrono::steady_clock::now()) + interval_;
    next_ = turn;
  }
  std::this_thread::sleep_until(turn);
  source_->CopyImage(index, pixels);
}

}  // namespace topdnn
