// A simulated PMU of zen4 whose counts grow with the time, for tests of commands that count.

#ifndef TOPDNN_TESTS_BENCH_TIMED_PMU_H_
#define TOPDNN_TESTS_BENCH_TIMED_PMU_H_

#include "harness/topdown/perf_events.h"

namespace topdnn {

// The events of topdown-l2: six retired ops, three slots of the back end and two of the front end
// in each two cycles of six slots. `refusal`: errno of every event; 0: they count. The PMU lives as
// long as the process, and counts the calling process.
OpenedPerf OpenTimedPmu(int refusal = 0);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_TIMED_PMU_H_
