// What a reader sees before the table: the verdict on the run, and the stages that take the most
// time.

#ifndef TOPDNN_HARNESS_REPORT_OPENING_H_
#define TOPDNN_HARNESS_REPORT_OPENING_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// "verdict: OK" or "verdict: DEGRADED: REASON", and the records that differ from it, one line for
// each status and reason. Lines are wrapped to the style's width.
std::string VerdictText(const Report& report, const Style& style);

// "most time: conv2 forward 19.0 % (96.8 % of peak), ...": up to three stages, each with its share
// of the step and the node or the share of peak that explains it. Empty without times.
std::string CostliestText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_OPENING_H_
