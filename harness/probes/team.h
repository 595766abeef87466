// Runs a probe on several threads at once, in timed windows.

#ifndef TOPDNN_HARNESS_PROBES_TEAM_H_
#define TOPDNN_HARNESS_PROBES_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/probes/buffers.h"
#include "harness/probes/probe.h"

namespace topdnn {

// A thread's progress at a time in its window. The first mark has 0 iterations.
struct WorkMark {
  double seconds = 0;
  std::int64_t iterations = 0;
};

// Iterations per second of all threads: the sum of each thread's rate during the time in which all
// of them worked. So cores of several types count with their own speeds, and a thread that lost its
// CPU lowers the sum. If the threads had less than `least_seconds` in common: all iterations
// divided by the time from the first begin to the last end. Pure.
double RateInCommon(std::span<const std::vector<WorkMark>> threads, double least_seconds);

// The share of a window in which the threads had a CPU (`cpu_seconds` of each thread): 1 if nothing
// else ran on their CPUs. Relative to each thread's own time, or to the time from the first begin
// to the last end if they had less than `least_seconds` in common. Pure.
double ShareOnCpu(std::span<const std::vector<WorkMark>> threads,
                  std::span<const double> cpu_seconds, double least_seconds);

class ProbeTeam {
 public:
  // Allocates buffers of `working_set` bytes for each OpenMP thread. Each thread fills its own (so
  // their pages are on its NUMA node), warms the probe up, and finds how many iterations fill a
  // part of a window. This machine must be able to run the probe.
  // The working sets are taken from `pages`, if given, and returned to it; it must exist as long as
  // the team.
  ProbeTeam(const Probe& probe, int threads, std::size_t working_set, double window_seconds,
            KeptPages* pages = nullptr);
  ~ProbeTeam();
  ProbeTeam(const ProbeTeam&) = delete;
  ProbeTeam& operator=(const ProbeTeam&) = delete;

  // Runs one window: all threads start at a barrier, and work until each has worked for the length
  // of a window. Returns the team's iterations per second (RateInCommon); absent if OpenMP gives
  // fewer threads than requested.
  std::optional<double> Window();

  // ShareOnCpu of the last window.
  double on_cpu() const { return on_cpu_; }

  // Like Window, for the calling thread alone; the other threads are idle.
  double WindowAlone();

 private:
  struct Member {
    std::unique_ptr<ProbeBuffers> buffers;
    std::int64_t iterations = 1;  // iterations in a part of a window
    // Keeps the states of two threads in separate cache lines.
    std::byte apart[128] = {};
  };

  void Work(std::size_t thread, int threads);

  const Probe& probe_;
  KeptPages* pages_;
  double window_seconds_;
  std::vector<Member> members_;
  std::vector<std::vector<WorkMark>> marks_;  // of each thread in the last window
  std::vector<double> cpu_seconds_;           // of each thread in the last window
  double on_cpu_ = 1;
  std::atomic<int> done_ = 0;  // threads that have worked for the length of a window
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_TEAM_H_
