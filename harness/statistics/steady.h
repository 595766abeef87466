// When a series of timings has become steady: the first iterations pay for page faults, cold
// caches, lazily built code and a rising clock, and must not be counted with the rest.

#ifndef TOPDNN_HARNESS_STATISTICS_STEADY_H_
#define TOPDNN_HARNESS_STATISTICS_STEADY_H_

#include <cstddef>
#include <optional>
#include <span>

namespace topdnn {

struct SteadyRule {
  // Samples per window; two neighbouring windows are compared.
  std::size_t window = 6;
  // The windows agree when their medians differ by at most this many standard errors of that
  // difference, as their own spread gives it. A trend fails whatever its slope: over two windows of
  // 6 it moves the medians by 2.8 of the standard errors that it causes itself.
  double standard_errors = 2.0;
  // ... or by at most this share of the median: what no reader would call a difference.
  double relative_floor = 0.005;
};

// The standard error of a median, from the samples' own median absolute deviation (taken as that of
// a normal distribution, so that single outliers do not count): 1.2533 * 1.4826 * MAD / sqrt(n).
// Throws std::invalid_argument for no samples.
double StandardErrorOfMedian(std::span<const double> samples);

// Whether the series has become steady by its end: its last two windows agree. False with fewer
// than two windows of samples.
bool IsSteady(std::span<const double> samples, const SteadyRule& rule = {});

// The least number of samples by whose end the series is steady; absent: it never is.
std::optional<std::size_t> SteadyAfter(std::span<const double> samples,
                                       const SteadyRule& rule = {});

// How a warm-up ended.
struct Warmup {
  bool steady = false;         // false: it ran into its bound first
  std::size_t iterations = 0;  // that were run and left out
  double seconds = 0;          // that they took
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_STEADY_H_
