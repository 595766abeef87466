// The correction of p-values when many tests are made at once: among 30 stages without a
// difference, one or two fall below 5 % by chance.

#ifndef TOPDNN_HARNESS_STATISTICS_MULTIPLE_TESTS_H_
#define TOPDNN_HARNESS_STATISTICS_MULTIPLE_TESTS_H_

#include <span>
#include <vector>

namespace topdnn {

// Holm's step-down correction (1979), in the order of `p`. Below 5 %: the probability of one false
// difference or more among all tests is below 5 %, however the tests depend on each other.
std::vector<double> HolmAdjusted(std::span<const double> p);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_MULTIPLE_TESTS_H_
