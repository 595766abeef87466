// Events as a counter source: the groups of a plan, pass after pass, on every thread of the
// process, summed and kept by thread. The PMU's events and the kernel's software events are counted
// by it.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/counters/perf_group.h"
#include "harness/counters/perf_plan.h"
#include "harness/counters/source.h"

namespace topdnn {

// What sets one such source apart from another.
struct PerfKind {
  std::string name = "perf";
  std::string what = "hardware events";  // for messages
  PerfModes modes = PerfModes::kUser;
  bool by_thread = true;  // whether FoldThreads keeps the threads apart
};

class PerfSource final : public CounterSource {
 public:
  // `threads`: those to count, the calling one first, as 0; unless given, ThreadsOfProcess.
  PerfSource(PerfSyscalls calls, PerfPlan plan, std::function<std::vector<pid_t>()> threads = {},
             PerfKind kind = {});

  std::string_view name() const override { return kind_.name; }
  // The events of all passes, each pass's followed by those on other core types. An event that
  // several passes count stands once for each, from the second on as "NAME#2", so that the passes
  // can be held against each other.
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t passes() const override { return plan_.passes.size(); }
  std::size_t pass_of(std::size_t event) const override { return pass_of_[event]; }
  void Begin(std::size_t pass) override;
  void End() override;
  std::size_t slots() const override;
  void Read(std::uint64_t* raw) noexcept override;
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override;
  std::vector<ThreadCounts> FoldThreads(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after) const override;

 private:
  // A thread's group of the pass, and one for each event on another core type.
  using Worker = std::vector<std::unique_ptr<PerfGroup>>;
  // What two readings say of one event, a thread each.
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
  std::vector<std::size_t> first_of_;  // event index of each pass's first
  std::vector<Worker> workers_;        // one a thread
  std::size_t pass_ = 0;
  std::string refused_;  // why the groups of this pass are not open
};

// The threads of this process, the calling one first, as 0 (perf_event_open(2): this thread).
// Throws std::filesystem::filesystem_error where the kernel does not list them.
std::vector<pid_t> ThreadsOfProcess();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_SOURCE_H_
