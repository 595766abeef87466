// What the times of a region under several conditions say. Every ratio is taken within a round, and
// the result is the interval of its median over the rounds. Pure.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_RATIOS_H_
#define TOPDNN_HARNESS_EXPERIMENTS_RATIOS_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/experiment_results.h"

namespace topdnn {

// `seconds`: by number of threads and round. Absent below 6 rounds, for fewer than two numbers of
// threads, if the first is not 1, or if a time is not positive.
std::optional<WidthResult> ScalingOf(std::span<const int> threads,
                                     std::span<const std::vector<double>> seconds);

// The time under one condition over that under another, `seconds` and `others` by round. Absent
// below 6 rounds, and if a time is not positive.
std::optional<Interval> FactorOf(std::span<const double> seconds, std::span<const double> others);

// A region beside readers that take a share of their own best rate.
struct BesideReaders {
  std::vector<double> taken;    // by round
  std::vector<double> seconds;  // by round
};

// `alone`: seconds by round without readers. `beside`: by level of the readers, the strongest last.
// The slope of a round is that of the least-squares line through (0, 1) for (time / time alone)
// against the share taken. A round in which a time is not positive, or the readers took nothing or
// an infinite share (the clock gave no time for them), is left out.
// Absent below 6 rounds, or without a level.
std::optional<BandwidthResult> SensitivityOf(const std::string& resource,
                                             std::span<const double> alone,
                                             std::span<const BesideReaders> beside);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_RATIOS_H_
