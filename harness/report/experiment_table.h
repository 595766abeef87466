// The table of an experiment, and what its intervals mean for whoever wants to make a stage faster.

#ifndef TOPDNN_HARNESS_REPORT_EXPERIMENT_TABLE_H_
#define TOPDNN_HARNESS_REPORT_EXPERIMENT_TABLE_H_

#include <string>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// Empty without an experiment.
std::string ExperimentTable(const Report& report, const Style& style);

// "conv4 backward weights: 41 % (38 to 44) waits for memory: at most 1.8 x faster by fewer misses,
// 1.0 x by ...": of the stages in which memory costs the step the most time, at most `count` lines.
std::string ExperimentAdvice(const Report& report, const Style& style, std::size_t count);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_EXPERIMENT_TABLE_H_
