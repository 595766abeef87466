// The speed benchmark, `topdnn bench --benchmark_filter=speed`: ratios that show whether topdnn's
// own parts cost or save time, each measured in one process from interleaved runs.
//
//   speed/harness-cost/...    a kernel run by topdnn over the same oneDNN primitive in a bare loop
//   speed/resnet50/...        ResNet-50's convolutions with `auto`: share of the measured FMA
//                             ceiling, FLOP-weighted; bf16 against f32
//   speed/network/...         the whole network over its convolutions by themselves
//   speed/auto/...            `auto` over the best of its candidates, at worst
//   speed/exact/...           a kernel counted exactly over the same one run natively, and what
//                             translating it takes
//   speed/sgemm2048/...       a backend's product over its library called bare

#ifndef TOPDNN_BENCH_SPEED_SPEED_H_
#define TOPDNN_BENCH_SPEED_SPEED_H_

#include "bench/cases/cases.h"

namespace topdnn {

void AddSpeed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_SPEED_H_
