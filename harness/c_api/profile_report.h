// The report of a profile that was measured step by step, in the form of `topdnn profile`.

#ifndef TOPDNN_HARNESS_C_API_PROFILE_REPORT_H_
#define TOPDNN_HARNESS_C_API_PROFILE_REPORT_H_

#include <string>

#include "harness/c_api/step_meter.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// Judged. `command` and `program` may be empty.
Report ReportOfSteps(StepMeter& meter, const std::string& command, const std::string& program);

// The verdict, the stages, the step and the notes.
std::string TableOfSteps(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_C_API_PROFILE_REPORT_H_
