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

std::string_view WatchedRun::Name() const noexcept {
  if (name_ != nullptr) return name_;
  if (marks_.empty()) return {};
  const auto last = std::max_element(marks_.begin(), marks_.end()) - marks_.begin();
  if (marks_[static_cast<std::size_t>(last)] == 0) return {};
  const std::size_t all = stages_.size();
  const std::span<const std::size_t> parts = parts_.empty() ? std::span(&all, 1) : parts_;
  std::size_t at = static_cast<std::size_t>(last) % (all + parts.size());
  std::size_t first = 0;
  for (const std::size_t end : parts) {
    const std::size_t stages = end - first;
    if (at < stages) return stages_[first + at].name;
    if (at == stages) return {};  // the last reading of the part
    at -= stages + 1;
    first = end;
  }
  return {};
}

std::string_view WatchedRun::Now() noexcept {
  for (const WatchedRun* run = innermost; run != nullptr; run = run->outer_) {
    if (const std::string_view name = run->Name(); !name.empty()) return name;
  }
  return {};
}

bool WatchedRun::InStage() noexcept {
  const WatchedRun* run = innermost;
  return run != nullptr && !run->marks_.empty() && !run->Name().empty();
}

void CountWatchedIteration() noexcept { iterations.fetch_add(1, std::memory_order_relaxed); }

bool IsCancelled(const std::atomic<bool>* flag) noexcept {
  if (flag == nullptr || !flag->load(std::memory_order_relaxed)) return false;
  CountWatchedIteration();
  return true;
}

std::uint64_t WatchedIterations() noexcept { return iterations.load(std::memory_order_relaxed); }

}  // namespace topdnn
