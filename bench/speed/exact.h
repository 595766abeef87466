// The cost of exact counting: cases of the speed benchmark.

#ifndef TOPDNN_BENCH_SPEED_EXACT_H_
#define TOPDNN_BENCH_SPEED_EXACT_H_

#include "bench/cases/cases.h"

namespace topdnn {

void AddExactSpeed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_EXACT_H_
