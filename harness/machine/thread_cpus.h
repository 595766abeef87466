// The CPUs that threads of this process may use.

#ifndef TOPDNN_HARNESS_MACHINE_THREAD_CPUS_H_
#define TOPDNN_HARNESS_MACHINE_THREAD_CPUS_H_

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace topdnn {

// Binds the calling thread to one CPU. Returns 0 or an errno.
int BindThisThread(int cpu);

// Binds all threads of another process to these CPUs, as far as the kernel permits it: threads that
// have ended are skipped, and a thread keeps its CPUs if all the new ones are offline. A thread
// that starts meanwhile inherits the CPUs of its creator or is found in a second pass.
void BindProcess(pid_t process, std::span<const int> cpus);

// A division of CPUs between measured threads and others.
struct CpuDivision {
  std::vector<int> measured, others;
  // Whether a measured CPU and another one are hyperthreads of one core.
  bool share_cores = false;
};

// `cores`: the CPUs of each core. The measured threads get one CPU of each core in turn, then the
// second ones. The others get one CPU of each core that is left, and the hyperthreads that are left
// only if there is no such core. Pure.
CpuDivision DivideCpus(const std::vector<std::vector<int>>& cores, int threads);

// Keeps all threads of the process on these CPUs, for its lifetime, except threads that bind
// themselves. Threads that start meanwhile inherit these CPUs; afterwards they get the CPUs that
// the calling thread had before.
class ProcessOnCpus {
 public:
  explicit ProcessOnCpus(std::span<const int> cpus);
  ~ProcessOnCpus();
  ProcessOnCpus(const ProcessOnCpus&) = delete;
  ProcessOnCpus& operator=(const ProcessOnCpus&) = delete;

  // Why the threads are not kept there; empty if they are.
  const std::string& failure() const { return failure_; }

 private:
  struct ThreadMask {
    int thread = 0;
    std::vector<unsigned long> mask;
  };
  std::vector<ThreadMask> before_;  // the calling thread's first
  std::string failure_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MACHINE_THREAD_CPUS_H_
