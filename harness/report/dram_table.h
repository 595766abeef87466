// The DRAM traffic of each stage as the memory controllers counted it, beside the bytes that the
// stage cannot do without: what exceeds them was evicted and fetched again, or is a neighbour's.

#ifndef TOPDNN_HARNESS_REPORT_DRAM_TABLE_H_
#define TOPDNN_HARNESS_REPORT_DRAM_TABLE_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// Empty when no stage has such counts.
std::string DramTableText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_DRAM_TABLE_H_
