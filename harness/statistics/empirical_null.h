// What differs between two runs of the same program, estimated from the runs themselves: most of
// their stages did not change, so the spread of the stages' ratios is the spread without a change
// (Efron, "Large-scale simultaneous hypothesis testing: the choice of a null hypothesis", 2004).

#ifndef TOPDNN_HARNESS_STATISTICS_EMPIRICAL_NULL_H_
#define TOPDNN_HARNESS_STATISTICS_EMPIRICAL_NULL_H_

#include <optional>
#include <span>

namespace topdnn {

// Fewer stages do not show the spread of stages that did not change.
inline constexpr int kLeastStagesForNull = 6;

struct EmpiricalNull {
  // The change that the stages have in common: the median of the log ratios, weighted by time. A
  // weight is at most a sixth of all, so that one long stage is not its own reference.
  double common = 0;
  // The standard deviation of an unchanged stage's log ratio about `common`, in addition to its own
  // error. It has a relative part, such as the placement of pages and the clock, and one in
  // seconds, such as a cold cache after an interruption, which matters for short stages only.
  double relative = 0;
  double seconds = 0;

  double SpreadOf(double time) const;
};

// `errors` are the standard errors of the log ratios within their runs, and `times` the stages'
// times in seconds. The relative part is the least with which the median and the 80th percentile of
// |log ratio - common| / error of the longer half of the stages are not above those of a normal
// distribution. The part in seconds is found in the same way from the shorter half, with its 90th
// percentile, since its stages vary more. So the spread is not too small if a class of stages
// differs, such as those bound by memory, unless it is a fifth of them or less. Below 12 stages
// there is only the relative part. Absent below kLeastStagesForNull stages.
std::optional<EmpiricalNull> EstimateNull(std::span<const double> log_ratios,
                                          std::span<const double> errors,
                                          std::span<const double> times);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_EMPIRICAL_NULL_H_
