#include "tests/process/reserved_cpu.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace topdnn {

namespace {

// Of the first CPU_SETSIZE (1,024) CPUs.
std::vector<int> UsableCpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {0};
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

ReservedCpu::ReservedCpu(const std::string& folder) {
  const std::vector<int> cpus = UsableCpus();
  for (const int cpu : cpus) {
    const std::string path = folder + "/reserved_cpu_" + std::to_string(cpu) + ".lock";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) throw std::system_error(errno, std::generic_category(), path);
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
      cpu_ = cpu;
      lock_ = file;
      return;
    }
    close(file);
  }
  cpu_ = cpus.front();
}

ReservedCpu::~ReservedCpu() {
  if (lock_ >= 0) close(lock_);
}

std::string ReservedCpu::Run(const std::string& command) const {
  return "taskset --cpu-list " + std::to_string(cpu_) + " " + command;
}

int UsableCpuCount() { return static_cast<int>(UsableCpus().size()); }

}  // namespace topdnn
