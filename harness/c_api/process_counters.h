// Counters of the kernel and the PMU over all threads of the process, with those that start while
// they count. CPU time, page faults and context switches are those that the kernel counts of every
// process. The others are events of perf: each thread's event is inherited by the threads that it
// starts (perf_event_open(2), `inherit`). A PerfSource counts the threads that exist at its Begin,
// and reads groups, which the kernel does not allow for inherited events.

#ifndef TOPDNN_HARNESS_C_API_PROCESS_COUNTERS_H_
#define TOPDNN_HARNESS_C_API_PROCESS_COUNTERS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/statistics/counting.h"

namespace topdnn {

class ProcessCounters {
 public:
  // Throws InputError for a name that neither the kernel nor libpfm4 knows.
  explicit ProcessCounters(const std::vector<std::string>& events,
                           PerfSyscalls calls = PerfSyscalls::Real());
  ~ProcessCounters() { Close(); }
  ProcessCounters(const ProcessCounters&) = delete;
  ProcessCounters& operator=(const ProcessCounters&) = delete;

  const std::vector<std::string>& events() const { return names_; }
  void Start();
  // One count per event since Start, over all threads; absent with the reason if it was not counted
  // on each of them.
  std::vector<EventCount> Stop();

 private:
  struct Event {
    double (*of_process)() = nullptr;  // what the kernel counts of every process, or
    ResolvedEvent event{};             // an event of perf
    std::optional<double> before{};    // of_process() at Start
    std::vector<int> threads{};        // descriptors of perf
    std::string refused{};             // why it is not counted
  };

  void Close();
  bool OpenOn(pid_t thread, Event& event);

  PerfSyscalls calls_;
  std::vector<std::string> names_;
  std::vector<Event> events_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_C_API_PROCESS_COUNTERS_H_
