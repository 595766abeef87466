// Which of the same stages of two programs differ in time, and by how much.
//
// Iterations of one process depend on each other, and two processes of the same program differ in
// the placement of their pages, their neighbours and the clock. So a test of the iterations alone
// finds a difference between any two runs. A stage counts as different only if
//  1. the ranks of its times differ (Mann and Whitney's test of the medians of blocks), and
//  2. its ratio differs from 1 by more than runs differ from each other,
// both at 5 % for all stages together (Holm), and if the 95 % interval of its ratio excludes 1.
//
// With several runs on each side, the runs give the spread between runs. With one run on a side,
// the stages give it (empirical_null.h). The program or the machine may then be the cause of the
// change that the stages have in common. So the intervals include both the ratio and the ratio
// without this change.

#ifndef TOPDNN_HARNESS_STATISTICS_TIME_DIFFERENCES_H_
#define TOPDNN_HARNESS_STATISTICS_TIME_DIFFERENCES_H_

#include <optional>
#include <vector>

#include "harness/statistics/interval.h"

namespace topdnn {

// The times of a stage's iterations in one run, in their order.
using RunTimes = std::vector<double>;

// The runs of a stage (or of the step) on both sides. Run i of a side is the same process for all
// stages. All times are above 0.
struct TimedPair {
  std::vector<RunTimes> a{};
  std::vector<RunTimes> b{};
  // Other work next to the runs of this side made some iterations longer, by an unknown amount.
  // With one run a side, the interval then includes every ratio of times between the 10th
  // percentile and the median.
  bool a_disturbed = false;
  bool b_disturbed = false;
  // The lowest speed of the machine beside a disturbed side, as a share of the best known. Other
  // work may have made all of its iterations longer, by up to 1 / speed.
  double a_speed = 1;
  double b_speed = 1;
  // With one run a side: the least standard deviation of the log ratio of two runs of one program,
  // if more is known about this stage than about the others.
  double least_spread = 0;
};

struct TimeDifference {
  std::optional<double> a;  // median time; of several runs, the median of their medians
  std::optional<double> b;
  std::optional<double> ratio;       // b / a
  std::optional<Interval> interval;  // of the ratio, 95 %
  std::optional<double> p;           // of this test alone
  std::optional<double> effect;      // Cliff's delta of the times, or of the runs' medians
  std::optional<double> adjusted_p;  // with all tests (Judge)
  bool significant = false;          // (Judge)
};

// How the machine changed from A to B, as measured by the runs: the logs of its slowdowns, such as
// one for arithmetic and one for memory. Used for the step with one run a side. If it is empty, or
// the step is disturbed, the change that the stages have in common is used, too.
using MachineChanges = std::vector<double>;

struct TimeDifferences {
  std::vector<TimeDifference> stages;  // in the order of the pairs
  std::optional<TimeDifference> step;
  bool runs_measured = false;    // several runs a side give the spread between runs
  std::optional<double> common;  // the ratio that the stages have in common
  // The standard deviation of an unchanged long stage's log ratio (with several runs a side: of its
  // log time). Absent: not known, and then no stage is significant.
  std::optional<double> spread;
};

// Estimates every difference. `significant` and `adjusted_p` are left for Judge.
TimeDifferences EstimateDifferences(const std::vector<TimedPair>& stages,
                                    const std::optional<TimedPair>& step,
                                    const MachineChanges& machine);

// Corrects the p-values of all the differences together and decides which are significant.
void Judge(const std::vector<TimeDifference*>& differences);

// The level of all tests together.
inline constexpr double kFamilyLevel = 0.05;

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_TIME_DIFFERENCES_H_
