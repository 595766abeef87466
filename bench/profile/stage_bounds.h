// Computes Top-Down bounds and roofline coordinates from the exact counts of a profile, for each
// stage and for the step.

#ifndef TOPDNN_BENCH_PROFILE_STAGE_BOUNDS_H_
#define TOPDNN_BENCH_PROFILE_STAGE_BOUNDS_H_

#include <optional>
#include <vector>

#include "harness/disturbance.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/record.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// The known properties of the measured machine.
struct BoundsMachine {
  std::optional<CoreRates> rates;  // at the report's width, before and after the run
  CorePipeline pipeline;
  std::vector<Ceiling> ceilings;  // at the report's width
  std::vector<Cache> caches;      // empty: no byte is assumed to leave the caches
  Disturbance seen;               // around the run
};

// Fills `topdown_bounds` or `bounds_reason` of each record with exact counts, and `roofline` of
// each record with operations.
void AddBounds(const BoundsMachine& machine, Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_STAGE_BOUNDS_H_
