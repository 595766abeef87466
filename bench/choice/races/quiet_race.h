// Whether another load disturbed a race of candidates. The choice of a disturbed race is not
// stored.

#ifndef TOPDNN_BENCH_CHOICE_RACES_QUIET_RACE_H_
#define TOPDNN_BENCH_CHOICE_RACES_QUIET_RACE_H_

#include "harness/probes/quiet.h"

namespace topdnn {

class QuietRace {
 public:
  // Takes the first reading: construct it before the race.
  explicit QuietRace(int threads);

  // Takes the second reading. True if one of the two readings is less than kMinQuietRatio
  // (harness/measure/disturbance.h) of the better one.
  bool Disturbed();

 private:
  QuietCheck check_;
  QuietReading before_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CHOICE_RACES_QUIET_RACE_H_
