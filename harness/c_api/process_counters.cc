#include "harness/c_api/process_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

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

// What the kernel counts of every process since its start, over all its threads, also those that
// have ended. It needs no permission, and perf's events do. Besides, perf's inherited `task-clock`
// read up to 1.6 times the CPU time in 1 of 60 runs beside busy neighbours (Linux 6.18).
double CpuNanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

rusage Usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double PageFaults() {
  const rusage usage = Usage();
  return static_cast<double>(usage.ru_minflt + usage.ru_majflt);
}

double ContextSwitches() {
  const rusage usage = Usage();
  return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

constexpr std::array<std::pair<const char*, double (*)()>, 3> kProcessCounts = {
    {{"task-clock", CpuNanoseconds},
     {"page-faults", PageFaults},
     {"context-switches", ContextSwitches}}};

double (*ProcessCount(const std::string& name))() {
  for (const auto& [known, count] : kProcessCounts) {
    if (name == known) return count;
  }
  return nullptr;
}

ResolvedEvent Resolve(const std::string& name) {
  // (libpfm4 knows this name too, but a build of it may lack it)
  if (name == "cpu-migrations") {
    return {name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, "kernel"};
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
    if (const auto count = ProcessCount(name)) {
      events_.push_back({.of_process = count});
    } else {
      events_.push_back({.event = Resolve(name)});
    }
  }
}

void ProcessCounters::Close() {
  for (Event& event : events_) {
    for (const int fd : event.threads) calls_.close(fd);
    event.threads.clear();
    event.before.reset();
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
  } else if (fd == -EINVAL && RefusesInheritThread(calls_, attr, thread)) {
    // Without the bit the count would include the processes that this one starts.
    event.refused = fmt::format(
        "{} needs Linux 5.13 or later, to be counted on threads that start later (inherit_thread); "
        "task-clock, page-faults and context-switches do not",
        event.event.name);
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
      if (event.of_process != nullptr) continue;
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
  for (Event& event : events_) {
    if (event.of_process != nullptr) event.before = event.of_process();
  }
}

std::vector<EventCount> ProcessCounters::Stop() {
  std::vector<EventCount> counts(events_.size(), AbsentCount());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i].before) counts[i] = {.value = events_[i].of_process() - *events_[i].before};
  }
  for (const Event& event : events_) {
    for (const int fd : event.threads) calls_.control(fd, PERF_EVENT_IOC_DISABLE, 0);
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    EventCount& count = counts[i];
    if (count.value) continue;
    std::vector<CounterReading> before(event.threads.size());
    std::vector<CounterReading> after;
    for (const int fd : event.threads) {
      CounterReading reading;
      if (calls_.read(fd, &reading, sizeof reading) != sizeof reading) break;
      after.push_back(reading);
    }
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
