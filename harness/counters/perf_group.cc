#include "harness/counters/perf_group.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "harness/counters/user_read.h"

namespace topdnn {

namespace {

bool IsOfMetrics(const ResolvedEvent& event) {
  return NeedsSlots(event) || (event.type == PERF_TYPE_RAW && event.config == kSlotsConfig);
}

perf_event_attr AttributesOf(const ResolvedEvent& event, PerfModes modes, bool leads) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.disabled = leads ? 1 : 0;  // members start with their leader
  attr.exclude_kernel = modes == PerfModes::kUser ? 1 : 0;
  attr.exclude_hv = modes == PerfModes::kAll ? 0 : 1;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attr;
}

}  // namespace

OpenOutcome PerfGroup::Open(std::span<const ResolvedEvent> events, PerfScope scope) {
  Close();
  own_thread_ = scope.thread == 0 && scope.cpu < 0;
  metrics_ = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const perf_event_attr attr = AttributesOf(events[i], scope.modes, i == 0);
    const int fd = calls_.open(attr, scope.thread, scope.cpu, fds_.empty() ? -1 : fds_.front());
    if (fd < 0) {
      Close();
      return {-fd, i};
    }
    fds_.push_back(fd);
    metrics_ = metrics_ || IsOfMetrics(events[i]);
  }
  if (fds_.empty()) return {EINVAL, 0};
  const int error = calls_.control(fds_.front(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  if (error < 0) {
    Close();
    return {-error, 0};
  }
  return {};
}

bool PerfGroup::MapForUser() {
  if (fds_.empty() || metrics_ || !own_thread_ || !calls_.map) return false;
  for (const int fd : fds_) {
    const perf_event_mmap_page* page = calls_.map(fd);
    if (page != nullptr) pages_.push_back(page);
    if (page == nullptr || !IsReadableByUser(*page)) {
      Unmap();
      return false;
    }
  }
  return true;
}

std::size_t PerfGroup::slots() const {
  return pages_.empty() ? 3 + fds_.size() : UserSlots(fds_.size());
}

void PerfGroup::Unmap() {
  for (const perf_event_mmap_page* page : pages_) calls_.unmap(page);
  pages_.clear();
}

void PerfGroup::Close() {
  Unmap();
  for (const int fd : fds_) calls_.close(fd);
  fds_.clear();
}

bool PerfGroup::ReadRaw(std::uint64_t* raw) const noexcept {
  if (fds_.empty()) return false;
  // The kernel must read an event that is currently off its counter.
  if (!pages_.empty() && ReadUserGroup(pages_, raw)) return true;
  const std::size_t bytes = (3 + fds_.size()) * sizeof *raw;  // events, enabled, running, count...
  return calls_.read(fds_.front(), raw, bytes) == static_cast<ssize_t>(bytes);
}

std::vector<CounterReading> PerfGroup::Decode(std::span<const std::uint64_t> raw) const {
  std::vector<CounterReading> readings;
  if (raw.size() != slots() || fds_.empty()) return readings;
  const bool by_user = !pages_.empty() && (raw[0] & kUserReading) != 0;
  const std::size_t events = fds_.size();
  if (raw[0] != (by_user ? kUserReading | events : events)) return readings;
  const UserTimes times =
      by_user ? UserTimesOf(raw[1], raw[2], raw[3 + events], raw[4 + events], *pages_.front())
              : UserTimes{.enabled = raw[1], .running = raw[2]};
  for (std::size_t i = 0; i < events; ++i) {
    readings.push_back({raw[3 + i], times.enabled, times.running});
  }
  return readings;
}

std::vector<CounterReading> PerfGroup::Read() const {
  std::vector<std::uint64_t> raw(slots());
  return ReadRaw(raw.data()) ? Decode(raw) : std::vector<CounterReading>{};
}

Trial TryGroup(const PerfSyscalls& calls, std::span<const ResolvedEvent> events,
               const std::function<void()>& work) {
  Trial trial;
  PerfGroup group(calls);
  trial.outcome = group.Open(events);
  if (trial.outcome.error != 0) {
    trial.verdict = TrialVerdict::kRefused;
    return trial;
  }
  const auto before = group.Read();
  work();
  const auto after = group.Read();
  if (before.empty() || after.empty()) trial.verdict = TrialVerdict::kNeverRuns;
  if (before.empty() || after.empty()) return trial;
  for (std::size_t i = 0; i < after.size(); ++i) {
    trial.counts.push_back(CountBetween(before[i], after[i]));
    const EventCount& count = trial.counts.back();
    if (!count.value) {
      trial.verdict = TrialVerdict::kNeverRuns;
    } else if (count.running_fraction < 1 && trial.verdict == TrialVerdict::kCounts) {
      trial.verdict = TrialVerdict::kMultiplexed;
    }
  }
  return trial;
}

}  // namespace topdnn
