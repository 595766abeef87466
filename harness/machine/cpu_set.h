// The CPUs that this process may run on, and the number of threads to use.

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
  std::string doubt;      // why these may not be the allowed CPUs; empty if they are
};

// Calls sched_getaffinity(2) for the calling thread, with a mask of this many bytes. Returns 0 or
// an errno.
using AffinityCall = std::function<int(std::size_t bytes, void* mask)>;

// The affinity mask of the calling thread, for any number of CPUs. If the system call is denied (by
// a container's seccomp filter), it is every online CPU, with a doubt.
CpuSet AllowedCpus();
CpuSet AllowedCpus(const AffinityCall& affinity, int online);

// The default number of threads: as many as allowed CPUs, but at most the control group's quota of
// CPU time (rounded down, at least 1). With more threads the kernel would stop all of them. Pure.
int DefaultThreads(int allowed, const std::optional<double>& cpu_quota);
// A note on the effect of the quota on a run with this many threads; empty if it does not limit the
// allowed CPUs.
std::string QuotaNote(int threads, int allowed, const std::optional<double>& cpu_quota);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_CPU_SET_H_
