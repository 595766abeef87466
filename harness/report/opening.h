// The lines above the table: the verdict on the run, and the stages that take the most time.

#ifndef TOPDNN_HARNESS_REPORT_OPENING_H_
#define TOPDNN_HARNESS_REPORT_OPENING_H_

#include <string>
#include <string_view>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// "DEGRADED: REASON", or "OK".
std::string StatusText(Status status, std::string_view reason);

// Whether the verdict of a stage must be printed in addition to that of the step: its status
// differs, or its reason has a part that the step's reason lacks.
bool StandsOut(const Record& stage, const Record& step);

// "verdict: OK" or "verdict: DEGRADED: REASON", then the stages with another verdict: one line for
// each status and reason, without the parts of the step's reason. Lines are wrapped to the style's
// width.
std::string VerdictText(const Report& report, const Style& style);

// "most time: conv2 forward 19.0 % (96.8 % of peak); ...": up to three stages, each with its share
// of the step and what binds it; if that is not known, its share of peak and its largest loss of
// Top-Down. Empty without times.
std::string CostliestText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_OPENING_H_
