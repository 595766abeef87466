// Why the kernel refuses to open a counter, and what the user can do about it: a table by errno
// (perf_event_open(2), "ERRORS"), with conditions if an errno has several causes.

#ifndef TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_
#define TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_

#include <string>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/counters/source.h"

namespace topdnn {

// The conditions that distinguish the causes of perf_event_open's errors.
struct PerfSurroundings {
  int paranoid = 2;               // kernel.perf_event_paranoid
  bool seccomp_filtered = false;  // the process runs under a seccomp filter
  bool virtual_machine = false;   // CPUID reports a hypervisor
  bool capable = false;           // CAP_PERFMON or CAP_SYS_ADMIN is effective
  bool container = false;         // the process runs in a container
  bool watchdog = false;  // kernel.nmi_watchdog: the NMI watchdog uses a counter of every CPU
  static PerfSurroundings Here();  // of this process, read anew
};

// A CPU's events belong to threads. The memory controllers' events belong to whole sockets, and
// need a lower kernel.perf_event_paranoid.
enum class PerfTarget { kThreads, kSockets };

// Why an event was refused, and what would help. `what` names the events: "hardware events". Error
// 0 means that the events open but never get on a counter. Pure.
Availability ExplainRefusal(int error, const PerfSurroundings& here, const std::string& what,
                            PerfTarget target = PerfTarget::kThreads);

// The same in one line, "REASON; REMEDY", as the reason of absent counts.
std::string RefusalText(int error, const PerfSurroundings& here, const std::string& what,
                        PerfTarget target = PerfTarget::kThreads);

// Whether a kernel that refused an event (EINVAL) did so because of attr.inherit_thread, which
// Linux 5.13 introduced: it opens the event without that bit.
bool RefusesInheritThread(const PerfSyscalls& calls, perf_event_attr attr, pid_t thread);

// The counts of a source that is not open: all absent, with this reason.
std::vector<EventCount> AbsentCounts(std::size_t events, const std::string& reason);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_
