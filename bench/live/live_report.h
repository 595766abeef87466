// What a live run measured, as text for a person and as JSON beside that of a trace.

#ifndef TOPDNN_BENCH_LIVE_LIVE_REPORT_H_
#define TOPDNN_BENCH_LIVE_LIVE_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/live/live_events.h"
#include "bench/live/live_program.h"
#include "bench/replay/measured_trace.h"
#include "harness/text/style.h"

namespace topdnn {

struct LiveReport {
  const LiveProgram* program = nullptr;
  LiveEvents events{};   // of LiveRow::hardware
  std::size_t step = 0;  // the step whose rows are shown, from 1; 0: all of the run
  bool all = false;      // all rows, not only the costliest
  bool series = false;   // the steps one by one
  LiveNames names{};     // that rows have
};

// The summary and the rows. `measured` has the rows of the same trace, the costliest first.
std::string LiveText(const LiveReport& report, const MeasuredTrace& measured, const Style& style);

// The line of progress: "1638 primitives; costliest: convolution mb4_ic64... (23.1 %)".
std::string LiveProgressText(const LiveFold& fold);

// Adds "live", and "live_seconds" and "counters" to each row, to the JSON of the trace.
void AddLiveJson(const LiveReport& report, const MeasuredTrace& measured,
                 nlohmann::ordered_json& trace);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LIVE_LIVE_REPORT_H_
