// ResNet-50's share of the speed benchmark: its convolutions against the machine's ceiling, and the
// whole network against its convolutions.

#ifndef TOPDNN_BENCH_SPEED_RESNET50_H_
#define TOPDNN_BENCH_SPEED_RESNET50_H_

#include "bench/cases.h"

namespace topdnn {

void AddResNet50Speed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_RESNET50_H_
