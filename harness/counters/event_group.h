// Why the kernel refuses to open an event, and what the user can do about it.

#ifndef TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_
#define TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_

#include <string>

#include "harness/counters/source.h"

namespace topdnn {

// What perf_event_open's refusal depends on.
struct PerfSurroundings {
  int paranoid = 2;               // kernel.perf_event_paranoid
  bool seccomp_filtered = false;  // the process runs under a seccomp filter
  bool virtual_machine = false;   // CPUID tells of a hypervisor
  bool capable = false;           // CAP_PERFMON or CAP_SYS_ADMIN is effective
  bool container = false;         // a container manager left its mark
  bool watchdog = false;          // kernel.nmi_watchdog: it holds a counter of every CPU
  static PerfSurroundings Here();
};

// Why an event was refused, and what would help. `what` names the events: "hardware events". Error
// 0 stands for events that open and never get on a counter.
Availability ExplainRefusal(int error, const PerfSurroundings& here, const std::string& what);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_
