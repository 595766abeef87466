// The kernels of the problem sets as Google Benchmark cases, named
// SET/OPERATION/PROBLEM/PASS/VARIANT/TYPE/tTHREADS, followed by /cold if the caches are emptied
// before each run.

#ifndef TOPDNN_BENCH_KERNEL_BENCHMARKS_H_
#define TOPDNN_BENCH_KERNEL_BENCHMARKS_H_

#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/problem_sets.h"

namespace topdnn {

// Adds every case of the sets at this width.
void AddKernels(const std::vector<ProblemSet>& sets, int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_KERNEL_BENCHMARKS_H_
