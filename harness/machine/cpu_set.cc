#include "harness/machine/cpu_set.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

namespace topdnn {

CpuSet AllowedCpus(const AffinityCall& affinity, int online) {
  int error = EINVAL;
  // The kernel refuses a mask shorter than its own with EINVAL: try larger masks until one fits.
  for (int capacity = 1024; capacity <= 1 << 20 && error == EINVAL; capacity *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(capacity),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    CPU_ZERO_S(bytes, set.get());
    error = affinity(bytes, set.get());
    if (error != 0) continue;
    CpuSet allowed;
    for (int cpu = 0; cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) allowed.cpus.push_back(cpu);
    }
    if (!allowed.cpus.empty()) return allowed;
  }
  CpuSet all;
  all.cpus.resize(static_cast<std::size_t>(std::max(online, 1)));
  std::iota(all.cpus.begin(), all.cpus.end(), 0);
  all.doubt = fmt::format(
      "the allowed CPUs are not known (sched_getaffinity: {}), so all {} online CPUs are used; "
      "allow the system call, or set --threads",
      std::strerror(error), all.cpus.size());
  return all;
}

CpuSet AllowedCpus() {
  return AllowedCpus(
      [](std::size_t bytes, void* mask) {
        return sched_getaffinity(0, bytes, static_cast<cpu_set_t*>(mask)) == 0 ? 0 : errno;
      },
      static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int DefaultThreads(int allowed, const std::optional<double>& cpu_quota) {
  if (!cpu_quota || *cpu_quota >= allowed) return allowed;
  return std::max(1, static_cast<int>(std::floor(*cpu_quota)));
}

std::string QuotaNote(int threads, int allowed, const std::optional<double>& cpu_quota) {
  if (!cpu_quota || *cpu_quota >= allowed) return "";
  if (threads <= *cpu_quota) {
    return fmt::format("{} of {} CPUs: the control group's quota is {:.2f} CPUs", threads, allowed,
                       *cpu_quota);
  }
  return fmt::format(
      "{} threads under a control group's quota of {:.2f} CPUs: the kernel stops them "
      "repeatedly; raise the quota{}",
      threads, *cpu_quota,
      threads > 1 ? fmt::format(", or use --threads {}", DefaultThreads(allowed, cpu_quota)) : "");
}

}  // namespace topdnn
