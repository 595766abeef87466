// The table of the memory experiment, and what its intervals mean for an engineer who wants to make
// a stage faster.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_EXPERIMENT_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_EXPERIMENT_TABLE_H_

#include <string>

#include "harness/report/stage_table.h"
#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// Empty without the experiment. With the counts of a PMU, the PMU's Memory_Bound is printed next to
// the interval, with its distance from the interval. It includes the waits for L1, L2 and stores,
// so it may be above the interval.
std::string ExperimentTable(const Report& report, const Style& style,
                            const StageTableOptions& stages = {});

// One line for each of the `count` stages in which memory costs the step the most time, or fewer:
// "conv4 backward weights: 41 % (38 to 44) waits for memory: at most 1.8 x faster without these
// waits, and at most 2.6 x with fewer instructions".
std::string ExperimentAdvice(const Report& report, const Style& style, std::size_t count);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_EXPERIMENT_TABLE_H_
