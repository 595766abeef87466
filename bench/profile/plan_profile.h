// Measures a plan: checks every stage against the reference, then times it in the network and by
// itself, and makes records that compare it with this machine's ceilings.

#ifndef TOPDNN_BENCH_PROFILE_PLAN_PROFILE_H_
#define TOPDNN_BENCH_PROFILE_PLAN_PROFILE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "bench/workload/workload.h"
#include "harness/measure/mark_overhead.h"
#include "harness/measure/measure.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/quiet.h"
#include "harness/results/record.h"

namespace topdnn {

enum class Regime { kInNetwork, kIsolatedHot, kIsolatedCold };

std::string_view NameOf(Regime regime);
std::vector<std::string> RegimeNames();

struct ProfileSettings {
  Regime regime = Regime::kInNetwork;
  std::optional<std::int64_t> iterations;
  double seconds = 5.0;            // of timed steps
  double isolated_seconds = 0.15;  // of each stage by itself
  // Also measure each stage by itself, and the cost of the marks.
  bool isolate = true;
  // With `isolate`, measure each stage by itself with hot and with cold caches, in every regime.
  bool context_gap = false;
  // Sources to count with; see OpenSources.
  std::vector<CounterSource*> sources;
  const std::atomic<bool>* cancel = nullptr;
  // The best known speeds of the probes on this machine.
  QuietReading best_reading;
  // Called with a line of progress and the share done, in [0, 1].
  std::function<void(std::string_view what, double share)> progress;
};

// When the steps were timed, in seconds since 1970: to compare with other programs' readings.
struct MeasuredClock {
  double program = 0;  // when the profile began
  double from = 0, to = 0;
  bool was_set = false;  // between them, to another time of day
};

// All measurements of a plan. Lists have one entry per stage; those that were not requested, or
// were cancelled, are shorter or empty.
struct PlanProfile {
  StepChecks checks;
  double check_seconds = 0;
  SequenceSamples in_network;
  std::optional<MarkOverhead> overhead;
  std::vector<SequenceSamples> isolated;  // hot caches, unless the regime is isolated-cold
  // In the other isolated regime; only if a context gap is requested.
  std::vector<SequenceSamples> isolated_otherwise;
  std::string isolated_cut_short;  // how their budget of time ended them; or empty
  QuietReading best_reading;       // the highest speeds of the probes during this profile
  MeasuredClock clock{};
};

// Whether this ceiling, not yet measured, may be one for a stage of the plan, or is a bandwidth.
bool NeedsCeiling(const Plan& plan, const Ceiling& ceiling);
// The names of the ceilings for the plan's stages, and of the bandwidth roofs.
std::vector<std::string> CeilingNamesOf(const Plan& plan, const std::vector<Ceiling>& ceilings);

// Checks as CheckStep does, then measures. The plan is the one of `options`, ready to run. Throws
// std::runtime_error if a library's call failed in a kernel (kernels/kernel/run_failure.h).
PlanProfile ProfilePlan(const WorkloadOptions& options, bool training, Plan& plan,
                        TrainingImages& images, const ProfileSettings& settings);

// The verdict on the stages that were measured by themselves: OK unless more than a tenth of their
// time was disturbed.
Verdict IsolatedVerdict(const PlanProfile& profile);

// The records of a profile, and the notes that explain it, before the validity pass.
Report ReportOf(const Plan& plan, const PlanProfile& profile, const std::vector<Ceiling>& ceilings,
                Regime regime);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_PLAN_PROFILE_H_
