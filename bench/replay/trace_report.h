// A measured trace as text for a person, and as JSON.

#ifndef TOPDNN_BENCH_REPLAY_TRACE_REPORT_H_
#define TOPDNN_BENCH_REPLAY_TRACE_REPORT_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/replay/measured_trace.h"
#include "harness/text/style.h"

namespace topdnn {

inline constexpr std::size_t kTraceRowsShown = 20;

// The summary, and a table of the costliest rows, or of all.
std::string TraceText(const MeasuredTrace& measured, bool all, const Style& style);

// A line for benchdnn for each row, the costliest first; a comment with the reason for a row
// without such a line.
std::string BenchdnnText(const MeasuredTrace& measured);

// {"schema": 1, "command", "machine", "dialect", "lines", "primitives", "rows": [...], ...}.
nlohmann::ordered_json TraceJson(const MeasuredTrace& measured);

// "backward data"; empty for a primitive without passes.
std::string PassText(const TraceRow& row);
// The tensors' types, "src:f32 wei:f32 dst:f32", and their layouts, "src:abcd wei:Acdb16a".
std::string TypesText(const TraceRow& row);
std::string LayoutsText(const TraceRow& row);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_REPLAY_TRACE_REPORT_H_
