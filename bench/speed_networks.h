// Whole networks' share of the speed benchmark: how long a step takes, every convolution as `auto`
// chose it in the network.

#ifndef TOPDNN_BENCH_SPEED_NETWORKS_H_
#define TOPDNN_BENCH_SPEED_NETWORKS_H_

#include <vector>

#include "bench/cases.h"
#include "networks/plan.h"

namespace topdnn {

// Seconds of each step, warm, with the data that is in the plan.
std::vector<double> SecondsOfSteps(Plan& plan);

// speed/step/NETWORK/infer|train/TYPE/nBATCH/tTHREADS, the networks and batches that frameworks are
// compared by.
void AddNetworkSpeed(int threads, BenchmarkCases& cases);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SPEED_NETWORKS_H_
