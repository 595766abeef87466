// The tables of the experiments on the number of threads and on bandwidth.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_
#define TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_

#include <string>

#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// The speedup by the number of threads, and the bandwidth by the resource. Empty if the report has
// no such experiment.
std::string WidthTable(const Report& report, const Style& style,
                       const StageTableOptions& stages = {});
std::string BandwidthTable(const Report& report, const Style& style,
                           const StageTableOptions& stages = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_SCALING_TABLES_H_
