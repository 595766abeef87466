// A plan's profile to a file and back: `profile --record` and `--counters replay:FILE`.

#ifndef TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_
#define TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/profile/plan_profile.h"
#include "harness/fed_step.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/recording.h"
#include "networks/planner.h"

namespace topdnn {

// The measured part of the profile; the caller sets command, machine, subject, smt and notes.
Recording RecordingOf(const PlanProfile& profile);

// The recorded profile of this plan. Throws RecordingError, in one line that begins with `where`,
// if the recording does not have these stages in this order.
PlanProfile ProfileOf(const Recording& recording, const Plan& plan, const std::string& where);

// The machine's rates, ceilings and caches, as far as the recording has them. Throw RecordingError.
std::optional<CoreRates> CoreRatesOf(const Recording& recording, const std::string& where);
std::vector<Ceiling> CeilingsOf(const Recording& recording, const std::string& where);
std::vector<Cache> CachesOf(const Recording& recording, const std::string& where);

// The choice of `--backend auto`, under this key of the recorded subject. A replay plans with it
// and reports it.
inline constexpr char kChoice[] = "choice";
struct RecordedChoice {
  std::string text;
  std::map<LayerPass, std::vector<std::string>> variants;  // PlanRequest::variants
};
nlohmann::ordered_json ToJson(const RecordedChoice& choice);
// Throws RecordingError if the recording has none.
RecordedChoice ChoiceOf(const Recording& recording, const std::string& where);

// The steps that were fed by their input pipeline, under this key of the recorded subject; absent
// if they were not measured. Throws RecordingError.
inline constexpr char kFedStep[] = "fed_step";
nlohmann::ordered_json ToJson(const FedStep& fed);
std::optional<FedStep> FedStepOf(const Recording& recording, const std::string& where);

// MeasuredProfile::measuring_seconds, under this key of the recorded subject; absent in a recording
// of a version without it.
inline constexpr char kMeasuringSeconds[] = "measuring_seconds";
std::optional<double> MeasuringSecondsOf(const Recording& recording);

// Throws RecordingError if the recorded subject differs from `asked` in one of its keys.
void CheckSubject(const Recording& recording, const nlohmann::ordered_json& asked,
                  const std::string& where);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_
