// The cost of being in a network: each stage's time there, compared with its times by itself with
// hot caches (its operands are in them) and with cold caches.

#ifndef TOPDNN_HARNESS_REPORT_TABLES_CONTEXT_GAP_H_
#define TOPDNN_HARNESS_REPORT_TABLES_CONTEXT_GAP_H_

#include <optional>
#include <string>

#include "harness/results/record.h"
#include "harness/text/style.h"

namespace topdnn {

// Median times in seconds, of one stage or summed over several stages.
struct ContextGap {
  double hot = 0;
  double cold = 0;
  double in_network = 0;

  // The time that the network adds to the hot time; below 0 if the stage is faster in the network.
  // CachesAtMost is the part that cold caches can explain. Rest is the part that no cache explains:
  // threads of another stage, pending writes, a clock limited by power.
  double Added() const { return in_network - hot; }
  double CachesAtMost() const;
  double Rest() const { return Added() - CachesAtMost(); }
};

// Absent if one of the three times is.
std::optional<ContextGap> ContextGapOf(const Record& record);

// The table of all stages, with separate sums for kernels and reorders, and a sentence that
// compares the step with them. Empty if no stage has all three times.
std::string ContextGapText(const Report& report, const Style& style);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_TABLES_CONTEXT_GAP_H_
