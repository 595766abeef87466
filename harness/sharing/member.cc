#include "harness/sharing/member.h"

#include <algorithm>
#include <thread>

#include "harness/statistics/summary.h"

namespace topdnn {

void IterationLog::Add(std::span<const double> stages) {
  if (memory_.size() - used_ < stages.size()) return;
  std::copy(stages.begin(), stages.end(), memory_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += stages.size();
}

void RunIterations(const Window& window, std::span<double> seconds,
                   const std::function<void(std::span<double>)>& iteration, IterationLog& log) {
  std::this_thread::sleep_until(window.begin);
  for (bool first = true; GroupClock::now() < window.end; first = false) {
    iteration(seconds);
    if (!first && GroupClock::now() <= window.end) log.Add(seconds);
  }
}

double WarmUp(const std::function<void()>& iteration) {
  constexpr std::size_t kLeast = 3;
  constexpr std::chrono::milliseconds kLong(200);
  std::vector<double> seconds;
  const auto begin = GroupClock::now();
  while (seconds.size() < kLeast || GroupClock::now() - begin < kLong) {
    const auto before = GroupClock::now();
    iteration();
    seconds.push_back(std::chrono::duration<double>(GroupClock::now() - before).count());
  }
  return Median(seconds);
}

}  // namespace topdnn
