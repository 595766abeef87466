#include "tests/process/reserved_cpu.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "harness/machine/cpu_set.h"

namespace topdnn {

ReservedCpu::ReservedCpu(const std::string& folder) {
  const std::vector<int> cpus = AllowedCpus().cpus;
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

}  // namespace topdnn
