// A trace as a problem set (bench/cases/problem_sets.h): `topdnn bench --problems FILE` runs its
// rows again, in the layouts of the log.

#ifndef TOPDNN_BENCH_REPLAY_TRACE_PROBLEM_SET_H_
#define TOPDNN_BENCH_REPLAY_TRACE_PROBLEM_SET_H_

#include <string>

#include "bench/replay/measured_trace.h"

namespace topdnn {

// The text of the set. Rows that are not problems of topdnn, or were not measurable, are comments
// with the reason.
std::string ProblemSetText(const MeasuredTrace& measured);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_REPLAY_TRACE_PROBLEM_SET_H_
