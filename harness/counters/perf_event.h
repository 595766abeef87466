// Hardware events of one thread through perf_event_open(2): names resolved, opened as a group that
// counts at once, read, and each failure told apart. The system calls stand in a table, so that
// every failure can be scripted.

#ifndef TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_
#define TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/counting.h"

namespace topdnn {

// Each returns what the system call does, or -errno.
struct PerfSyscalls {
  std::function<int(const perf_event_attr& attr, pid_t thread, int group)> open;
  std::function<ssize_t(int fd, void* buffer, std::size_t bytes)> read;
  std::function<int(int fd, unsigned long request, unsigned long argument)> control;
  std::function<void(int fd)> close;
  // Maps the first page of an event (perf_event_open(2), "MMAP layout"); nullptr: refused.
  std::function<const perf_event_mmap_page*(int fd)> map = {};
  std::function<void(const perf_event_mmap_page* page)> unmap = {};
  // Opens an event of whatever runs on a CPU, and of the socket that the CPU is asked for.
  std::function<int(const perf_event_attr& attr, int cpu, int group)> open_on_cpu = {};
  static PerfSyscalls Real();
};

struct ResolvedEvent {
  std::string name;
  std::uint32_t type = 0;    // perf_event_attr.type
  std::uint64_t config = 0;  // perf_event_attr.config
  std::string by;            // "libpfm4", "raw", "sysfs"
};

// libpfm4 knows the name, or the raw code is told (of the core's PMU), or the kernel lists the name
// in sysfs (`slots`, `topdown-retiring`; `sysfs`: /sys/bus/event_source/devices; of the PMU `pmu`
// alone where one is told). Absent: none of these.
std::optional<ResolvedEvent> ResolveEvent(const std::string& name, std::optional<std::uint64_t> raw,
                                          const std::string& sysfs, const std::string& pmu = "");

// The Top-Down slots of Intel's cores since Ice Lake, and whether an event is one of the metrics in
// PERF_METRICS (pseudo-events 0x8000 to 0x8700), which count in a group that slots leads alone.
inline constexpr std::uint64_t kSlotsConfig = 0x400;
bool NeedsSlots(const ResolvedEvent& event);

// What opening ended with. `error`: 0 or an errno, of the event at `member`.
struct OpenOutcome {
  int error = 0;
  std::size_t member = 0;
};

// A group of events of one thread: on the counters together or not at all.
class PerfGroup {
 public:
  explicit PerfGroup(PerfSyscalls calls) : calls_(std::move(calls)) {}
  ~PerfGroup() { Close(); }
  PerfGroup(const PerfGroup&) = delete;
  PerfGroup& operator=(const PerfGroup&) = delete;

  // `thread` 0: the calling one. Counts user mode. `inherit`: children created from now on, too;
  // each event is then read by itself, as the kernel refuses group reads with it.
  OpenOutcome Open(std::span<const ResolvedEvent> events, pid_t thread, bool inherit);
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
  // What ReadRaw copied, one reading per event; empty when it is no reading of this group.
  std::vector<CounterReading> Decode(std::span<const std::uint64_t> raw) const;
  // Both, where time does not matter.
  std::vector<CounterReading> Read() const;

 private:
  void Unmap();

  PerfSyscalls calls_;
  std::vector<int> fds_;  // leader first
  bool inherit_ = false;
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
  std::vector<std::size_t> dead;  // members that stayed at 0 while they ran
};

// Opens the group on the calling thread, runs `work`, and judges. It is the only sure test:
// counters are taken by the NMI watchdog, by other users and by the hypervisor without any sign.
Trial TryGroup(const PerfSyscalls& calls, std::span<const ResolvedEvent> events,
               const std::function<void()>& work);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_PERF_EVENT_H_
