// The Top-Down tree of each stage, of each pass and of the step, from all evidence in the records,
// and what limits each of them (harness/bounds/topdown_tree.h, bound_by.h).

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TREE_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TREE_H_

#include "bench/profile/limits/stage_bounds.h"
#include "harness/results/record.h"

namespace topdnn {

// Fills `tree`, `bound_by` and their reasons. The records are judged, and have the results of the
// experiments.
void AddTrees(const BoundsMachine& machine, Report& report);

// The same for one record.
void AddTree(const BoundsMachine& machine, Record& record);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_STAGE_TREE_H_
