// The stages of a run as a table, with the sums of the groups below them.

#ifndef TOPDNN_HARNESS_REPORT_STAGE_TABLE_H_
#define TOPDNN_HARNESS_REPORT_STAGE_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

struct StageTableOptions {
  // One of StageSortNames(). Empty: the order of the run, or "time" if `top` is given.
  std::string sort{};
  std::optional<std::size_t> top{};  // this many stages, and one row for all others
  std::vector<std::string>
      columns{};  // of StageColumnNames(), in this order; empty: the usual ones
};

std::vector<std::string> StageSortNames();
std::vector<std::string> StageColumnNames();

// The stages that the options select, in their order; without those that --top leaves out. Throws
// std::invalid_argument for an unknown order.
std::vector<const Record*> ShownStages(const Report& report, const StageTableOptions& options);

// Shares are of SecondsForShares. Bars are relative to the longest stage. Of the columns
// "executed" and "status", only those with content are shown. Throws std::invalid_argument for an
// unknown name.
std::string StageTableText(const Report& report, const Style& style,
                           const StageTableOptions& options = {});

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_STAGE_TABLE_H_
