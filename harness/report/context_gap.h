// What being in a network costs each stage: its time there beside its times by itself, with its
// operands in the caches and with none.

#ifndef TOPDNN_HARNESS_REPORT_CONTEXT_GAP_H_
#define TOPDNN_HARNESS_REPORT_CONTEXT_GAP_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/record.h"
#include "harness/report/style.h"

namespace topdnn {

// The seconds of a stage, or sums of several stages' seconds; medians.
struct ContextGap {
  double hot = 0;
  double cold = 0;
  double in_network = 0;

  // What the network adds to the hot time, in two parts: as much of it as cold caches alone would
  // add, at most, and what no cache explains (another stage's threads, writes still under way, a
  // clock that power limits). Below 0 where the stage is faster in the network.
  double Added() const { return in_network - hot; }
  double CachesAtMost() const;
  double Rest() const { return Added() - CachesAtMost(); }
};

// Absent where one of the three times is.
std::optional<ContextGap> ContextGapOf(const Record& record);

// The table of all stages, reorders and the others in sums of their own, and the sentence that sets
// the step beside them. Empty when no stage has all three times.
std::string ContextGapText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_CONTEXT_GAP_H_
