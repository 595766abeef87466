#include "harness/counters/event_group.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace topdnn {

namespace {

// The threads of this process; those that end meanwhile are simply refused with ESRCH.
// `error`: why they cannot be listed.
std::vector<int> Threads(std::error_code& error) {
  std::vector<int> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = entry.path().filename().string();
    int id = 0;
    const auto [end, refused] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (refused == std::errc{} && end == name.data() + name.size()) threads.push_back(id);
  }
  return threads;
}

int OpenEvent(const PerfEvent& event, PerfScope scope, int thread, int leader) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.disabled = leader < 0 ? 1 : 0;
  attr.exclude_kernel = scope == PerfScope::kUser ? 1 : 0;
  attr.exclude_hv = 1;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attr, thread, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

EventGroup::~EventGroup() { Close(); }

void EventGroup::Close() {
  for (const int fd : members_) close(fd);
  for (const int fd : leaders_) close(fd);
  members_.clear();
  leaders_.clear();
}

int EventGroup::OpenOn(int thread, std::span<const PerfEvent> events, PerfScope scope) {
  int leader = -1;
  for (const PerfEvent& event : events) {
    const int fd = OpenEvent(event, scope, thread, leader);
    if (fd < 0) return errno;
    if (leader < 0) {
      leader = fd;
      leaders_.push_back(fd);
    } else {
      members_.push_back(fd);
    }
  }
  return ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0 ? 0 : errno;
}

int EventGroup::Open(std::span<const PerfEvent> events, PerfScope scope, bool all_threads) {
  Close();
  if (events.empty() || events.size() > kMostEvents) return EINVAL;
  events_ = events.size();
  std::error_code unlisted;
  const std::vector<int> threads = all_threads ? Threads(unlisted) : std::vector<int>{0};
  if (unlisted) return unlisted.value();
  for (const int thread : threads) {
    const int error = OpenOn(thread, events, scope);
    if (error == 0 || (error == ESRCH && all_threads)) continue;
    Close();
    return error;
  }
  return leaders_.empty() ? ESRCH : 0;
}

void EventGroup::Read(std::uint64_t* raw) const noexcept {
  std::fill_n(raw, slots(), std::uint64_t{0});
  std::array<std::uint64_t, 3 + kMostEvents> values;  // events, enabled, running, count...
  const auto bytes = static_cast<ssize_t>((3 + events_) * sizeof(std::uint64_t));
  for (const int leader : leaders_) {
    if (read(leader, values.data(), sizeof values) != bytes) {
      std::fill_n(raw, slots(), std::uint64_t{0});
      return;
    }
    for (std::size_t i = 0; i < events_; ++i) raw[i] += values[3 + i];
    raw[events_] += values[1];
    raw[events_ + 1] += values[2];
  }
}

}  // namespace topdnn
