// Top-Down without a PMU: not a measurement of where the slots went, but intervals that they must
// lie in. They follow from a region's exact counts, its time, the core's clock around it, and what
// the pipeline can do by its manual. Node names: Yasin, "A Top-Down Method for Performance
// Analysis and Counters Architecture", ISPASS 2014.
//
// A rate that is measured beside a neighbour is too low, and a cost too high. So the lower ends use
// no measured rate at all, but the pipeline of the CPU's Top-Down table; two measured costs serve
// upper ends, and only where they are above the manual's: a misprediction and the link of a chain.
// The rates measured before and after the run are witnesses besides. Where they spread, differ, or
// contradict the table or the run, there are no bounds.
//
// Retiring. A slot retires one instruction, or two that were fused. Each documented fusion has a
// conditional branch, a no-operation, a move between registers or a division in it (Intel 248966,
// AMD 57647 and 58455, chapters 2): these count as nothing at the lower end. For the upper one,
// most instructions take one slot, those that address memory with an index two on Intel (Agner Fog,
// instruction tables). Two on average are ASSUMED, and kSlowSlots for each that may be microcoded.
//
// Bad_Speculation, upper end. A dynamic predictor can do worse than the rarer direction of a
// branch: it starts cold, and branches share its entries. The hardware's limit is one misprediction
// an execution, for conditional and indirect branches. One costs no more slots than the reorder
// buffer holds (all of it from the wrong path) and the cycles of the refill. Machine clears (memory
// order, self-modifying code, assists for denormals) are ASSUMED to be none: the limit would be one
// a load, which bounds nothing.
//
// Frontend_Bound, upper end. There is one only where the code fills less than half of the micro-op
// cache and of the first-level cache. That cache then gives a window of 32 bytes each cycle
// (Skylake's, the smallest), loses at most kBubble cycles at a taken branch, and each line of code
// may come from memory once.
//
// Core_Bound. A cycle in which the floating-point units work at the full rate of the table is
// neither a stall on memory nor empty, but its slots may retire, or be lost to branches or to the
// front end: what these take at most is subtracted. So there is a lower end only where the front
// end has an upper one. The upper end is one chain through all instructions, with data in L1.
//
// Memory_Bound is the remainder. Its lower end is what the others leave at their most, less
// kUnseen: the share of the time that a neighbour can take while a run is still called OK. Beside
// system calls it has none, because the kernel's time looks like a stall. Front end and memory are
// told apart for one thread whose front end is bounded; otherwise they are one node,
// Memory_And_Frontend_Bound, which also holds the time of threads that wait for each other.
//
// A node whose interval says nothing beyond "what the others leave" is left out.

#ifndef TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
#define TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_

#include <map>
#include <optional>
#include <string>

#include "harness/bounds/core_work.h"
#include "harness/probes/core_rates.h"
#include "harness/status.h"
#include "harness/topdown/pipeline.h"

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
  // Bytes that no cache can hold, and the measured bandwidth for them; 0: not known. They explain
  // an interval and bound none: computing may overlap them.
  double memory_bytes = 0;
  double memory_bytes_per_second = 0;
};

// Bounds, or the reason why there are none; never both.
struct BoundsOrReason {
  std::optional<TopdownBounds> bounds = {};
  std::string reason = {};
};

// Why a record of this status has no bounds; empty: it may have them. Bounds are of an undisturbed
// run.
std::string WhyNoBounds(Status status);

// Pure. The one place that decides whether there are bounds, but for the record's status.
BoundsOrReason BoundTopdown(const CoreWork& work, const CoreTime& time,
                            const CorePipeline& pipeline, const CoreRates& rates);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
