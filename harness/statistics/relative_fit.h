// A least-squares fit of two terms by relative errors, for models of times.

#ifndef TOPDNN_HARNESS_STATISTICS_RELATIVE_FIT_H_
#define TOPDNN_HARNESS_STATISTICS_RELATIVE_FIT_H_

#include <span>

namespace topdnn {

// The terms of a measured value, divided by it: 1 = first * x + second * y.
struct RelativeTerms {
  double first = 0;
  double second = 0;
};

struct RelativeFit {
  double x = 0;
  double y = 0;
  bool determined = false;  // false: the rows are proportional, and x and y have no meaning
};

// Minimises the sum of (first x + second y - 1)^2 over the rows, with x, y >= 0: a minimum with a
// negative parameter is replaced by that on the border.
RelativeFit FitRelative(std::span<const RelativeTerms> rows);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_RELATIVE_FIT_H_
