// Decides when a series of timings has become steady: the first iterations include page faults,
// cold caches, lazily built code and a rising clock, and must be excluded.
//
// A lack of evidence for a change is not evidence for a steady series. So a check of the series
// passes only if both conditions hold for its latest part:
//  1. The change over that part is small with some confidence: the medians of its first and last
//     third differ by at most `tolerance`, `standard_errors` of that difference included. With more
//     noise this needs more samples.
//  2. There is no trend by the test of Mann and Kendall, unless the change is below `floor`.
// There are few checks, at sample counts that grow by a factor, and several must pass in a row: a
// test repeated after each sample would pass by chance at some time.
//
// tests/harness/statistics_steady_test.cc simulates decays, drifts, steps, noise and outliers, and
// prints how often the rule stops too early and how long it takes.

#ifndef TOPDNN_HARNESS_STATISTICS_STEADY_H_
#define TOPDNN_HARNESS_STATISTICS_STEADY_H_

#include <cstddef>
#include <span>
#include <vector>

namespace topdnn {

struct SteadyRule {
  std::size_t least = 24;        // samples before the first check, and the least number for a check
  double latest = 0.67;          // share of the series that a check uses, from its end
  double growth = 1.25;          // of the number of samples from one check to the next
  int looks = 2;                 // checks that must pass in a row
  double tolerance = 0.02;       // of the median
  double standard_errors = 1.3;  // one-sided 90 %
  double trend = 1.28;           // most |z| of Mann and Kendall's test: two-sided 20 %
  double floor = 0.002;          // of the median: a trend that small does not matter
};

// The standard error of a median, from the samples' own median absolute deviation (taken as that of
// a normal distribution, so that single outliers do not count): 1.2533 * 1.4826 * MAD / sqrt(n).
// Throws std::invalid_argument for no samples.
double StandardErrorOfMedian(std::span<const double> samples);

// The statistic of Mann and Kendall's test for a trend (Kendall, Rank Correlation Methods): (rising
// pairs - falling pairs) / the standard deviation of that difference without a trend. 0 below 2
// samples. Takes n^2 / 2 comparisons.
double TrendOf(std::span<const double> samples);

// One check of these samples: whether both conditions hold. False below 6 samples.
bool LooksSteady(std::span<const double> samples, const SteadyRule& rule = {});

// Takes a series sample by sample, and checks it at the right times.
class SteadyWatch {
 public:
  explicit SteadyWatch(const SteadyRule& rule = {}) : rule_(rule), next_(rule.least) {}

  void Add(double sample);
  // Whether as many of the latest checks passed as the rule requires.
  bool steady() const { return passed_ >= rule_.looks; }

 private:
  SteadyRule rule_;
  std::size_t next_;  // number of samples at the next check
  int passed_ = 0;    // checks passed in a row
  std::vector<double> samples_;
};

// How a warm-up ended.
struct Warmup {
  bool steady = false;         // false: it reached its bound first
  std::size_t iterations = 0;  // run and excluded
  double seconds = 0;          // duration of these iterations
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_STEADY_H_
