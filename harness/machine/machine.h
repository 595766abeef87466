// The machine that a measurement was made on. Every report includes it, since figures are only
// comparable together with their machine.

#ifndef TOPDNN_HARNESS_MACHINE_MACHINE_H_
#define TOPDNN_HARNESS_MACHINE_MACHINE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/cgroup.h"
#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "harness/machine/isa.h"
#include "harness/machine/topology.h"

namespace topdnn {

struct Machine {
  Cpu cpu;
  std::vector<IsaVerdict> isas;
  Topology topology;
  CgroupLimits cgroup;
  std::int64_t available_memory = 0;  // bytes: the smaller of the machine's and the control group's
  Frequency tsc;
  std::optional<Frequency> core_clock;  // absent if the architecture has no known chain
  std::string operating_system;         // "Linux 6.1.0-13-amd64 x86_64"
  std::string microcode;                // its version; empty: not known
  std::vector<std::string> doubts;      // which of the values above cannot be trusted, and why
};

// Takes about 30 ms, most of it for the clocks. Throws std::runtime_error if the topology cannot be
// read.
Machine DescribeMachine();

// Bytes that this process can still allocate, according to the kernel and the control group.
// Without /proc/meminfo (a minimal chroot) only free memory counts, not what the page cache would
// give back.
std::int64_t AvailableMemory();

// Whether a limit of this process (ulimit -v, ulimit -d) may refuse memory that is available. Uses
// no objects with constructors: start_limits.cc calls it before any constructor.
bool MemoryIsLimited();

// The host's name; "unknown" if the kernel does not give it.
std::string HostName();

nlohmann::ordered_json ToJson(const Machine& machine);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_MACHINE_H_
