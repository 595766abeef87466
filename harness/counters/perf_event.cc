#include "harness/counters/perf_event.h"

#include <perfmon/pfmlib_perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "harness/counters/sysfs_pmu.h"
#include "harness/counters/user_read.h"

namespace topdnn {

namespace {

std::optional<ResolvedEvent> ResolveBySysfs(const std::string& name, const std::string& sysfs,
                                            const std::string& pmu_name) {
  for (const SysfsPmu& pmu : ReadPmus(sysfs)) {
    std::ifstream file(pmu.folder / "events" / name);
    std::string terms;
    if ((!pmu_name.empty() && pmu.name != pmu_name) || !(file >> terms)) continue;
    if (const auto config = ConfigOf(terms, pmu.folder)) {
      return ResolvedEvent{name, pmu.type, *config, "sysfs"};
    }
  }
  return std::nullopt;
}

std::optional<ResolvedEvent> ResolveByLibpfm4(const std::string& name) {
  static const bool ready = pfm_initialize() == PFM_SUCCESS;
  if (!ready) return std::nullopt;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t encode{};
  encode.size = sizeof encode;
  encode.attr = &attr;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_PERF_EVENT, &encode) !=
      PFM_SUCCESS) {
    return std::nullopt;
  }
  return ResolvedEvent{name, attr.type, attr.config, "libpfm4"};
}

}  // namespace

PerfSyscalls PerfSyscalls::Real() {
  return {.open =
              [](const perf_event_attr& attr, pid_t thread, int group) {
                const long fd =
                    syscall(SYS_perf_event_open, &attr, thread, -1, group, PERF_FLAG_FD_CLOEXEC);
                return fd < 0 ? -errno : static_cast<int>(fd);
              },
          .read =
              [](int fd, void* buffer, std::size_t bytes) {
                const ssize_t got = ::read(fd, buffer, bytes);
                return got < 0 ? static_cast<ssize_t>(-errno) : got;
              },
          .control =
              [](int fd, unsigned long request, unsigned long argument) {
                return ioctl(fd, request, argument) < 0 ? -errno : 0;
              },
          .close = [](int fd) { ::close(fd); },
          .map = [](int fd) -> const perf_event_mmap_page* {
            const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
            void* page = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
            return page == MAP_FAILED ? nullptr : static_cast<perf_event_mmap_page*>(page);
          },
          .unmap =
              [](const perf_event_mmap_page* page) {
                munmap(const_cast<perf_event_mmap_page*>(page),
                       static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
              },
          .open_on_cpu =
              [](const perf_event_attr& attr, int cpu, int group) {
                constexpr pid_t kAnyThread = -1;
                const long fd = syscall(SYS_perf_event_open, &attr, kAnyThread, cpu, group,
                                        PERF_FLAG_FD_CLOEXEC);
                return fd < 0 ? -errno : static_cast<int>(fd);
              }};
}

std::optional<ResolvedEvent> ResolveEvent(const std::string& name, std::optional<std::uint64_t> raw,
                                          const std::string& sysfs, const std::string& pmu) {
  if (auto event = ResolveByLibpfm4(name)) return event;
  if (raw) return ResolvedEvent{name, PERF_TYPE_RAW, *raw, "raw"};
  return ResolveBySysfs(name, sysfs, pmu);
}

bool NeedsSlots(const ResolvedEvent& event) {
  return event.type == PERF_TYPE_RAW && event.config >= 0x8000 && event.config <= 0x8700 &&
         (event.config & 0xFF) == 0;
}

OpenOutcome PerfGroup::Open(std::span<const ResolvedEvent> events, pid_t thread, bool inherit) {
  Close();
  inherit_ = inherit;
  own_thread_ = thread == 0;
  metrics_ = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = events[i].type;
    attr.config = events[i].config;
    attr.disabled = i == 0 ? 1 : 0;
    attr.inherit = inherit ? 1 : 0;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (!inherit) attr.read_format |= PERF_FORMAT_GROUP;
    const int fd = calls_.open(attr, thread, fds_.empty() ? -1 : fds_.front());
    if (fd < 0) {
      Close();
      return {-fd, i};
    }
    fds_.push_back(fd);
    metrics_ = metrics_ || NeedsSlots(events[i]) ||
               (events[i].type == PERF_TYPE_RAW && events[i].config == kSlotsConfig);
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
  if (fds_.empty() || inherit_ || metrics_ || !own_thread_ || !calls_.map) return false;
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
  if (inherit_) return 3 * fds_.size();
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
  // (an event off its counter for the moment has to be asked of the kernel)
  if (!pages_.empty() && ReadUserGroup(pages_, raw)) return true;
  if (!inherit_) {  // events, enabled, running, count...
    const std::size_t bytes = (3 + fds_.size()) * sizeof *raw;
    return calls_.read(fds_.front(), raw, bytes) == static_cast<ssize_t>(bytes);
  }
  for (const int fd : fds_) {  // count, enabled, running
    constexpr std::size_t kBytes = 3 * sizeof *raw;
    if (calls_.read(fd, raw, kBytes) != static_cast<ssize_t>(kBytes)) return false;
    raw += 3;
  }
  return true;
}

std::vector<CounterReading> PerfGroup::Decode(std::span<const std::uint64_t> raw) const {
  std::vector<CounterReading> readings;
  if (raw.size() != slots() || fds_.empty()) return readings;
  const bool by_user = !inherit_ && !pages_.empty() && (raw[0] & kUserReading) != 0;
  const std::size_t events = fds_.size();
  if (!inherit_ && raw[0] != (by_user ? kUserReading | events : events)) return readings;
  const UserTimes times =
      by_user ? UserTimesOf(raw[1], raw[2], raw[3 + events], raw[4 + events], *pages_.front())
              : UserTimes{.enabled = raw[1], .running = raw[2]};
  for (std::size_t i = 0; i < fds_.size(); ++i) {
    readings.push_back(inherit_ ? CounterReading{raw[3 * i], raw[3 * i + 1], raw[3 * i + 2]}
                                : CounterReading{raw[3 + i], times.enabled, times.running});
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
  trial.outcome = group.Open(events, 0, false);
  if (trial.outcome.error != 0) {
    trial.verdict = TrialVerdict::kRefused;
    return trial;
  }
  const auto before = group.Read();
  work();
  const auto after = group.Read();
  if (before.empty() || after.empty()) {
    trial.verdict = TrialVerdict::kNeverRuns;
    return trial;
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    const EventCount count = CountBetween(before[i], after[i]);
    if (!count.value) {
      trial.verdict = TrialVerdict::kNeverRuns;
      return trial;
    }
    if (count.running_fraction < 1) trial.verdict = TrialVerdict::kMultiplexed;
    if (*count.value == 0) trial.dead.push_back(i);
  }
  return trial;
}

}  // namespace topdnn
