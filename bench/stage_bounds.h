// What follows from the exact counts of a profile: Top-Down bounds and the coordinates of a
// roofline, for each stage and for the step.

#ifndef TOPDNN_BENCH_STAGE_BOUNDS_H_
#define TOPDNN_BENCH_STAGE_BOUNDS_H_

#include <optional>
#include <vector>

#include "harness/disturbance.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/record.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// What is known of the machine that was measured.
struct BoundsMachine {
  std::optional<CoreRates> rates;  // at the report's width, before and after the run
  CorePipeline pipeline;
  std::vector<Ceiling> ceilings;  // at the report's width
  std::vector<Cache> caches;      // none: no byte is taken to have left them
  Disturbance seen;               // around the run
};

// Fills `topdown_bounds` or `bounds_reason` where a record has exact counts, and `roofline` where
// it has operations.
void AddBounds(const BoundsMachine& machine, Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STAGE_BOUNDS_H_
