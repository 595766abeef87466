// A CPU for the program that a test runs. A measuring program with as many threads as CPUs waits
// long for its threads while another test runs, and disturbs that test. On separate CPUs, neither
// happens.

#ifndef TOPDNN_TESTS_PROCESS_RESERVED_CPU_H_
#define TOPDNN_TESTS_PROCESS_RESERVED_CPU_H_

#include <string>

namespace topdnn {

// Reserves one of the CPUs that this process may use. While this object exists, other objects, also
// in other test processes, reserve other CPUs. If no CPU is left, an object shares the first.
class ReservedCpu {
 public:
  // `folder` has the lock files. Throws std::system_error if they cannot be written.
  explicit ReservedCpu(const std::string& folder);
  ~ReservedCpu();
  ReservedCpu(const ReservedCpu&) = delete;
  ReservedCpu& operator=(const ReservedCpu&) = delete;

  int number() const { return cpu_; }

  // The shell command that runs `command` on this CPU alone.
  std::string Run(const std::string& command) const;

 private:
  int cpu_ = 0;
  int lock_ = -1;  // a file descriptor; -1: shared
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_PROCESS_RESERVED_CPU_H_
