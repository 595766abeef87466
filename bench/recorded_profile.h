// A plan's profile to a file and back: `profile --record` and `--counters replay:FILE`.

#ifndef TOPDNN_BENCH_RECORDED_PROFILE_H_
#define TOPDNN_BENCH_RECORDED_PROFILE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan_profile.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/recording.h"
#include "networks/planner.h"

namespace topdnn {

// What of the profile is measured; command, machine, subject, smt and notes are the caller's.
Recording RecordingOf(const PlanProfile& profile);

// The profile that was recorded, of this plan. Throws RecordingError, in one line that begins with
// `where`, when the recording is not of these stages in this order.
PlanProfile ProfileOf(const Recording& recording, const Plan& plan, const std::string& where);

// The machine's rates, ceilings and caches as the recording tells them, those that it can. Throw
// RecordingError.
std::optional<CoreRates> CoreRatesOf(const Recording& recording, const std::string& where);
std::vector<Ceiling> CeilingsOf(const Recording& recording, const std::string& where);
std::vector<Cache> CachesOf(const Recording& recording, const std::string& where);

// What `--backend auto` chose, under this key of the recorded subject: for a replay to plan by and
// to say.
inline constexpr char kChoice[] = "choice";
struct RecordedChoice {
  std::string text;
  std::map<LayerPass, std::vector<std::string>> variants;  // PlanRequest::variants
};
nlohmann::ordered_json ToJson(const RecordedChoice& choice);
// Throws RecordingError when the recording does not have one.
RecordedChoice ChoiceOf(const Recording& recording, const std::string& where);

// Throws RecordingError when the recorded subject differs from `asked` in one of its keys.
void CheckSubject(const Recording& recording, const nlohmann::ordered_json& asked,
                  const std::string& where);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RECORDED_PROFILE_H_
