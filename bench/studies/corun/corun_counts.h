// The counts of a workload of `topdnn corun`: those of one step, counted exactly, and those that
// the PMU counts while the workload runs alone and beside the others.
//
// The workload's process counts, and the process that owns the group evaluates the counts. It gets
// them in a message and in the values of a window.

#ifndef TOPDNN_BENCH_STUDIES_CORUN_CORUN_COUNTS_H_
#define TOPDNN_BENCH_STUDIES_CORUN_CORUN_COUNTS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/measure/measure.h"
#include "harness/topdown/metric.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {

using CountsByName = std::map<std::string, std::optional<double>>;

// What the PMU counted in one condition: means over the iterations.
struct PmuCounts {
  CountsByName events = {};
  std::optional<double> running_fraction = {};  // least of the events'
  std::optional<CountsByName> topdown = {};
};

// Of a stage, or of a whole iteration.
struct CorunCounts {
  CountsByName events = {};  // of one step, counted exactly; empty: not counted
  std::optional<double> flops = {};
  std::string reason = {};  // why they are absent, or how they were counted
  PmuCounts solo = {}, shared = {};
  std::string topdown_reason = {};  // why Top-Down is absent or doubtful
};

// Why a source does not count, with what helps.
std::string WhyNot(const Availability& availability);

// How the workloads of a group are counted.
struct CorunCounting {
  bool exact = false;
  // Called in the workload's process; null: the PMU is not read.
  std::function<OpenedPerf()> open_perf = {};
  const TopdownTable* table = nullptr;  // of this CPU; null: it has none
  bool smt = false;

  // `counters`: auto, exact, perf or none. Throws UsageError for another name, and NothingMeasured
  // for perf without a PMU.
  static CorunCounting Here(const std::string& counters);
};

// What a workload's process sends once it is ready.
struct CountsMessage {
  CorunCounts step;
  std::vector<CorunCounts> stages;  // empty: not counted, for the reason of `step`
  // Of the PMU.
  std::string refusal = {};  // why nothing is read; or empty
  std::vector<std::string> events = {};
  std::vector<std::size_t> event_passes = {};
  double reading_seconds = 0;  // the time of a reading of the counters

  std::size_t passes() const;
};

std::string FormatCountsMessage(const CountsMessage& message);
// A member that is no network has an empty text.
CountsMessage ParseCountsMessage(const std::string& text);

// Window::setting of a window in which the PMU is read.
inline constexpr std::size_t kCountedWindow = 1;

// The counts of a window as numbers: the counted iterations of each stage and of the step.
std::vector<double> WindowCounts(const SequenceSamples& samples);
// Appends the iterations to samples that have their stages and events. Numbers that do not fit are
// left out: the window was too short.
void AppendWindowCounts(std::span<const double> numbers, SequenceSamples& samples);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_CORUN_CORUN_COUNTS_H_
