// One row per stage, for spreadsheets and data frames (RFC 4180, with line feeds). A value that was
// not measured is an empty field.

#ifndef TOPDNN_HARNESS_REPORT_EXPORTS_CSV_H_
#define TOPDNN_HARNESS_REPORT_EXPORTS_CSV_H_

#include <string>
#include <string_view>

#include "harness/results/record.h"

namespace topdnn {

// In quotes if it contains a comma, a quote or a line break.
std::string CsvField(std::string_view text);

// A header, then the stages in their order. Each event of any stage is a column "event:NAME", each
// Top-Down node "topdown:NAME".
std::string CsvText(const Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_EXPORTS_CSV_H_
