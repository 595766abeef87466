// When a series of timings has become steady: the first iterations pay for page faults, cold
// caches, lazily built code and a rising clock, and must not be counted with the rest.
//
// A series that has not been seen to change is not a series that has been seen not to change. So a
// look at the series passes only when both hold for its latest part:
//  1. The change over that part is small with some confidence: the medians of its first and last
//     third differ by at most `tolerance`, `standard_errors` of that difference included. With more
//     noise this needs more samples.
//  2. There is no trend by the test of Mann and Kendall, unless the change is below `floor`.
// Looks are few, at sample counts that grow by a factor, and several must pass one after the other:
// a test that is repeated after each sample would pass by chance at some time.
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
  std::size_t least = 24;        // samples before the first look, and the least that a look takes
  double latest = 0.67;          // share of the series that a look takes, from its end
  double growth = 1.25;          // of the number of samples from one look to the next
  int looks = 2;                 // that must pass one after the other
  double tolerance = 0.02;       // of the median
  double standard_errors = 1.3;  // one-sided 90 %
  double trend = 1.28;           // most |z| of Mann and Kendall's test: two-sided 20 %
  double floor = 0.002;          // of the median: a trend that small does not matter
};

// The standard error of a median, from the samples' own median absolute deviation (taken as that of
// a normal distribution, so that single outliers do not count): 1.2533 * 1.4826 * MAD / sqrt(n).
// Throws std::invalid_argument for no samples.
double StandardErrorOfMedian(std::span<const double> samples);

// The statistic of Mann and Kendall's test for a trend (Kendall, Rank Correlation Methods): pairs
// that rise less pairs that fall, over the standard deviation of that number without a trend. 0
// below 2 samples. Takes n^2 / 2 comparisons.
double TrendOf(std::span<const double> samples);

// One look at these samples: whether both conditions hold. False below 6 samples.
bool LooksSteady(std::span<const double> samples, const SteadyRule& rule = {});

// Takes a series sample by sample, and looks when it is time to.
class SteadyWatch {
 public:
  explicit SteadyWatch(const SteadyRule& rule = {}) : rule_(rule), next_(rule.least) {}

  void Add(double sample);
  // Whether the latest looks passed, as many as the rule asks for.
  bool steady() const { return passed_ >= rule_.looks; }

 private:
  SteadyRule rule_;
  std::size_t next_;  // number of samples at the next look
  int passed_ = 0;    // looks in a row
  std::vector<double> samples_;
};

// How a warm-up ended.
struct Warmup {
  bool steady = false;         // false: it reached its bound first
  std::size_t iterations = 0;  // that were run and left out
  double seconds = 0;          // that they took
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_STEADY_H_
