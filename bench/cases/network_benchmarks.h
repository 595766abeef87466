// The networks' stages as Google Benchmark cases, named
// NETWORK/MODE/nBATCH/STAGE/PASS/BACKEND/TYPE/tTHREADS.
//
// A network's stages can only be timed together, in the network. So the samples are taken once,
// when the first of the network's rows runs, and each row reports its samples as manual time.

#ifndef TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_
#define TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_

#include "bench/cases/cases.h"

namespace topdnn {

// Adds every network on every backend that can run it, in both modes.
void AddNetworks(BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_
