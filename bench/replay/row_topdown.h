// What limits a row of a trace with its data in the caches: its Top-Down as a PMU counts it, and
// the bounds of its nodes that follow from exact counts.

#ifndef TOPDNN_BENCH_REPLAY_ROW_TOPDOWN_H_
#define TOPDNN_BENCH_REPLAY_ROW_TOPDOWN_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_timing.h"
#include "bench/profile/limits/stage_bounds.h"
#include "harness/counters/source.h"
#include "harness/probes/ceilings.h"
#include "harness/topdown/metric.h"

namespace topdnn {

// What counts the rows, and how the counts of this core's PMU are read.
struct RowCounting {
  std::vector<CounterSource*> sources;  // not owned
  const TopdownTable* table = nullptr;  // nullptr: none is known for this CPU
  CorePipeline pipeline = {};           // of this CPU, also without a table
  bool smt = false;

  // For this machine's CPU.
  static RowCounting Here(std::vector<CounterSource*> sources);
};

class RowTopdown {
 public:
  // Measures the rates of the cores if a source counts exactly (0.1 s). `ceilings`: at this width,
  // or empty.
  RowTopdown(const RowCounting& counting, const std::vector<Ceiling>& ceilings, int threads);

  // For a row that has just been measured with hot caches, while the core's clock was read: fills
  // `topdown`, `topdown_bounds` or `bounds_reason`, and `roofline`. Measures the rates of the cores
  // again: those before and after the row must agree.
  void Add(MeasuredKernel& hot);

  // How the PMU's counts were read, and which were missing, once for all rows.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void AddMeasured(MeasuredKernel& hot);
  // The rates of the cores. A disturbed reading is repeated, because it says nothing about the row.
  CoreRates ReadRates() const;

  RowCounting counting_;
  BoundsMachine machine_;  // except the rates and what was seen, which are those of a row
  int threads_;
  std::optional<CoreRates> before_;  // the rates before the next row
  std::vector<std::string> notes_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_REPLAY_ROW_TOPDOWN_H_
