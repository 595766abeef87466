// Measures a plan: every stage checked against the reference, then timed in the network and by
// itself, and told as records against this machine's ceilings.

#ifndef TOPDNN_BENCH_PLAN_PROFILE_H_
#define TOPDNN_BENCH_PLAN_PROFILE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/images.h"
#include "bench/step_check.h"
#include "bench/workload.h"
#include "harness/mark_overhead.h"
#include "harness/measure.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/quiet.h"
#include "harness/record.h"

namespace topdnn {

enum class Regime { kInNetwork, kIsolatedHot, kIsolatedCold };

std::string_view NameOf(Regime regime);
std::vector<std::string> RegimeNames();

struct ProfileSettings {
  Regime regime = Regime::kInNetwork;
  std::optional<std::int64_t> iterations;
  double seconds = 5.0;            // of timed steps
  double isolated_seconds = 0.15;  // of each stage by itself
  // Measure each stage by itself, and what the marks cost, besides.
  bool isolate = true;
  // Measure each stage by itself with hot and with cold caches, whatever the regime.
  bool context_gap = false;
  // Sources to count with; see OpenSources.
  std::vector<CounterSource*> sources;
  const std::atomic<bool>* cancel = nullptr;
  // The best speeds of the probes that are known of this machine.
  QuietReading best_reading;
  // A line about what is going on, and its share done in [0, 1].
  std::function<void(std::string_view what, double share)> progress;
};

// All that was measured of a plan, one entry a stage where there are several.
struct PlanProfile {
  StepChecks checks;
  SequenceSamples in_network;
  std::optional<MarkOverhead> overhead;
  std::vector<SequenceSamples> isolated;  // hot, unless the regime is isolated-cold; may be short
  // In the other of the two regimes; with a context gap only.
  std::vector<SequenceSamples> isolated_otherwise;
  QuietReading best_reading;  // the fastest that the probes ran during this profile
};

// "conv1 forward": a stage's name in its samples.
std::string LabelOf(const Stage& stage);

// The names of the ceilings that the plan's stages are compared with, and of the bandwidth roofs.
std::vector<std::string> CeilingNamesOf(const Plan& plan, const std::vector<Ceiling>& ceilings);

// Checks as CheckStep does, then measures. The workload is what `options` ask for.
PlanProfile ProfilePlan(const WorkloadOptions& options, bool training, Plan& plan,
                        TrainingImages& images, const ProfileSettings& settings);

// The verdict on the stages that were measured by themselves: OK unless a tenth of their time was
// disturbed.
Verdict IsolatedVerdict(const PlanProfile& profile);

// The records of a profile, and the notes that explain it, before the validity pass.
Report ReportOf(const Plan& plan, const PlanProfile& profile, const std::vector<Ceiling>& ceilings,
                Regime regime);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PLAN_PROFILE_H_
