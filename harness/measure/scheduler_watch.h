// How long the threads of this process waited for a CPU, read between two samples: the accounts
// stay open, so a reading takes one system call per thread (about 1.6 us on a virtual machine), and
// allocates nothing.

#ifndef TOPDNN_HARNESS_MEASURE_SCHEDULER_WATCH_H_
#define TOPDNN_HARNESS_MEASURE_SCHEDULER_WATCH_H_

#include <cstdint>
#include <filesystem>
#include <vector>

namespace topdnn {

class SchedulerWatch {
 public:
  // Of the threads that the process has now. `tasks`: for tests.
  explicit SchedulerWatch(const std::filesystem::path& tasks = "/proc/self/task");
  ~SchedulerWatch();
  SchedulerWatch(const SchedulerWatch&) = delete;
  SchedulerWatch& operator=(const SchedulerWatch&) = delete;

  // Whether the kernel keeps these accounts, and there are not so many threads that a reading would
  // last long.
  bool works() const { return !threads_.empty(); }

  // The sum over the threads of the time for which they were ready to run while another thread had
  // the CPU, in nanoseconds. A thread that has ended keeps its last account. Never decreases.
  std::uint64_t Waited() noexcept;

  // The median time of a reading.
  double cost_seconds() const { return cost_seconds_; }

 private:
  struct Thread {
    int account;  // a descriptor of its schedstat
    std::uint64_t waited;
  };

  std::vector<Thread> threads_;
  double cost_seconds_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_SCHEDULER_WATCH_H_
