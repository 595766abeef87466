// Top-Down without a PMU: not a measurement of where the slots went, but intervals that they must
// lie in. They follow from a region's exact counts, its time, the core's clock around it, and what
// the pipeline can do by its manual. Node names: Yasin, "A Top-Down Method for Performance
// Analysis and Counters Architecture", ISPASS 2014.
//
// No end may depend on a rate that is too low because a neighbour disturbed its measurement. So:
//
//   end                 made of                                               a measured rate
//   serves Retiring, low       instructions that cannot fuse / slots of the table    none Retiring,
//   high      2 slots an instruction on average                     none Bad_Speculation,    every
//   conditional and indirect branch mispredicts     the cost of one, where
//     high                                                                    it is above the
//     manual's
//   Core_Bound, low     floating-point work / the units of the table          none
//   Core_Bound, high    one chain through all instructions                    the latency of a
//   link,
//                                                                             likewise
//   Frontend_Bound,     windows of the micro-op cache, taken branches, cold   none
//     high              code
//   Memory_Bound, low   what the others leave at their most                   as theirs
//
// The rates measured before and after the run are witnesses besides: where they spread, differ, or
// contradict the manual or the run, there are no bounds.
//
//   Retiring      A slot retires one instruction, or two that were fused. Each documented fusion
//                 has a conditional branch, a no-operation, a move between registers or a division
//                 in it (Intel 248966, AMD 57647 and 58455, chapters 2): these count as nothing.
//                 Above: most instructions take one slot, those that address memory with an index
//                 two on Intel (Agner Fog, instruction tables). Two on average are ASSUMED, and
//                 kSlowSlots for each instruction that may be microcoded.
//   Bad_          A dynamic predictor can do worse than the rarer direction of a branch: it starts
//   Speculation   cold, and branches share its entries. The hardware's limit is one misprediction
//                 an execution. One costs no more slots than the reorder buffer holds (all of it
//                 from the wrong path) and the cycles of the refill. Machine clears (memory order,
//                 self-modifying code, assists for denormals) are ASSUMED to be none: the limit
//                 would be one a load, which bounds nothing.
//   Frontend_     Bounded only where the code fills less than half of the micro-op cache and of the
//   Bound         first-level cache. It then gives a window of 32 bytes each cycle (Skylake's, the
//                 smallest), loses at most kBubble cycles at a taken branch, and each line of code
//                 may come from memory once.
//   Core_Bound    A cycle in which the floating-point units work at their full rate is neither a
//                 stall on memory nor empty, but its slots may retire, or be lost to the branches
//                 or the front end. It has a lower end only where the front end has an upper one.
//   Memory_Bound  The remainder. Its lower end is less by kUnseen, the share of the time that a
//                 neighbour can take while a run is still called OK, and 0 beside system calls,
//                 whose time looks like a stall. Front end and memory are told
//                 apart for one thread whose front end is bounded; otherwise they are one node,
//                 Memory_And_Frontend_Bound, in which threads that wait for each other are, too.
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
