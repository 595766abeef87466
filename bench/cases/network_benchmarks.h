// The networks' stages and steps as Google Benchmark cases, named
// NETWORK/MODE/nBATCH/STAGE/PASS/BACKEND/TYPE/tTHREADS and
// NETWORK/MODE/nBATCH/step/BACKEND/TYPE/tTHREADS.
//
// A network's stages can only be timed together, in the network. So the samples are taken once,
// when the network's first row runs, and each row reports its own samples as manual time.

#ifndef TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_
#define TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_

#include "bench/cases/cases.h"

namespace topdnn {

// Adds every network on every backend, in both modes. If the backend cannot run the network, or
// the plan has no such stage, the row is skipped with the reason when it runs.
void AddNetworks(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_NETWORK_BENCHMARKS_H_
