// A simulated PMU for the perf_event system calls. It has a number of counters, of which another
// user may hold some. It can refuse events, and its counts grow with the work that a test does.

#ifndef TOPDNN_TESTS_HARNESS_FAKE_PMU_H_
#define TOPDNN_TESTS_HARNESS_FAKE_PMU_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <vector>

#include "harness/counters/perf_event.h"

namespace topdnn {

class FakePmu {
 public:
  std::size_t counters = 6;
  std::size_t held = 0;                  // held by a watchdog: a group that needs them never runs
  std::map<std::uint64_t, int> refused;  // errno by config
  int refuse_all = 0;                    // errno of every event
  std::map<pid_t, int> refused_threads;  // errno by thread
  std::set<std::uint64_t> fixed;         // configs with a dedicated counter
  std::map<std::uint64_t, std::uint64_t> rate;  // counts per unit of work; default: 1
  std::set<pid_t> idle;                         // threads that do not run
  bool needs_slots = false;                     // metrics without slots as their leader are refused
  std::set<std::uint32_t> core_types;           // PMU types of a hybrid CPU; none: all cores alike
  std::uint32_t on_type = 0;                    // type of the cores that all threads run on

  // Every thread that is not idle does this work.
  void Work(std::uint64_t units) {
    work_ += units;
    work_on_[on_type] += units;
  }
  std::size_t open_events() const { return events_.size(); }
  std::size_t most_open() const { return most_open_; }

  PerfSyscalls Calls() {
    return {.open = [this](const perf_event_attr& attr, pid_t thread, int,
                           int group) { return Open(attr, thread, group); },
            .read =
                [this](int fd, void* buffer, std::size_t bytes) {
                  return Read(fd, static_cast<std::uint64_t*>(buffer), bytes);
                },
            .control = [](int, unsigned long, unsigned long) { return 0; },
            .close = [this](int fd) { EXPECT_EQ(events_.erase(fd), 1u); }};
  }

 private:
  struct Event {
    std::uint64_t config;
    pid_t thread;
    int leader;
    std::uint64_t since;
    std::uint32_t type;  // of the core's PMU, given in type or config
    std::uint64_t since_on_type;
  };

  static std::uint32_t TypeOf(const perf_event_attr& attr) {
    return attr.type == PERF_TYPE_HARDWARE ? static_cast<std::uint32_t>(attr.config >> 32)
                                           : attr.type;
  }

  int Open(const perf_event_attr& attr, pid_t thread, int group) {
    if (refuse_all != 0) return -refuse_all;
    if (refused.contains(attr.config)) return -refused[attr.config];
    if (refused_threads.contains(thread)) return -refused_threads[thread];
    const int fd = next_++;
    const int leader = group < 0 ? fd : group;
    const ResolvedEvent event{"", attr.type, attr.config, ""};
    if (needs_slots && NeedsSlots(event) &&
        (leader == fd || events_.at(leader).config != kSlotsConfig)) {
      return -EINVAL;
    }
    if (General(leader) + (fixed.contains(attr.config) ? 0 : 1) > counters) return -EINVAL;
    events_[fd] = {attr.config, thread, leader, work_, TypeOf(attr), work_on_[TypeOf(attr)]};
    most_open_ = std::max(most_open_, events_.size());
    return fd;
  }

  // The number of members of a group that need a general counter.
  std::size_t General(int leader) const {
    return static_cast<std::size_t>(
        std::count_if(events_.begin(), events_.end(), [&](const auto& entry) {
          return entry.second.leader == leader && !fixed.contains(entry.second.config);
        }));
  }

  ssize_t Read(int fd, std::uint64_t* values, std::size_t bytes) {
    // A reading is a small amount of work, so that time passes in a trial.
    Work(1);
    const Event leader = events_.at(fd);
    const bool runs = General(fd) + held <= counters && !idle.contains(leader.thread);
    std::vector<std::uint64_t> answer = {0, 0, 0};
    for (const auto& [member, event] : events_) {
      if (event.leader != fd) continue;
      ++answer[0];
      const std::uint64_t per_unit = rate.contains(event.config) ? rate[event.config] : 1;
      answer.push_back(runs ? Done(event) * per_unit : 0);
    }
    answer[1] = idle.contains(leader.thread) ? 0 : work_ - leader.since;
    answer[2] = runs ? std::min(answer[1], Done(leader)) : 0;
    const std::size_t size = answer.size() * sizeof answer[0];
    if (size > bytes) return -ENOSPC;
    std::copy(answer.begin(), answer.end(), values);
    return static_cast<ssize_t>(size);
  }

  // The work since the event was opened, on the cores that it counts.
  std::uint64_t Done(const Event& event) {
    return core_types.contains(event.type) ? work_on_[event.type] - event.since_on_type
                                           : work_ - event.since;
  }

  std::map<int, Event> events_;
  std::map<std::uint32_t, std::uint64_t> work_on_;
  std::size_t most_open_ = 0;
  int next_ = 10;
  std::uint64_t work_ = 1000;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_FAKE_PMU_H_
