// Tables of derived figures: Top-Down bounds and the coordinates of a roofline. They are separate
// from the measured stages, under a heading that says what they are.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_BOUNDS_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_BOUNDS_TABLE_H_

#include <string>
#include <string_view>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// A line for each stage that has bounds, and one for the step: intervals in percent of the slots,
// and a strip of their lower ends. Below it is each reason for missing bounds, once. Empty if there
// are neither bounds nor reasons.
// `what` is the name of the first column.
std::string BoundsTable(const Report& report, const Style& style,
                        const std::string& what = "stage");

// The bound of a node; null if there is none.
const Bound* FindBound(const TopdownBounds& bounds, const char* node);

// "12-38", in percent, rounded outward; `absent` if the bound is null.
std::string BoundText(const Bound* bound, std::string_view absent);

// A line for each stage that has a roofline: FLOP/s, intensities, the lowest roof, and the share of
// that roof. Empty if no stage has one.
std::string RooflineTable(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_BOUNDS_TABLE_H_
