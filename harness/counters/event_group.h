// A group of perf_event events over every thread of the process: opened together, on the counters
// together or not at all, read by one system call a thread.

#ifndef TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_
#define TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/counters/open_error.h"

namespace topdnn {

// An event as perf_event_open(2) names it: perf_event_attr.type and .config.
struct PerfEvent {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t config = 0;
};

enum class PerfScope { kUser, kUserAndKernel };

class EventGroup {
 public:
  // Most events of one group.
  static constexpr std::size_t kMostEvents = 16;

  EventGroup() = default;
  ~EventGroup();
  EventGroup(const EventGroup&) = delete;
  EventGroup& operator=(const EventGroup&) = delete;

  // Opens and starts the events on every thread that the process has now, or on the calling one
  // alone; so start the thread pool first. Returns 0, or the errno of the first event refused, and
  // then nothing stays open.
  int Open(std::span<const PerfEvent> events, PerfScope scope, bool all_threads);

  // Events, then the time enabled and the time running.
  std::size_t slots() const { return events_ + 2; }

  // Sums over the threads. After a failed read all slots are 0, which Fold takes for a reset.
  void Read(std::uint64_t* raw) const noexcept;

 private:
  int OpenOn(int thread, std::span<const PerfEvent> events, PerfScope scope);
  void Close();

  std::size_t events_ = 0;
  std::vector<int> leaders_;  // one a thread
  std::vector<int> members_;  // the others, to be closed
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_EVENT_GROUP_H_
