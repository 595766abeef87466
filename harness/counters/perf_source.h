// perf_event events as a counter source: opens the groups of a plan, pass after pass, on every
// thread of the process, and gives counts in total and by thread. It counts the PMU's events and
// the kernel's software events.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/counters/perf_group.h"
#include "harness/counters/perf_plan.h"
#include "harness/counters/source.h"

namespace topdnn {

// The properties in which such sources differ.
struct PerfKind {
  std::string what = "hardware events";  // for messages
  PerfModes modes = PerfModes::kUser;
  bool by_thread = true;  // whether FoldThreads gives counts by thread
};

class PerfSource final : public CounterSource {
 public:
  // `threads`: the threads to count, the calling one first, as 0; default: ThreadsOfProcess.
  PerfSource(PerfSyscalls calls, PerfPlan plan, std::function<std::vector<pid_t>()> threads = {},
             PerfKind kind = {});

  // The events of all passes; in each pass, those on other core types come last. An event of
  // several passes is listed once for each, from the second on as "NAME#2", so that the passes can
  // be compared.
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t passes() const override { return plan_.passes.size(); }
  std::size_t pass_of(std::size_t event) const override { return pass_of_[event]; }
  // If an event of the pass cannot be opened on every thread, all counts of the pass are absent,
  // with the reason.
  void Begin(std::size_t pass) override;
  void End() override;
  std::size_t slots() const override;
  void Read(std::uint64_t* raw) noexcept override;
  // Both need the groups of the readings: call them before End.
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override;
  std::vector<ThreadCounts> FoldThreads(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after) const override;

 private:
  // A thread's group for the pass, and one for each event on another core type.
  using Worker = std::vector<std::unique_ptr<PerfGroup>>;
  // One event's readings before and after a region, one of each per thread.
  struct Readings {
    std::vector<CounterReading> before, after;
  };

  std::string RefusalOf(int error) const;
  OpenOutcome OpenOn(pid_t thread, Worker& worker);
  std::vector<EventCount> FoldWorkers(std::span<const Worker> workers,
                                      std::span<const std::uint64_t> before,
                                      std::span<const std::uint64_t> after) const;

  PerfSyscalls calls_;
  PerfPlan plan_;
  PerfKind kind_;
  std::function<std::vector<pid_t>()> threads_;
  std::vector<std::string> events_;
  std::vector<std::size_t> pass_of_;
  std::vector<std::size_t> first_of_;  // index of each pass's first event
  std::vector<Worker> workers_;        // one per thread
  std::size_t pass_ = 0;
  std::string refused_;  // why the groups of this pass are not open
  // Why an event of plan_.elsewhere, by its index, is not open on every thread. Its count is then
  // absent, because the sum would lack a thread.
  std::map<std::size_t, std::string> elsewhere_refused_;
};

// The threads of this process, the calling one first, as 0 (perf_event_open(2): this thread).
// Throws std::filesystem::filesystem_error if the kernel does not list them.
std::vector<pid_t> ThreadsOfProcess();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_
