#include "harness/c_api/process_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_source.h"
#include "harness/counters/sysfs_pmu.h"
#include "harness/text/errors.h"
#include "harness/text/one_line.h"

namespace topdnn {

namespace {

// (libpfm4 knows these names too, but a build of it may lack them)
constexpr std::array<std::pair<const char*, std::uint64_t>, 4> kKernelEvents = {
    {{"task-clock", PERF_COUNT_SW_TASK_CLOCK},
     {"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
     {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
     {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS}}};

ResolvedEvent Resolve(const std::string& name) {
  for (const auto& [known, config] : kKernelEvents) {
    if (name == known) return {name, PERF_TYPE_SOFTWARE, config, "kernel"};
  }
  if (auto event = ResolveEvent(name, {}, kSysfsPmus)) return *event;
  throw InputError(
      fmt::format("unknown event '{}': use task-clock, page-faults, context-switches, "
                  "cpu-migrations, or a PMU event of this CPU that libpfm4 or the kernel knows "
                  "(cycles, instructions)",
                  OneLine(name)));
}

}  // namespace

ProcessCounters::ProcessCounters(const std::vector<std::string>& events, PerfSyscalls calls)
    : calls_(std::move(calls)), names_(events) {
  if (events.empty()) throw InputError("there is no event to count: name one");
  for (const std::string& name : events) {
    events_.push_back({.event = Resolve(name), .threads = {}, .refused = ""});
  }
}

void ProcessCounters::Close() {
  for (Event& event : events_) {
    for (const int fd : event.threads) calls_.close(fd);
    event.threads.clear();
  }
}

// Returns whether the thread still exists. The kernel's events happen in the kernel, so they are
// counted there, too.
bool ProcessCounters::OpenOn(pid_t thread, Event& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.event.type;
  attr.config = event.event.config;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.inherit_thread = 1;  // not the processes that it starts
  attr.exclude_kernel = attr.type == PERF_TYPE_SOFTWARE ? 0 : 1;
  attr.exclude_hv = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int fd = calls_.open(attr, thread, -1, -1);
  if (fd == -ESRCH) return false;
  if (fd >= 0) {
    event.threads.push_back(fd);
  } else {
    event.refused = RefusalText(-fd, PerfSurroundings::Here(), event.event.name);
  }
  return true;
}

void ProcessCounters::Start() {
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    Close();
    const std::vector<pid_t> before = ThreadsOfProcess();
    bool same = true;
    for (Event& event : events_) {
      event.refused.clear();
      for (const pid_t thread : before) {
        if (event.refused.empty()) same = OpenOn(thread, event) && same;
      }
    }
    // A thread that started meanwhile may have inherited the events, or not.
    if (same && ThreadsOfProcess() == before) break;
    for (Event& event : events_) event.refused = "threads started and ended all the time";
  }
  for (Event& event : events_) {
    for (const int fd : event.threads) {
      const int error = calls_.control(fd, PERF_EVENT_IOC_ENABLE, 0);
      if (error < 0)
        event.refused = RefusalText(-error, PerfSurroundings::Here(), event.event.name);
    }
  }
}

std::vector<EventCount> ProcessCounters::Stop() {
  std::vector<EventCount> counts;
  for (const Event& event : events_) {
    for (const int fd : event.threads) calls_.control(fd, PERF_EVENT_IOC_DISABLE, 0);
  }
  for (const Event& event : events_) {
    std::vector<CounterReading> before(event.threads.size());
    std::vector<CounterReading> after;
    for (const int fd : event.threads) {
      CounterReading reading;
      if (calls_.read(fd, &reading, sizeof reading) != sizeof reading) break;
      after.push_back(reading);
    }
    EventCount& count = counts.emplace_back(AbsentCount());
    if (!event.refused.empty() || event.threads.empty()) {
      count.reason = event.refused.empty() ? "counting has not started" : event.refused;
    } else if (after.size() < before.size()) {
      count.reason = "the kernel does not give the count of a thread";
    } else {
      count = SumOverThreads(before, after);
      if (!count.value) {
        count.reason =
            "the event never got on a counter: there is no real PMU, or another program "
            "holds its counters";
      } else if (count.running_fraction < 1) {
        count.reason = fmt::format("an estimate: on a counter for {:.0f} % of the time, and scaled",
                                   100 * count.running_fraction);
        count.value = Scaled(count);
      }
    }
  }
  Close();
  return counts;
}

}  // namespace topdnn
