// A network, its plan and its data, as the commands' options ask for them.

#ifndef TOPDNN_BENCH_WORKLOAD_H_
#define TOPDNN_BENCH_WORKLOAD_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "networks/plan.h"
#include "networks/planner.h"
#include "networks/zoo/zoo.h"

namespace topdnn {

// What profile, step, train and bench have in common.
struct WorkloadOptions {
  std::string network;
  std::string backend = "onednn";
  std::string dtype = "f32";
  std::int64_t batch = 128;
  int threads = 0;  // 0: every CPU that this process may run on
  bool oversubscribe = false;
  bool fallback = false;
  std::uint64_t seed = 1;
  std::string data;  // see OpenDatasets
  std::string optimizer = "sgd";
  double learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0.0;
};

// Adds the options to a command's parser.
void AddWorkloadOptions(CLI::App& app, WorkloadOptions& options);

// Checked options. Each throws UsageError, in one line, for what cannot be.
const NetworkOffer& NetworkOf(const WorkloadOptions& options);
int ThreadsOf(const WorkloadOptions& options);

struct Workload {
  std::string network;
  std::string backend;
  std::string dtype;
  std::int64_t batch = 0;
  Shape image;  // (C, H, W)
  std::int64_t classes = 0;
  GraphTotals totals;
  std::unique_ptr<Plan> plan;
};

// Builds and plans. Throws UsageError.
Workload PlanWorkload(const WorkloadOptions& options, bool training);
// The same, with the plan allocated and its parameters drawn: ready to run.
Workload MakeWorkload(const WorkloadOptions& options, bool training);

// Bytes that the process may still take: what a plan is held against before it allocates.
std::size_t MemoryLimit();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_H_
