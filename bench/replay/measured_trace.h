// The rows of a trace, measured here: the same operation in the same types and layouts, checked
// against the reference before it is timed. Beside it the fastest other variant of topdnn.

#ifndef TOPDNN_BENCH_REPLAY_MEASURED_TRACE_H_
#define TOPDNN_BENCH_REPLAY_MEASURED_TRACE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/log/read/trace.h"
#include "bench/log/translate/traced_problem.h"
#include "bench/replay/row_topdown.h"
#include "harness/results/record.h"

namespace topdnn {

struct TraceMeasuring {
  int threads = 1;
  double seconds = 0.1;   // of timed runs for each row, hot and again cold
  int rows = 300;         // how many of the costliest rows are measured
  int alternatives = 10;  // how many of the costliest rows are compared with other variants
  RowCounting counting;   // what counts each row's hot runs
  bool ceilings = false;  // holds each row's hot time to the measured ceiling of its ISA
  // Reports what is measured, and the done share in [0, 1].
  std::function<void(const std::string& what, double share)> progress;
};

// The fastest variant of topdnn for a row's operation, in any layouts.
struct Alternative {
  std::string name;       // "onednn-nhwc"; kAsInLog if none is faster
  double time_ratio = 1;  // its time over that of the row's own kernel, median of paired rounds
  std::string reason;     // why none was looked for; empty: `name` is the result
};
inline constexpr std::string_view kAsInLog = "as in the log";

struct MeasuredRow {
  TraceRow row;
  std::optional<TracedProblem> problem;
  std::optional<Record> hot;  // with times; absent: `reason` says why
  std::optional<Record> cold;
  std::string reason;   // also for ByReferenceLoops
  bool failed = false;  // the result was wrong, or the kernel failed
  Alternative best;

  // Whether topdnn's own loops were measured, because its backend of oneDNN does not use oneDNN's
  // kernel for this. Their times say nothing about the framework's kernel.
  bool ByOwnLoops() const;
  // Whether oneDNN's unoptimized loops ("ref:any") were measured, because it has no other kernel
  // for these layouts and types here, and the framework's was another one.
  bool ByReferenceLoops() const;

  // Seconds of all executions of the row, by the median of one: with the operands in the caches,
  // and without them, as a framework finds them after its other primitives. Absent if it was not
  // measured.
  std::optional<double> HotSeconds() const;
  std::optional<double> ColdSeconds() const;
  // The same with the alternative: ColdSeconds times its ratio.
  std::optional<double> BestSeconds() const;
};

struct MeasuredTrace {
  Trace trace;                    // without its rows
  std::vector<MeasuredRow> rows;  // by the framework's time, the longest first
  int threads = 1;
  double framework_seconds = 0;
  std::vector<std::string> notes;  // about the counts

  // The framework's time of the rows that have a measured time and do not run unoptimized loops,
  // over that of all. 0 without time.
  double Covered() const;
  // The median over the rows that oneDNN computed here of our time of one execution over the
  // framework's median.
  std::optional<double> MedianHotRatio() const;
  std::optional<double> MedianColdRatio() const;
  // The framework's time of the reorders, over that of all.
  double ReorderShare() const;
  // What the alternatives would save: seconds, and the share of the cold time of all measured rows.
  double SavedSeconds() const;
  std::optional<double> SavedShare() const;
  bool AnyFailed() const;
  bool AnyMeasured() const;
};

// Translates the rows without measuring: every row has a problem or a reason.
MeasuredTrace TranslateTrace(Trace trace);

// Measures every row that has a problem, the costliest first. An interrupt ends it early; the rows
// that are left have the reason "interrupted".
void MeasureRows(const TraceMeasuring& options, MeasuredTrace& measured);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_REPLAY_MEASURED_TRACE_H_
