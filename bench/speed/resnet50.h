// The ResNet-50 cases of the speed benchmark: its convolutions compared with the machine's ceiling,
// and the whole network compared with its convolutions.

#ifndef TOPDNN_BENCH_SPEED_RESNET50_H_
#define TOPDNN_BENCH_SPEED_RESNET50_H_

#include "bench/cases/cases.h"

namespace topdnn {

void AddResNet50Speed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_RESNET50_H_
