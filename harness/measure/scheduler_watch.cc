#include "harness/measure/scheduler_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/machine/thread_list.h"
#include "harness/measure/disturbance.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// A reading of more threads would last longer than many samples.
constexpr std::size_t kMostThreads = 256;

// The numbers of "RUNNING WAITING SLICES", without the allocations of ParseSchedulerTime.
std::optional<SchedulerTime> ReadAccount(int account) noexcept {
  std::array<char, 96> text;
  const ssize_t bytes = pread(account, text.data(), text.size(), 0);
  if (bytes <= 0) return std::nullopt;
  std::array<std::uint64_t, 2> numbers{};
  std::size_t at = 0;
  for (const char c : std::string_view(text.data(), static_cast<std::size_t>(bytes))) {
    if (c == ' ') {
      if (++at == numbers.size()) return SchedulerTime{numbers[0], numbers[1]};
    } else if (c >= '0' && c <= '9') {
      numbers.at(at) = 10 * numbers.at(at) + static_cast<std::uint64_t>(c - '0');
    }
  }
  return std::nullopt;
}

}  // namespace

SchedulerWatch::SchedulerWatch(const std::filesystem::path& tasks) {
  std::error_code error;
  bool counts = false;
  for (const pid_t thread : ThreadsIn(tasks, error)) {
    const std::filesystem::path path = tasks / std::to_string(thread) / "schedstat";
    const int account = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (account < 0 && (errno == ENOENT || errno == ESRCH)) continue;  // the thread has ended
    if (account < 0) {  // without this account, disturbed samples would count as undisturbed
      counts = false;
      break;
    }
    threads_.push_back({account, 0});
    if (threads_.size() > kMostThreads) break;
    const std::optional<SchedulerTime> time = ReadAccount(account);
    // A kernel without CONFIG_SCHED_INFO shows zeros.
    counts = counts || (time && time->running > 0);
  }
  if (!counts || threads_.size() > kMostThreads) {
    for (const Thread& thread : threads_) close(thread.account);
    threads_.clear();
    return;
  }
  std::array<double, 9> seconds{};
  for (double& one : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    Waited();
    one = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  cost_seconds_ = Median(seconds);
}

SchedulerWatch::~SchedulerWatch() {
  for (const Thread& thread : threads_) close(thread.account);
}

std::uint64_t SchedulerWatch::Waited() noexcept {
  std::uint64_t sum = 0;
  for (Thread& thread : threads_) {
    if (const auto time = ReadAccount(thread.account)) {
      thread.waited = std::max(thread.waited, time->waiting);
    }
    sum += thread.waited;
  }
  return sum;
}

}  // namespace topdnn
