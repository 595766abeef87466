// The DRAM traffic of each stage as the memory controllers counted it, next to the stage's
// compulsory bytes. The excess is data that was evicted and fetched again, or a neighbour's
// traffic.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_DRAM_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_DRAM_TABLE_H_

#include <string>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// Empty if no stage has such counts.
std::string DramTableText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_DRAM_TABLE_H_
