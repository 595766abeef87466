// The tables of the experiments on data in L1, on the number of threads and on bandwidth.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_
#define TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_

#include <string>

#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// The time with data in L1, the speedup by the number of threads, the bandwidth by the resource.
// Empty if the report has no such experiment.
std::string CoreTable(const Report& report, const Style& style,
                      const StageTableOptions& stages = {});
std::string WidthTable(const Report& report, const Style& style,
                       const StageTableOptions& stages = {});
std::string BandwidthTable(const Report& report, const Style& style,
                           const StageTableOptions& stages = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_
