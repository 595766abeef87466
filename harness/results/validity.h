// Decides which figures of a report are valid. Measuring produces samples; this pass judges the
// figures derived from them. It is the only place that does so: reports print what is left, and no
// report decides on its own.
//
// A figure that does not hold is removed, or its record gets a status and the reason:
//
//   time           of a stage that depends on a speed that moved (JudgeSpeeds): DEGRADED, and its
//                  interval is widened by what the speeds explain; of a result that is wrong:
//                  removed; of a step of 0 s: INVALID, removed
//   ceiling        INVALID or not measured: removed from the record, so the share is absent;
//                  DEGRADED: the record is DEGRADED, too
//   share of peak  above kMaxPeakFraction: the record is INVALID, and so is the ceiling, which no
//                  record keeps; of Winograd, or of a step with a stage of it, without counted
//                  operations: only removed
//   groups         a share above kMaxPeakFraction, or of stages without a ceiling: removed
//   roofs          of a ceiling that is not OK: removed, and no roof is the lowest; a region above
//   the roof of memory: that
//                  roof does not apply; above another roof, or INVALID or worse: no roofline
//   bounds         of a record that is not OK: removed
//   regimes        times by regime of a disturbed run: removed, and one note says so
//   notes          that are derived from a step, isolated times or a ceiling that do not hold:
//                  removed, and one note says how many

#ifndef TOPDNN_HARNESS_RESULTS_VALIDITY_H_
#define TOPDNN_HARNESS_RESULTS_VALIDITY_H_

#include <span>
#include <vector>

#include "harness/probes/ceilings.h"
#include "harness/results/record.h"
#include "harness/statistics/status.h"

namespace topdnn {

// Ceilings and stages are both measured to about 1 %. A stage above this share of its ceiling shows
// that the ceiling was measured too low.
inline constexpr double kMaxPeakFraction = 1.02;

// The inputs of the pass besides the report's own records.
struct Evidence {
  std::vector<Ceiling> ceilings;  // with the verdicts of the measurements before and after the run
  Verdict isolated;               // the worst over the stages that were measured by themselves
};

// The share of the time that the record's region waits for memory, estimated from the bytes that it
// must move, and the rate of DRAM (experiments are judged later than times): a region that needs
// half of the rate or more waits for memory for half of its time or more; one that needs less waits
// for at most twice that share. [0, 1] if nothing is known.
Interval MemoryShareOf(std::span<const Ceiling> ceilings, const Record& record);

// Judges one record. The status can only get worse.
void JudgeRecord(std::span<const Ceiling> ceilings, Record& record);

// The ceilings, with those that a record of the report exceeds marked INVALID. Pure.
std::vector<Ceiling> MarkExceeded(std::vector<Ceiling> ceilings, const Report& report);

// Judges the step, every stage and every note.
void JudgeReport(const Evidence& given, Report& report);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESULTS_VALIDITY_H_
