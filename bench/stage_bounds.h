// What the exact counts of a profile tell beyond themselves: Top-Down bounds and the coordinates of
// a roofline, for each stage and for the step.

#ifndef TOPDNN_BENCH_STAGE_BOUNDS_H_
#define TOPDNN_BENCH_STAGE_BOUNDS_H_

#include <vector>

#include "harness/disturbance.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/record.h"

namespace topdnn {

// Fills `topdown_bounds` where a record has exact counts and `seen` tells the core's clock, and
// `roofline` where it has operations. `rates` and `ceilings` are of the width that the report is,
// `caches` those of the machine that was measured; where none is known, no byte is taken to have
// left them.
void AddBounds(const CoreRates& rates, const std::vector<Ceiling>& ceilings,
               const std::vector<Cache>& caches, const Disturbance& seen, Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STAGE_BOUNDS_H_
