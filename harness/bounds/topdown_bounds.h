// Top-Down without a PMU: not a measurement of where slots went, but intervals that they must lie
// in, from the exact counts of a region, its time, and what this machine's cores do at best.
//
//   Retiring               instructions over slots: one slot each, but a branch may share one with
//                          the comparison before it, and some instructions take several
//   Bad_Speculation        at most: each conditional branch mispredicts whenever it goes its rarer
//                          way (no static prediction does better), each indirect one always, at the
//                          cost of a misprediction measured here
//   Core_Bound             at least: the time that the busiest unit needs at its measured rate,
//   less
//                          the slots that may retire or be lost to bad speculation meanwhile; at
//                          most: the time of one chain through all instructions with data in L1
//   Memory_Bound           what is left; at least: what the others leave at their most, or the time
//                          that the bytes which no cache can hold need at the measured bandwidth,
//                          less all that may overlap it
//
// The front end is told apart from memory by elimination only: by one thread whose code fits half
// of the L1 instruction cache, where it can lose no more than a bubble for each branch taken. Else
// the two (and the waiting of threads for each other) are one node, Memory_And_Frontend_Bound. Node
// names: Yasin, "A Top-Down Method for Performance Analysis", ISPASS 2014.

#ifndef TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
#define TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_

#include <map>
#include <optional>
#include <string>

#include "harness/bounds/core_work.h"
#include "harness/probes/core_rates.h"

namespace topdnn {

// A fraction of the pipeline slots, in [0, 1].
struct Bound {
  double low = 0;
  double high = 1;
  std::string basis;  // what it was made of
};

using TopdownBounds = std::map<std::string, Bound>;

// The native run that the counts are put against.
struct CoreTime {
  double seconds = 0;
  int threads = 1;
  double hertz_low = 0, hertz_high = 0;  // of the core's clock, around the run
  double instruction_cache = 0;          // bytes of L1; 0: not known
  // Bytes that no cache can hold, and the measured bandwidth for them; 0: not known.
  double memory_bytes = 0;
  double memory_bytes_per_second = 0;
};

// Pure. Absent where the issue width, the cost of a misprediction or the core's clock is not known.
std::optional<TopdownBounds> BoundTopdown(const CoreWork& work, const CoreTime& time,
                                          const CoreRates& rates);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
