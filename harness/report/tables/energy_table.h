// The energy of each long stage, of the step and of an image, as the CPU counted it or an external
// meter read it.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_ENERGY_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_ENERGY_TABLE_H_

#include <string>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// The event of an external meter, in joules: of the whole machine.
inline constexpr const char* kMeterEvent = "energy/meter";

// Empty if nothing was counted.
std::string EnergyTableText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_ENERGY_TABLE_H_
