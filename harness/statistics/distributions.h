// The normal distribution and Student's: the tails and quantiles that tests and intervals need.

#ifndef TOPDNN_HARNESS_STATISTICS_DISTRIBUTIONS_H_
#define TOPDNN_HARNESS_STATISTICS_DISTRIBUTIONS_H_

namespace topdnn {

// P(|Z| >= z) of the standard normal distribution.
double NormalTwoSided(double z);

// P(|T| >= t) of Student's distribution with that many degrees of freedom, 1 or more (Abramowitz
// and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
double StudentTwoSided(double t, int degrees);

// The t >= 0 with P(|T| >= t) = p, for p in (0, 1]: the factor of an interval that covers 1 - p.
double StudentQuantile(double p, int degrees);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_DISTRIBUTIONS_H_
