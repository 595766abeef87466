// Checks whether the machine is quiet: three short probes before, during and after a measurement,
// of arithmetic and clock, of issuing instructions, and of memory. All are needed: a neighbour that
// uses memory bandwidth does not slow arithmetic down, and one on the other hardware thread of the
// core takes issue slots, of which multiply-adds leave most free.

#ifndef TOPDNN_HARNESS_PROBES_QUIET_H_
#define TOPDNN_HARNESS_PROBES_QUIET_H_

#include <memory>
#include <optional>

#include "harness/probes/team.h"

namespace topdnn {

struct QuietReading {
  std::optional<double> flops_per_second;  // absent if no probe can run
  std::optional<double> bytes_per_second;
  std::optional<double> instructions_per_second = {};

  bool operator==(const QuietReading&) const = default;
};

class QuietCheck {
 public:
  // Allocates and fills a working set in DRAM (about 0.1 s).
  explicit QuietCheck(int threads);

  // Takes about 6 ms and empties the caches: call it before the warm-up and after the last
  // iteration, not in between. A rate is absent if the threads had no CPU for themselves.
  QuietReading Read();
  // Takes about 2.5 ms: the better of two short windows. Noisier than Read.
  QuietReading ReadBriefly();

 private:
  std::unique_ptr<ProbeTeam> fma_;
  std::unique_ptr<ProbeTeam> issue_;
  std::unique_ptr<ProbeTeam> memory_;
  double flops_ = 0;  // per iteration
  double instructions_ = 0;
  double bytes_ = 0;
};

// The relative difference between two readings of memory's rate on a quiet virtual machine (7 to 25
// % observed). Arithmetic repeats more closely (kMinQuietRatio).
inline constexpr double kMemoryNoise = 0.30;

// The lower of the rates of arithmetic and memory as a share of the best known reading; 1:
// undisturbed. A memory loss within its noise counts as 1. Absent if neither rate can be compared.
// For races, whose candidates take turns: a neighbour on the core slows all of them down. Pure.
std::optional<double> QuietRatio(const QuietReading& best, const QuietReading& now);

// The higher of two readings, separately for each rate. Pure.
QuietReading Best(const QuietReading& a, const QuietReading& b);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_PROBES_QUIET_H_
