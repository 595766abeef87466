// The Top-Down profile of every stage as a table: how its pipeline slots are used.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_TOPDOWN_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_TOPDOWN_TABLE_H_

#include <string>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// One line per stage and one for the step, if it has a profile: the nodes of level 1, and
// Memory_Bound and Core_Bound of level 2. Empty if no stage has a profile.
std::string TopdownTableText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_TOPDOWN_TABLE_H_
