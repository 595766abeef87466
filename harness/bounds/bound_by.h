// What limits a region, in one phrase that a person can act on: "FMA 97 %", "DRAM 61 %", "chain of
// 4", "waits for threads 18 %". Pure.

#ifndef TOPDNN_HARNESS_BOUNDS_BOUND_BY_H_
#define TOPDNN_HARNESS_BOUNDS_BOUND_BY_H_

#include <optional>
#include <string>

#include "harness/bounds/topdown_tree.h"
#include "harness/hot/binding.h"

namespace topdnn {

struct BoundBy {
  // "FMA", "DRAM", "L3", "L2", "memory", "waits for threads", "instructions", "core",
  // "mispredictions", "front end", "core or front end", "core or L2", or what the core model names.
  std::string what;
  double share = 0;  // of the time, or of the unit's rate
};

// "DRAM 61 %"; without the share if `what` names no resource ("chain of 4", "dispatch").
std::string TextOf(const BoundBy& bound_by);

struct BoundByEvidence {
  const TopdownTree* tree = nullptr;
  std::optional<double> peak_fraction{};  // of the measured multiply-add ceiling
  std::optional<HotBinding> binding{};    // of the hottest loop
  // The unit that the counts show to be busy, and its share of the cycles.
  std::string busiest{};
  double busy = 0;
};

// What binds, or the reason why that is not decided.
struct BoundByOrReason {
  std::optional<BoundBy> bound_by = {};
  std::string reason = {};
};

// The part of the tree (computing, memory, threads, branches, front end) that surely takes more
// than any other may be expected to take; in it, the most specific name. "core or front end" if
// memory, threads and branches surely take less than these two together, "core or L2" if these
// surely take more than L3 and DRAM together, threads, branches or the front end. A unit that is
// busy for most of the time binds without a tree as well.
BoundByOrReason ChooseBoundBy(const BoundByEvidence& evidence);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_BOUND_BY_H_
