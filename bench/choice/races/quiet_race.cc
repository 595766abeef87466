#include "bench/choice/races/quiet_race.h"

#include <algorithm>

#include "harness/measure/disturbance.h"
#include "harness/probes/probe.h"

namespace topdnn {

QuietRace::QuietRace(int threads) : check_(threads), before_(check_.Read()) {}

bool QuietRace::Disturbed() {
  const QuietReading after = check_.Read();
  const QuietReading best = Best(before_, after);
  // A probe that can run but has no rate had no CPU for itself.
  const bool busy = WidestProbe(ProbeKind::kFma, "f32") != nullptr &&
                    (!before_.flops_per_second || !after.flops_per_second);
  return busy || std::min(QuietRatio(best, before_).value_or(1),
                          QuietRatio(best, after).value_or(1)) < kMinQuietRatio;
}

}  // namespace topdnn
