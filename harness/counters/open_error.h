// Why the kernel refuses to open a counter, and what the user can do about it: a table by errno
// (perf_event_open(2), "ERRORS"), with the circumstances that give one errno several causes.

#ifndef TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_
#define TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_

#include <string>
#include <vector>

#include "harness/counters/source.h"

namespace topdnn {

// What perf_event_open's refusal depends on.
struct PerfSurroundings {
  int paranoid = 2;               // kernel.perf_event_paranoid
  bool seccomp_filtered = false;  // the process runs under a seccomp filter
  bool virtual_machine = false;   // CPUID reports a hypervisor
  bool capable = false;           // CAP_PERFMON or CAP_SYS_ADMIN is effective
  bool container = false;         // a container manager left its mark
  bool watchdog = false;          // kernel.nmi_watchdog: it holds a counter of every CPU
  static PerfSurroundings Here();
};

// The events of a CPU are of its threads; those of the memory controllers are of whole sockets, and
// need a lower kernel.perf_event_paranoid.
enum class PerfTarget { kThreads, kSockets };

// Why an event was refused, and what would help. `what` names the events: "hardware events". Error
// 0 stands for events that open and never get on a counter. Pure.
Availability ExplainRefusal(int error, const PerfSurroundings& here, const std::string& what,
                            PerfTarget target = PerfTarget::kThreads);

// The same in one line, "REASON; REMEDY", for the counts that are absent because of it.
std::string RefusalText(int error, const PerfSurroundings& here, const std::string& what,
                        PerfTarget target = PerfTarget::kThreads);

// The counts of a source that is not open: absent, each with the reason.
std::vector<EventCount> AbsentCounts(std::size_t events, const std::string& reason);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_OPEN_ERROR_H_
