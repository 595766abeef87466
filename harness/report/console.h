// A run as a table for a person: the stages in their order, the groups with what they leave over,
// the step.

#ifndef TOPDNN_HARNESS_REPORT_CONSOLE_H_
#define TOPDNN_HARNESS_REPORT_CONSOLE_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// The whole table with a newline at its end, no line wider than the style's width (but for reasons
// and notes, which are sentences). A share is of the step's median; bars are relative to the
// longest stage.
std::string ConsoleText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_CONSOLE_H_
