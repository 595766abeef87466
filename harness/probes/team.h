// A probe run by several threads at once, in timed windows.

#ifndef TOPDNN_HARNESS_PROBES_TEAM_H_
#define TOPDNN_HARNESS_PROBES_TEAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/probes/probe.h"

namespace topdnn {

class ProbeTeam {
 public:
  // Each OpenMP thread allocates and fills its own buffers of `working_set` bytes (its pages are
  // then near it), runs the probe warm and finds how many iterations last a window. The probe must
  // be one that this machine can run.
  ProbeTeam(const Probe& probe, int threads, std::size_t working_set, double window_seconds);

  // Runs one window: every thread crosses a barrier and runs the same number of iterations; the
  // window lasts until the last one is done. Iterations a second of the whole team; absent when
  // OpenMP gives fewer threads than asked for.
  std::optional<double> Window();

 private:
  struct Member {
    std::unique_ptr<ProbeBuffers> buffers;
    double begin = 0;
    double end = 0;
    // Two members' times never share a cache line.
    std::byte apart[128] = {};
  };

  const Probe& probe_;
  std::vector<Member> members_;
  std::int64_t iterations_ = 1;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_TEAM_H_
