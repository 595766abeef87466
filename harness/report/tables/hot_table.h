// The loops that a stage executes, with their instructions, as text.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_HOT_TABLE_H_
#define TOPDNN_HARNESS_REPORT_TABLES_HOT_TABLE_H_

#include <string>

#include "harness/hot/hot_loops.h"
#include "harness/results/record.h"

namespace topdnn {

// The loops with a listing; empty if none has one. `name`: "conv1 forward".
std::string HotLoopsText(const std::string& name, const std::string& implementation,
                         const HotLoops& hot);
// The listed loops alone.
std::string ListedLoopsText(const HotLoops& hot);
// Of all stages, and why a stage has none if others have.
std::string HotTableText(const Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_HOT_TABLE_H_
