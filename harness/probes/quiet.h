// Was the machine quiet? Two short probes to bracket a measurement with: one of the arithmetic
// units and the clock, one of memory. Both are needed: a neighbour that takes memory bandwidth
// leaves the arithmetic alone.

#ifndef TOPDNN_HARNESS_PROBES_QUIET_H_
#define TOPDNN_HARNESS_PROBES_QUIET_H_

#include <memory>
#include <optional>

#include "harness/probes/team.h"

namespace topdnn {

struct QuietReading {
  std::optional<double> flops_per_second;  // absent where no probe runs
  std::optional<double> bytes_per_second;
};

class QuietCheck {
 public:
  // Allocates a working set of DRAM size and fills it (about 0.1 s).
  explicit QuietCheck(int threads);

  // Takes about 4 ms, and empties the caches: read it before the warm-up and after the last
  // iteration, not in between.
  QuietReading Read();

 private:
  std::unique_ptr<ProbeTeam> fma_;
  std::unique_ptr<ProbeTeam> memory_;
  double flops_ = 0;  // per iteration
  double bytes_ = 0;
};

// What memory's rate differs by from one reading to the next on a quiet virtual machine (7 to 25 %
// seen); arithmetic repeats within 1 %.
inline constexpr double kMemoryNoise = 0.30;

// The worse of the two rates as a share of the best reading known: 1 = undisturbed; a loss of
// memory within its noise is none. Absent when neither can be compared. Pure.
std::optional<double> QuietRatio(const QuietReading& best, const QuietReading& now);

// The higher of two readings, each rate apart. Pure.
QuietReading Best(const QuietReading& a, const QuietReading& b);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_QUIET_H_
