// The comparison of two results, stage by stage, with a verdict.

#ifndef TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_H_
#define TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_H_

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/studies/compare/compared_results.h"
#include "harness/statistics/time_differences.h"

namespace topdnn {

struct ComparisonRow {
  std::string case_name{};  // empty if there is only one case
  std::string name{};
  std::string pass{};  // "step" for the step of a case
  TimeDifference difference{};
  // The shares of the ceilings of both machines: medians over the runs; absent: not known.
  std::optional<double> a_peak{};
  std::optional<double> b_peak{};
  // The worse of both sides' statuses, and the reasons of those that are not OK.
  std::string status{};
  std::string reason{};
  std::string a_status{};  // the worst of A's runs
  // Of two live runs: StageTimes::counts of both.
  struct Count {
    std::string name{};
    std::optional<double> a{};
    std::optional<double> b{};
  };
  std::vector<Count> counts{};

  std::string Label() const;  // "conv1 backward data"
  // The ratio B / A of the times, each in units of the time at its own machine's ceiling: above 1,
  // B takes longer than its ceiling explains.
  std::optional<double> NormalisedRatio() const;
};

struct Comparison {
  ResultKind kind = ResultKind::kProfile;
  std::vector<ComparisonRow> rows{};  // in the order of the results
  // Absent for Google Benchmark. Of several cases: the geometric mean of their steps.
  std::optional<ComparisonRow> step{};
  std::vector<std::string> differences{};  // machine, libraries, settings, what only one side has
  std::vector<std::string> ceilings{};     // that differ by more than their spread
  std::vector<std::string> notes{};        // what limits this comparison
  std::string not_comparable{};            // the reason; empty: comparable
  double limit = 0.1;                      // a change within this fraction is none

  std::size_t Significant() const;
  // "same", "faster", "slower" (B than A), "cannot tell", "not comparable".
  std::string Verdict() const;
  // Whether the times allow both no change and one above the limit: the step, or a row if there is
  // no step, is not shown to differ, and its interval reaches beyond 1 + limit or 1 / (1 + limit),
  // or is not known; or the step of one of several cases has no interval.
  bool CannotTell() const;
  // Whether the times allow a slowdown above the limit: one that is shown to differ may be within
  // or above it. Also true if the results are not comparable.
  bool CannotTellSlowdown() const;
  // Whether the step, or a stage that differs, is slower in B by more than the fraction: the lower
  // end of its interval is above 1 + fraction.
  bool SlowerThan(double fraction) const;

 private:
  // `reaches_far`: whether the interval of a difference that has one does.
  bool AnyUndecided(const std::function<bool(const TimeDifference&)>& reaches_far) const;
};

// Throws UsageError if the two have no stage in common.
Comparison CompareResults(const ComparedResults& results);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_COMPARE_COMPARISON_H_
