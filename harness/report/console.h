// A run as a table for a person: the stages in their order, totals by pass, the step.

#ifndef TOPDNN_HARNESS_REPORT_CONSOLE_H_
#define TOPDNN_HARNESS_REPORT_CONSOLE_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// The sum of some stages. A figure is absent when any stage lacks its part of it.
struct Total {
  std::string name;  // "forward", "backward", ...
  int stages = 0;
  std::optional<double> seconds;  // sum of the medians
  std::optional<double> gflops;
  std::optional<double> peak_fraction;  // when all have one ceiling
};

// Pure: forward, backward (by data and by weights together), update, reorder, loss, then any other
// pass, each if some stage has it.
std::vector<Total> TotalsByPass(const std::vector<Record>& stages);

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
