#include "bench/choice/races/quiet_race.h"

#include <algorithm>

#include "harness/measure/disturbance.h"

namespace topdnn {

QuietRace::QuietRace(int threads) : check_(threads), before_(check_.Read()) {}

bool QuietRace::Disturbed() {
  const QuietReading after = check_.Read();
  const QuietReading best = Best(before_, after);
  return std::min(QuietRatio(best, before_).value_or(1), QuietRatio(best, after).value_or(1)) <
         kMinQuietRatio;
}

}  // namespace topdnn
