// The CPUs that this process may run on, and how many threads to take of them.

#ifndef TOPDNN_HARNESS_MACHINE_CPU_SET_H_
#define TOPDNN_HARNESS_MACHINE_CPU_SET_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace topdnn {

struct CpuSet {
  std::vector<int> cpus;  // the operating system's numbers, ascending; never empty
  std::string doubt;      // why these are not surely the allowed ones; empty: they are
};

// sched_getaffinity(2) for the calling thread, with a mask of so many bytes: 0 or an errno.
using AffinityCall = std::function<int(std::size_t bytes, void* mask)>;

// The affinity mask of the calling thread, for any number of CPUs. Where the system call is denied
// (a container's seccomp filter) it is every CPU that is online, with the doubt.
CpuSet AllowedCpus();
CpuSet AllowedCpus(const AffinityCall& affinity, int online);

// Threads to run by default: as many as CPUs allowed, but not more than a control group's quota of
// CPU time (rounded down, at least 1), beyond which the kernel stops all of them. Pure.
int DefaultThreads(int allowed, const std::optional<double>& cpu_quota);
// What the quota does to a run of so many threads; empty when it does not limit the CPUs allowed.
std::string QuotaNote(int threads, int allowed, const std::optional<double>& cpu_quota);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CPU_SET_H_
