// Top-Down without a PMU: intervals in which the shares of the pipeline slots must lie. They are
// estimates, not measurements. They follow from a region's exact counts, its time, the core's clock
// around it, and the limits of the pipeline in the vendor's manual. Node names: Yasin, "A Top-Down
// Method for Performance Analysis and Counters Architecture", ISPASS 2014.
//
// A rate measured next to a neighbour is too low, and a cost too high. So the lower ends use no
// measured rate, only the pipeline of the CPU's Top-Down table. Two measured costs are used for
// upper ends, and only if they exceed the assumed ones: a misprediction and one link of a chain.
// The rates measured before and after the run are a check: if they spread, differ, or contradict
// the table or the run, there are no bounds.
//
// - Retiring. A slot retires one instruction, or two fused ones. Each documented fusion contains a
//   conditional branch, a no-operation, a move between registers or a division (Intel 248966, AMD
//   57647 and 58455, chapters 2).
//   - Lower end: these instructions count as zero slots.
//   - Upper end: most instructions take one slot. ASSUMED: the pipeline's slots_per_instruction on
//     average, and kSlowSlots for each that may be microcoded. CountShares uses the slots that
//     were measured for each form of instruction, where they are known and fewer.
//
// - Bad_Speculation, upper end. A dynamic predictor can be worse than the rarer direction of a
//   branch: it starts cold, and branches share its entries. The hardware's limit is one
//   misprediction per execution of a conditional or indirect branch. One misprediction costs at
//   most the slots of a full reorder buffer from the wrong path and the cycles of the refill.
//   ASSUMED: no machine clears (memory order, self-modifying code, assists for denormals). Their
//   limit would be one per load, which bounds nothing.
//
//   CountShares has fewer, with more assumptions. ASSUMED: a warm predictor is not worse than the
//   best static prediction of each branch, which misses its executions in the rarer direction; it
//   knows how the branch was reached, and learns one that repeats a short pattern
//   (ExactCounts::missed_branches); an indirect branch misses only when it is cold, once per block
//   of code and thread; and a misprediction costs at most kLateBranch times what the probe
//   measured.
//
// - Frontend_Bound, upper end. It exists only if the code fills at most half of the micro-op cache
//   and of the first-level instruction cache. The micro-op cache then delivers a window of the
//   pipeline's window_bytes per cycle. Only the cycles that this takes beyond those of retiring
//   count. The cache loses at most kBubble cycles at a taken branch, and each line of code may
//   come from memory once per thread. CountShares uses the measured time of delivery, too.
//
// - Core_Bound.
//   - Lower end: a cycle in which the floating-point units, the loads or the stores work at the
//     table's full rate is neither a stall on memory nor empty. Its slots may still retire, or be
//     lost to branches or to the front end, so the upper ends of these are subtracted. The lower
//     end therefore exists only if Frontend_Bound has an upper end.
//   - Upper end: one chain through all instructions, with data in L1, and kSlowCycles for each that
//     may take long.
//
// - Memory_Bound is the remainder.
//   - Lower end: what the upper ends of the other nodes leave, minus kUnseen, the share of the time
//     that a neighbour can take while a run is still OK. There is none if the region makes system
//     calls, because the kernel's time looks like a stall.
//   - Front end and memory are separate nodes only for one thread with a bounded front end.
//     Otherwise they are one node, Memory_And_Frontend_Bound, which also includes the time in which
//     threads wait for each other.
//
// Nodes whose interval is only "what the others leave" are omitted.

#ifndef TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
#define TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_

#include <map>
#include <optional>
#include <string>

#include "harness/bounds/core_work.h"
#include "harness/probes/core_rates.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/status.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// A fraction of the pipeline slots, in [0, 1].
struct Bound {
  double low = 0;
  double high = 1;
  std::string basis;  // the values that it follows from
};

using TopdownBounds = std::map<std::string, Bound>;

// The native run that the counts are compared with.
struct CoreTime {
  double seconds = 0;
  int threads = 1;
  double hertz_low = 0, hertz_high = 0;  // of the core's clock, around the run
  double instruction_cache = 0;          // bytes of L1 for instructions; 0: not known
  // Bytes that no cache can hold, and the measured bandwidth for them; 0: not known. They explain
  // an interval, but are no bound: computing may overlap the transfer.
  double memory_bytes = 0;
  double memory_bytes_per_second = 0;
};

// Bounds, or the reason why there are none; never both.
struct BoundsOrReason {
  std::optional<TopdownBounds> bounds = {};
  std::string reason = {};
};

// Cycles of one thread to fetch cold code of this size from memory, line by line, at most.
double ColdCodeCycles(double code_bytes);

// Why a record of this status has no bounds; empty if it may have them. Bounds are given only for
// undisturbed runs.
std::string WhyNoBounds(Status status);

// Why bounds cannot be checked with these rates: absent, spread (a neighbour used the cores), or in
// contradiction to the pipeline. Empty if they can.
std::string WhyRatesAreUnusable(const CoreRates& rates, const CorePipeline& pipeline);

// Pure. Decides whether there are bounds, except for the record's status (WhyNoBounds).
BoundsOrReason BoundTopdown(const CoreWork& work, const CoreTime& time,
                            const CorePipeline& pipeline, const CoreRates& rates);

// What counts alone say of a region whose time is in an interval, for topdown_tree.h. The rates of
// the cores only widen it, so it holds next to a neighbour as well, if the time does.
struct CountedShares {
  Interval retiring{0, 1};
  double bad_speculation = 1;      // at most
  std::optional<double> frontend;  // at most; absent: the code does not fit the micro-op cache
  std::optional<double> lost;      // both together, at most, if the delivery was measured
  Interval core{0, 1};
  // The unit that is busy for most of the cycles at the full rates of the table, and its share of
  // them: "floating-point work", "loads", "stores"; empty: none.
  std::string busiest;
  double busy = 0;
};

// Absent if the slots, the clock, the time or the instructions are not known, or if the counts
// contradict the time. `time.seconds` is not used.
std::optional<CountedShares> CountShares(const CoreWork& work, const CoreTime& time,
                                         Interval seconds, const CorePipeline& pipeline,
                                         const CoreRates& rates);

// Bounds of an undisturbed run, from the counts of a run that other work may have disturbed.
// `time.seconds` is the fastest time of that run, which is at least the undisturbed time. So the
// instructions over the slots in that time are a lower end of Retiring, and Core_Bound is at most
// the rest. The clock readings are assumed to be at most kUnseen too low. Empty if the slots, the
// clock or the time are not known.
TopdownBounds BoundDisturbed(const CoreWork& work, const CoreTime& time,
                             const CorePipeline& pipeline);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_TOPDOWN_BOUNDS_H_
