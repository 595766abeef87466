// A probe run by several threads at once, in timed windows.

#ifndef TOPDNN_HARNESS_PROBES_TEAM_H_
#define TOPDNN_HARNESS_PROBES_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/probes/probe.h"

namespace topdnn {

// How far a thread was at an instant of its window. The first mark has no iterations.
struct WorkMark {
  double seconds = 0;
  std::int64_t iterations = 0;
};

// Iterations a second of all threads together: the sum of each one's own rate in the time in which
// all of them worked. Cores of several types each count at their own speed; a thread that lost its
// CPU within that time lowers the sum. Where the threads had less than `least_seconds` in common,
// it is all their iterations over the time from the first begin to the last end. Pure.
double RateInCommon(std::span<const std::vector<WorkMark>> threads, double least_seconds);

// The share of a window in which its threads had a CPU, of their `cpu_seconds` each: 1 where
// nothing else ran on those CPUs. Of each one's own time, or of the time from the first begin to
// the last end where they had less than `least_seconds` in common. Pure.
double ShareOnCpu(std::span<const std::vector<WorkMark>> threads,
                  std::span<const double> cpu_seconds, double least_seconds);

class ProbeTeam {
 public:
  // Each OpenMP thread allocates and fills its own buffers of `working_set` bytes (its pages are
  // then near it), runs the probe warm and finds how many iterations last a part of a window. The
  // probe must be one that this machine can run.
  ProbeTeam(const Probe& probe, int threads, std::size_t working_set, double window_seconds);

  // Runs one window: every thread crosses a barrier and works until each has worked for the length
  // of a window. Iterations a second of the whole team (RateInCommon); absent when OpenMP gives
  // fewer threads than asked for.
  std::optional<double> Window();

  // ShareOnCpu of the last window.
  double on_cpu() const { return on_cpu_; }

  // The same for the calling thread by itself, while the others rest.
  double WindowAlone();

 private:
  struct Member {
    std::unique_ptr<ProbeBuffers> buffers;
    std::int64_t iterations = 1;  // of a part of a window
    // Two members' state never shares a cache line.
    std::byte apart[128] = {};
  };

  void Work(std::size_t thread, int threads);

  const Probe& probe_;
  double window_seconds_;
  std::vector<Member> members_;
  std::vector<std::vector<WorkMark>> marks_;  // of each thread in the last window
  std::vector<double> cpu_seconds_;           // likewise
  double on_cpu_ = 1;
  std::atomic<int> done_ = 0;  // threads that have worked for a window's length
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_TEAM_H_
