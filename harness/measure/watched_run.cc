#include "harness/measure/watched_run.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace topdnn {

namespace {

std::atomic<const WatchedRun*> innermost = nullptr;
std::atomic<std::uint64_t> iterations = 0;
static_assert(std::atomic<const WatchedRun*>::is_always_lock_free &&
                  std::atomic<std::uint64_t>::is_always_lock_free,
              "a signal handler may only access lock-free atomics");

}  // namespace

WatchedRun::WatchedRun(const char* name, std::span<const TimedStage> stages,
                       std::span<const std::uint64_t> marks, std::span<const std::size_t> parts)
    : name_(name), stages_(stages), marks_(marks), parts_(parts), outer_(innermost) {
  innermost = this;
}

WatchedRun::~WatchedRun() { innermost = outer_; }

const TimedStage* WatchedRun::Running() const noexcept {
  if (marks_.empty()) return nullptr;
  const auto last = std::max_element(marks_.begin(), marks_.end()) - marks_.begin();
  if (marks_[static_cast<std::size_t>(last)] == 0) return nullptr;
  const std::size_t all = stages_.size();
  const std::span<const std::size_t> parts = parts_.empty() ? std::span(&all, 1) : parts_;
  std::size_t at = static_cast<std::size_t>(last) % (all + parts.size());
  std::size_t first = 0;
  for (const std::size_t end : parts) {
    const std::size_t stages = end - first;
    if (at < stages) return &stages_[first + at];
    if (at == stages) return nullptr;  // the last reading of the part
    at -= stages + 1;
    first = end;
  }
  return nullptr;
}

std::string_view WatchedRun::Now() noexcept {
  for (const WatchedRun* run = innermost; run != nullptr; run = run->outer_) {
    if (run->name_ != nullptr && *run->name_ != '\0') return run->name_;
    if (const TimedStage* stage = run->Running(); stage != nullptr) return stage->name;
  }
  return {};
}

const TimedStage* WatchedRun::StageNow() noexcept {
  const WatchedRun* run = innermost;
  return run == nullptr ? nullptr : run->Running();
}

void CountWatchedIteration() noexcept { iterations.fetch_add(1, std::memory_order_relaxed); }

bool IsCancelled(const std::atomic<bool>* flag) noexcept {
  if (flag == nullptr || !flag->load(std::memory_order_relaxed)) return false;
  CountWatchedIteration();
  return true;
}

std::uint64_t WatchedIterations() noexcept { return iterations.load(std::memory_order_relaxed); }

}  // namespace topdnn
