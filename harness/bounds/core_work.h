// What a region asked of the cores, from its exact counts: the numerators of Top-Down bounds.

#ifndef TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_
#define TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_

#include <array>
#include <map>
#include <optional>
#include <string>

#include "harness/exact/counts.h"

namespace topdnn {

// Of all threads together. The OpenMP runtime's own instructions (starting teams, waiting) are left
// out of `instructions`, as their number is another one in each run.
struct CoreWork {
  double instructions = 0;
  double slow_instructions = 0;  // those among them that may take long: divisions, gathers, ...
  double conditional_branches = 0;
  double taken_branches = 0;
  double minority_branches = 0;  // sum of min(taken, not taken) over the branches
  double indirect_branches = 0;
  std::array<double, kFpWidths> fp = {};  // as FP_ARITH_INST_RETIRED counts
  double loads = 0, stores = 0;
  double load_bytes = 0, store_bytes = 0;
  double code_bytes = 0;  // distinct code that was executed
};

// From the events of the source `exact`; absent when one of them is.
std::optional<CoreWork> CoreWorkOf(const std::map<std::string, std::optional<double>>& events);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_BOUNDS_CORE_WORK_H_
