// The energy of a step from an external meter's readings (--energy).

#ifndef TOPDNN_BENCH_PROFILE_METER_ENERGY_H_
#define TOPDNN_BENCH_PROFILE_METER_ENERGY_H_

#include <string>

#include "bench/profile/plan_profile.h"
#include "harness/results/record.h"

namespace topdnn {

// Throws UsageError if the file cannot be read or has another form.
void CheckMeterFile(const std::string& file);

// Adds the joules of a step: the mean power while the steps were timed, for a step's median time;
// and of the idle machine, from the readings before the program began. A meter is too slow for
// stages. Waits up to `patience` seconds for a meter that still writes. Without enough readings, a
// note says what is missing.
void AddMeterEnergy(const std::string& file, const MeasuredClock& clock, double patience,
                    Report& report);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_METER_ENERGY_H_
