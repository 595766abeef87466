// Hardware events for perf_event_open(2): resolves names to codes, and holds the system calls in a
// table, so that a test can script every failure.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/statistics/counting.h"

namespace topdnn {

// Each returns the system call's result, or -errno.
struct PerfSyscalls {
  std::function<int(const perf_event_attr& attr, pid_t thread, int cpu, int group)> open;
  std::function<ssize_t(int fd, void* buffer, std::size_t bytes)> read;
  std::function<int(int fd, unsigned long request, unsigned long argument)> control;
  std::function<void(int fd)> close;
  // Maps the first page of an event (perf_event_open(2), "MMAP layout"); nullptr if refused.
  std::function<const perf_event_mmap_page*(int fd)> map = {};
  std::function<void(const perf_event_mmap_page* page)> unmap = {};
  static PerfSyscalls Real();
};

struct ResolvedEvent {
  std::string name;
  std::uint32_t type = 0;    // perf_event_attr.type
  std::uint64_t config = 0;  // perf_event_attr.config
  std::string by;            // "libpfm4", "raw", "sysfs", "kernel"
};

// Resolves a name, in order of preference: libpfm4's code for it; the raw code (of the core's PMU),
// if given; the code that the kernel lists in sysfs (`slots`, `topdown-retiring`; `sysfs`:
// /sys/bus/event_source/devices; only of the PMU `pmu`, if given). Absent if there is none.
std::optional<ResolvedEvent> ResolveEvent(const std::string& name, std::optional<std::uint64_t> raw,
                                          const std::string& sysfs, const std::string& pmu = "");

// The Top-Down slots of Intel's cores since Ice Lake, and whether an event is one of the metrics in
// PERF_METRICS (pseudo-events 0x8000 to 0x8700), which count only in a group led by slots.
inline constexpr std::uint64_t kSlotsConfig = 0x400;
bool NeedsSlots(const ResolvedEvent& event);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_
