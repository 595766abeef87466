// The Top-Down profile of every stage as a table: where its pipeline slots go.

#ifndef TOPDNN_HARNESS_REPORT_TOPDOWN_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TOPDOWN_TABLE_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// A line a stage and one for the step: level 1, and of level 2 the two that say what a kernel waits
// for. Empty when no stage has a profile.
std::string TopdownTableText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TOPDOWN_TABLE_H_
