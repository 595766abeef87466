// `topdnn malleable NET`: what it costs to change the width of a running network.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/studies/malleable/malleable_setup.h"

namespace topdnn {

// The changes that one source asked for.
struct SourceFigures {
  std::string name;
  std::int64_t changes = 0;  // that took effect
  std::vector<double> latencies, costs;
  std::optional<int> steps_to_steady;
};

// The steps at one width, without a change.
struct FixedWidth {
  int threads = 0;
  std::vector<double> seconds;
};

// The steps while the width changed, in the same rounds.
struct ChangingWidth {
  double seconds = 0;
  double expected = 0;  // of the same stages at the medians of their widths
  std::int64_t steps = 0;
  std::int64_t changes = 0;
};

// The widest team on one CPU, and the team that follows the limit: median seconds of a step.
struct Oversubscription {
  int threads = 0;
  std::vector<double> ignored, followed;  // by round
};

// How far results at changing widths are from those at the largest one.
struct ResultError {
  std::string what;        // "loss", "output"
  std::int64_t steps = 0;  // that were compared
  std::int64_t changes = 0;
  double error = 0;           // largest relative difference of a step
  double between_widths = 0;  // the same, of the smallest and the largest width
  // The same, if every second step begins at the state of the run at the largest width. Training
  // amplifies rounding from step to step; this does not. Absent in inference.
  std::optional<double> from_same_state;
};

struct MalleableResult {
  std::vector<SourceFigures> sources;
  std::vector<FixedWidth> fixed;
  ChangingWidth changing;
  std::optional<Oversubscription> oversubscription;
  ResultError result;
  std::int64_t lost_work = 0;     // steps that began and did not end
  std::int64_t stage_errors = 0;  // stages that ran more or less often than their steps
  std::vector<std::string> remarks;
  bool complete = true;  // false: interrupted
};

// The largest ResultError::error that counts as rounding: 1e-4 in f32 and 1e-3 in other types, or
// four times as much as the fixed widths differ from each other, if both have a finite result.
double ResultBound(const std::string& dtype, double between_widths);
// The same of ResultError::from_same_state: 1e-2 in f32 and 1e-1 in other types.
double SameStateBound(const std::string& dtype);

// Measures, prints and writes. Returns the exit status. Throws UsageError.
int RunMalleableStudy(MalleableOptions options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_MALLEABLE_H_
