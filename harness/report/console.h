// A run as text for a person: the verdict, the costliest stages, the table of all stages, the step,
// and notes.

#ifndef TOPDNN_HARNESS_REPORT_CONSOLE_H_
#define TOPDNN_HARNESS_REPORT_CONSOLE_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

struct ConsoleOptions {
  bool explain = false;  // print every note, not only the main ones
  bool quiet = false;    // print neither the table nor notes
  StageTableOptions stages{};
  // Experiments that were asked for by name: their own tables are printed. The results of those by
  // default are in the tree.
  std::vector<std::string> experiments{};

  bool AsksFor(std::string_view experiment) const {
    return std::find(experiments.begin(), experiments.end(), experiment) != experiments.end();
  }
};

// "network cnn, batch 64, dtype f32"; empty without a subject.
std::string SubjectText(const Report& report);

// "step: 12.3 ms (min 12.1 ms, p90 12.9 ms, n 60), 10400 images/s, ...", and a newline.
std::string StepText(const Report& report, const Style& style);

// Lines are cut or wrapped to the style's width; the last one ends with a newline.
std::string ConsoleText(const Report& report, const Style& style,
                        const ConsoleOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_CONSOLE_H_
