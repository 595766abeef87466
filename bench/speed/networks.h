// The whole networks of the speed benchmark: the time of a step of backend `onednn`, and of a step
// in which `auto` chose every convolution.

#ifndef TOPDNN_BENCH_SPEED_NETWORKS_H_
#define TOPDNN_BENCH_SPEED_NETWORKS_H_

#include <vector>

#include "bench/cases/cases.h"
#include "networks/plan/plan.h"

namespace topdnn {

// Seconds of each warm step, with the data in the plan.
std::vector<double> SecondsOfSteps(Plan& plan);

// speed/step/NETWORK/infer|train/TYPE/nBATCH/onednn|auto/tTHREADS: among others, the networks and
// batches that bench/frameworks compares.
void AddNetworkSpeed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_NETWORKS_H_
