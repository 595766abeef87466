// The check before timing, for networks of any size: large ones are checked as the same graph on
// smaller images.

#ifndef TOPDNN_BENCH_VALIDATION_STEP_CHECK_H_
#define TOPDNN_BENCH_VALIDATION_STEP_CHECK_H_

#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "harness/user_cache/cache_folder.h"
#include "networks/plan/check.h"

namespace topdnn {

struct StepChecks {
  std::vector<StageCheck> stages;  // of the plan, one per stage
  // What was checked instead of the plan, and which checks show little; or empty.
  std::string note;
};

// How many checks compared mostly zeros, in one line; empty if none did.
std::string NoteOfZeros(const Plan& plan, const std::vector<StageCheck>& checks);

// Checks every stage of the plan against the reference, on the data in the plan. A stage that
// disagrees is returned.
//
// A step of more than kMaxCheckedMacs takes the reference too long. A network of the zoo is then
// checked on NetworkOffer::small, with a batch of two and ten classes; an ONNX file with a batch of
// one, unless its shapes fix the batch. Stages are matched by name and pass, and the note says how
// many use another implementation there. Reorders are always checked in the plan itself.
//
// Results of an earlier run in `cache` (known_checks.h) are used if a random sample of layers still
// agrees; the note says so. If not, all stages are checked. New results are stored there.
StepChecks CheckStep(const WorkloadOptions& options, bool training, Plan& plan,
                     const CacheFolder& cache = CacheFolder::OfUser());

// The same. Throws std::runtime_error with the first stage that disagrees.
void RequireStep(const WorkloadOptions& options, bool training, Plan& plan);

inline constexpr std::int64_t kMaxCheckedMacs = std::int64_t{4} * 1000 * 1000 * 1000;

}  // namespace topdnn

#endif  // TOPDNN_BENCH_VALIDATION_STEP_CHECK_H_
