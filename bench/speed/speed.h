// The speed benchmark, `topdnn bench --benchmark_filter=speed`: figures that show whether topdnn's
// own parts cost or save time. Each ratio is of times measured in one process.
//
//   speed/harness-cost/...    a kernel run by topdnn over the same oneDNN primitive in a bare loop
//   speed/resnet50/...        ResNet-50's convolutions with `auto`: share of the measured FMA
//                             ceiling, FLOP-weighted; bf16 against f32
//   speed/network/...         the whole network over its convolutions by themselves
//   speed/step/...            the time of a network's step, with the backend onednn and with `auto`
//   speed/auto/...            the choice of `auto` over the best of its candidates: the worst ratio
//                             of a set of problems
//   speed/exact/...           a kernel counted exactly over the same one run natively, and what
//                             translating it takes
//   speed/sgemm2048/...       the speed of a backend's product over that of a direct call of its
//                             library

#ifndef TOPDNN_BENCH_SPEED_SPEED_H_
#define TOPDNN_BENCH_SPEED_SPEED_H_

#include "bench/cases/cases.h"

namespace topdnn {

void AddSpeed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_SPEED_H_
