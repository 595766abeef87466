// The work of a region for the cores, from its exact counts: the numerators of Top-Down bounds.

#ifndef TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_
#define TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_

#include <array>
#include <map>
#include <optional>
#include <string>

#include "harness/exact/instructions/counts.h"

namespace topdnn {

// Sums over all threads, except `code_bytes`. `instructions`, `slow_instructions` and
// `predicted_branches` exclude the OpenMP runtime's own instructions (starting teams, waiting),
// because their number changes from run to run.
struct CoreWork {
  double instructions = 0;
  double slow_instructions = 0;     // those that may take long: divisions, gathers, ...
  double fusible_instructions = 0;  // some cores fuse these with a neighbour: see ExactCounts
  double instruction_bytes = 0;     // of the executed code, counted per execution
  double conditional_branches = 0;
  double predicted_branches = 0;  // conditional and indirect ones
  double taken_branches = 0;
  // Of conditional branches, mispredicted ones at most, and distinct blocks of code. Absent in the
  // counts of an earlier version, whose branches are those in their rarer direction.
  std::optional<double> missed_branches, code_blocks;
  double system_calls = 0;
  std::array<double, kFpWidths> fp = {};  // as FP_ARITH_INST_RETIRED counts
  double loads = 0, stores = 0;
  double load_bytes = 0, store_bytes = 0;
  // Slots of the pipeline that it takes at most, if those of its instructions were measured.
  std::optional<double> most_slots;
  // Cycles in which the front end delivers the instructions, mispredictions included, at most, if
  // that was measured with the code in the caches.
  std::optional<double> delivery_cycles;
  // Cycles that cold code costs at most: those beyond the time with hot code and data in L1.
  std::optional<double> cold_cycles;
  double code_bytes = 0;  // distinct code that was executed, once for all threads
};

// From the events of the source `exact`; absent if one of them is absent.
std::optional<CoreWork> CoreWorkOf(const std::map<std::string, std::optional<double>>& events);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_
