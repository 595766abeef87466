// Threads that take a known share of the bandwidth of DRAM or of the last cache, on CPUs that the
// measured code does not use.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_ANTAGONIST_H_
#define TOPDNN_HARNESS_EXPERIMENTS_ANTAGONIST_H_

#include <cstddef>
#include <memory>
#include <span>

#include "harness/probes/probe.h"

namespace topdnn {

class Antagonist {
 public:
  // Starts a thread on each CPU, with `working_set` bytes each (a power of two, at least 8 KiB),
  // which the probe reads over and over. The threads sleep at first. Throws ExperimentError if a
  // thread cannot be started or bound to its CPU.
  Antagonist(const Probe& probe, std::span<const int> cpus, std::size_t working_set);
  ~Antagonist();
  Antagonist(const Antagonist&) = delete;
  Antagonist& operator=(const Antagonist&) = delete;

  // From now on the threads together read this many bytes per second; infinity: as many as they
  // can; 0: they sleep. Returns when all of them are awake or asleep.
  void Take(double bytes_per_second);

  // Bytes read so far.
  double bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes per second that the antagonist reads without a limit, for `seconds`. It sleeps afterwards.
double BestRateOf(Antagonist& antagonist, double seconds);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_ANTAGONIST_H_
