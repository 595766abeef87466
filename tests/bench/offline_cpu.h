// Takes a CPU offline, for the tests of what a program does then. It disturbs every program of the
// machine, so it must be asked for: TOPDNN_OFFLINE_CPU=1.

#ifndef TOPDNN_TESTS_BENCH_OFFLINE_CPU_H_
#define TOPDNN_TESTS_BENCH_OFFLINE_CPU_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "harness/machine/cpu_set.h"

namespace topdnn {

// The last CPU that may be used, online again when the object ends, and after 30 s at the latest,
// even if the test is killed.
class OfflineCpu {
 public:
  OfflineCpu() : number_(AllowedCpus().cpus.back()) {
    if (!refusal().empty()) return;
    guard_ = fork();
    if (guard_ != 0) return;
    setpgid(0, 0);
    sleep(30);
    TakeOnline();
    _exit(0);
  }
  ~OfflineCpu() {
    if (guard_ <= 0) return;
    TakeOnline();
    kill(guard_, SIGKILL);
    waitpid(guard_, nullptr, 0);
  }
  OfflineCpu(const OfflineCpu&) = delete;
  OfflineCpu& operator=(const OfflineCpu&) = delete;

  // Why the CPU cannot be taken offline; or empty.
  std::string refusal() const {
    if (std::getenv("TOPDNN_OFFLINE_CPU") == nullptr) {
      return "it takes a CPU offline, which disturbs all programs: set TOPDNN_OFFLINE_CPU=1";
    }
    if (AllowedCpus().cpus.size() < 2 && guard_ == 0) return "this process may use one CPU";
    if (access(path().c_str(), W_OK) != 0) return path() + " cannot be written";
    return "";
  }
  int number() const { return number_; }
  void TakeOffline() const { std::ofstream(path()) << 0; }
  void TakeOnline() const { std::ofstream(path()) << 1; }

 private:
  std::string path() const {
    return "/sys/devices/system/cpu/cpu" + std::to_string(number_) + "/online";
  }

  int number_;
  pid_t guard_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_OFFLINE_CPU_H_
