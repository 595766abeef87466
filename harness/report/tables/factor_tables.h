// The tables of the experiments on denormals and on pages: the factor between two conditions.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_FACTOR_TABLES_H_
#define TOPDNN_HARNESS_REPORT_TABLES_FACTOR_TABLES_H_

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// "1.62-1.71", rounded outward.
inline std::string FactorInterval(const Interval& interval) {
  return fmt::format("{:.2f}-{:.2f}", std::floor(interval.low * 100) / 100,
                     std::ceil(interval.high * 100) / 100);
}

// Empty if the report has no such experiment.
std::string DenormalsTable(const Report& report, const Style& style,
                           const StageTableOptions& stages = {});
std::string PagesTable(const Report& report, const Style& style,
                       const StageTableOptions& stages = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_FACTOR_TABLES_H_
