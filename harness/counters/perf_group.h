// A group of perf_event events: on the counters together or not at all, and read at once. It counts
// one thread, or whatever runs on one CPU. Every counter source that goes through perf_event is
// made of these groups.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_GROUP_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_GROUP_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "harness/counters/perf_event.h"
#include "harness/counting.h"

namespace topdnn {

// The modes of the CPU that are counted.
enum class PerfModes {
  kUser,           // what the unprivileged may count (kernel.perf_event_paranoid up to 2)
  kUserAndKernel,  // not the hypervisor
  kAll,            // nothing is left out: a PMU outside of the cores refuses any other setting
};

// What a group counts (perf_event_open(2): pid, cpu and the exclude_ fields).
struct PerfScope {
  pid_t thread = 0;  // 0: the calling one; -1: any
  int cpu = -1;      // -1: any
  PerfModes modes = PerfModes::kUser;

  static PerfScope Thread(pid_t thread, PerfModes modes = PerfModes::kUser) {
    return {.thread = thread, .cpu = -1, .modes = modes};
  }
  // Whatever runs on the CPU, and what its socket does.
  static PerfScope Cpu(int cpu) { return {.thread = -1, .cpu = cpu, .modes = PerfModes::kAll}; }
};

// How opening ended. `error`: 0 or an errno, of the event at `member`.
struct OpenOutcome {
  int error = 0;
  std::size_t member = 0;
};

class PerfGroup {
 public:
  explicit PerfGroup(PerfSyscalls calls) : calls_(std::move(calls)) {}
  ~PerfGroup() { Close(); }
  PerfGroup(const PerfGroup&) = delete;
  PerfGroup& operator=(const PerfGroup&) = delete;

  // Opens the events, the first as the leader, and starts to count. After an error nothing is open.
  OpenOutcome Open(std::span<const ResolvedEvent> events, PerfScope scope = {});
  void Close();
  std::size_t size() const { return fds_.size(); }

  // Reads without a system call from now on where that is possible (see user_read.h): a group of
  // the calling thread, whose pages the kernel maps and says to be readable. Never with slots or a
  // metric of PERF_METRICS: the kernel computes these when it reads, and a reading of the register
  // beside it would mix two units. False: by system calls as before.
  bool MapForUser();

  // Places that ReadRaw fills.
  std::size_t slots() const;
  // The measured path: copies cumulative numbers as the kernel gives them, allocates nothing. False
  // after a failed or short read.
  bool ReadRaw(std::uint64_t* raw) const noexcept;
  // One reading per event, of what ReadRaw copied; empty when that is no reading of this group.
  std::vector<CounterReading> Decode(std::span<const std::uint64_t> raw) const;
  // Both, where time does not matter.
  std::vector<CounterReading> Read() const;

 private:
  void Unmap();

  PerfSyscalls calls_;
  std::vector<int> fds_;  // leader first
  bool metrics_ = false;
  bool own_thread_ = false;
  std::vector<const perf_event_mmap_page*> pages_;  // of each event, while read by the user
};

enum class TrialVerdict {
  kCounts,
  kRefused,      // Open failed: the outcome says where and why
  kNeverRuns,    // opens, but its time running stays 0: other users hold the counters
  kMultiplexed,  // runs a part of the time
};

struct Trial {
  TrialVerdict verdict = TrialVerdict::kCounts;
  OpenOutcome outcome;
  std::vector<EventCount> counts;  // one per event; none when it was refused or could not be read
};

// Opens the group on the calling thread, runs `work`, and judges. It is the only sure test:
// the NMI watchdog, other users and the hypervisor take counters without any sign.
Trial TryGroup(const PerfSyscalls& calls, std::span<const ResolvedEvent> events,
               const std::function<void()>& work);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_GROUP_H_
