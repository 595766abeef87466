// A run as a table for a person: the stages in their order, the groups with what they leave over,
// the step.

#ifndef TOPDNN_HARNESS_REPORT_CONSOLE_H_
#define TOPDNN_HARNESS_REPORT_CONSOLE_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

struct ConsoleOptions {
  bool explain = false;  // print every note, not only the main ones
};

// The verdict, the costliest stages, the table and the notes, with a newline at the end. Lines are
// cut or wrapped to the style's width. A share is of the step's median; bars are relative to the
// longest stage.
std::string ConsoleText(const Report& report, const Style& style,
                        const ConsoleOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_CONSOLE_H_
