// A group of perf_event events: they are on the counters together or not at all, and are read at
// once. A group counts one thread, or everything that runs on one CPU. Every counter source that
// uses perf_event consists of these groups.

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
#include "harness/statistics/counting.h"

namespace topdnn {

// The modes of the CPU that are counted.
enum class PerfModes {
  kUser,           // allowed to unprivileged users (kernel.perf_event_paranoid up to 2)
  kUserAndKernel,  // not the hypervisor
  kAll,            // everything: a PMU outside the cores refuses any other setting
};

// What a group counts (perf_event_open(2): pid, cpu and the exclude_ fields).
struct PerfScope {
  pid_t thread = 0;  // 0: the calling one; -1: any
  int cpu = -1;      // -1: any
  PerfModes modes = PerfModes::kUser;

  static PerfScope Thread(pid_t thread, PerfModes modes = PerfModes::kUser) {
    return {.thread = thread, .cpu = -1, .modes = modes};
  }
  // Everything that runs on the CPU, and its socket.
  static PerfScope Cpu(int cpu) { return {.thread = -1, .cpu = cpu, .modes = PerfModes::kAll}; }
};

// The result of opening. `error`: 0, or the errno of the event at `member`; EINVAL if there is no
// event.
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

  // Reads without a system call from now on if possible (see user_read.h): for a group of the
  // calling thread whose pages the kernel maps and marks as readable. Never with slots or a metric
  // of PERF_METRICS: the kernel computes these when it reads, and reading the register directly
  // would mix two units. Returns false if readings still use system calls. Changes slots(). Call it
  // once after Open.
  bool MapForUser();

  // Number of elements that ReadRaw writes.
  std::size_t slots() const;
  // The measured path: copies the kernel's cumulative numbers without allocating. Returns false
  // after a failed or short read.
  bool ReadRaw(std::uint64_t* raw) const noexcept;
  // Decodes what ReadRaw copied into one reading per event; empty if it is not a reading of this
  // group.
  std::vector<CounterReading> Decode(std::span<const std::uint64_t> raw) const;
  // ReadRaw and Decode, where time does not matter.
  std::vector<CounterReading> Read() const;

 private:
  void Unmap();

  PerfSyscalls calls_;
  std::vector<int> fds_;  // leader first
  bool metrics_ = false;
  bool own_thread_ = false;
  std::vector<const perf_event_mmap_page*> pages_;  // of each event, while read in user mode
};

enum class TrialVerdict {
  kCounts,
  kRefused,      // Open failed: the outcome says where and why
  kNeverRuns,    // opens, but has no counter (others hold them), or cannot be read
  kMultiplexed,  // runs part of the time
};

struct Trial {
  TrialVerdict verdict = TrialVerdict::kCounts;
  OpenOutcome outcome;
  std::vector<EventCount> counts;  // one per event; empty if refused or not readable
};

// Opens the group on the calling thread, runs `work`, and checks the result. Only a trial is
// reliable: the NMI watchdog, other users and the hypervisor take counters without notice.
Trial TryGroup(const PerfSyscalls& calls, std::span<const ResolvedEvent> events,
               const std::function<void()>& work);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_GROUP_H_
