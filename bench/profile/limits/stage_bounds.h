// Computes Top-Down bounds and roofline coordinates from exact counts: for each stage and for the
// step of a profile, or for a kernel that was measured by itself.

#ifndef TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BOUNDS_H_
#define TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BOUNDS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/machine/topology.h"
#include "harness/measure/disturbance.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/results/record.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// The known properties of the measured machine.
struct BoundsMachine {
  std::optional<CoreRates> rates;  // at the report's width; those before and after the run combined
  CorePipeline pipeline;
  std::vector<Ceiling> ceilings;      // at the report's width
  std::vector<Cache> caches;          // empty: all data is assumed to fit in the caches
  Disturbance seen;                   // the observations around the run
  std::string regime = "in-network";  // of the records that were measured in that run
};

// The clock, the threads and the caches of the run, without a time.
CoreTime CoreTimeOf(const BoundsMachine& machine);

// Fills `topdown_bounds` or `bounds_reason` of each record with exact counts, and `roofline` of
// each record with operations.
void AddBounds(const BoundsMachine& machine, Report& report);
// The same for one record.
void AddBounds(const BoundsMachine& machine, Record& record);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_LIMITS_STAGE_BOUNDS_H_
