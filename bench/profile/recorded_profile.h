// A plan's profile to a file and back: `profile --record` and `--counters replay:FILE`.

#ifndef TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_
#define TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/profile/plan_profile.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/results/fed_step.h"
#include "harness/results/recording.h"
#include "networks/planning/planner.h"

namespace topdnn {

// The measured part of the profile; the caller sets command, machine, subject, smt and notes.
Recording RecordingOf(const PlanProfile& profile);

// The recorded profile of this plan. Throws InputError, in one line that begins with `where`,
// if the recording does not have these stages in this order, or has more checks or isolated stages.
PlanProfile ProfileOf(const Recording& recording, const Plan& plan, const std::string& where);

// The machine's rates, ceilings and caches; absent or empty if the recording has none. Throw
// InputError if a part of them is missing or of another type.
std::optional<CoreRates> CoreRatesOf(const Recording& recording, const std::string& where);
std::vector<Ceiling> CeilingsOf(const Recording& recording, const std::string& where);
std::vector<Cache> CachesOf(const Recording& recording, const std::string& where);

// The key of the recorded subject that holds the choice of `--backend auto`. A replay plans with
// this choice and reports it.
inline constexpr char kChoice[] = "choice";
struct RecordedChoice {
  std::string text;
  std::map<LayerPass, std::vector<std::string>> variants;  // PlanRequest::variants
};
nlohmann::ordered_json ToJson(const RecordedChoice& choice);
// Throws InputError if the recording has none, or a damaged one.
RecordedChoice ChoiceOf(const Recording& recording, const std::string& where);

// The key of the recorded subject that holds the steps fed by their input pipeline. FedStepOf is
// absent if they were not measured, and throws InputError if they are damaged.
inline constexpr char kFedStep[] = "fed_step";
nlohmann::ordered_json ToJson(const FedStep& fed);
std::optional<FedStep> FedStepOf(const Recording& recording, const std::string& where);

// The key of the recorded subject that holds MeasuredProfile::measuring_seconds; absent in a
// recording of an earlier version.
inline constexpr char kMeasuringSeconds[] = "measuring_seconds";
std::optional<double> MeasuringSecondsOf(const Recording& recording);

// The key of the recorded subject that holds MeasuredProfile::denormal_note. DenormalNoteOf is
// empty if there was none, and throws InputError if it is not a text.
inline constexpr char kDenormalNote[] = "denormal_note";
std::string DenormalNoteOf(const Recording& recording, const std::string& where);

// Throws InputError if the recorded subject differs from `asked` in a key of `asked`.
void CheckSubject(const Recording& recording, const nlohmann::ordered_json& asked,
                  const std::string& where);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_RECORDED_PROFILE_H_
