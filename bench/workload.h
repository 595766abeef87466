// A network, its plan and its data, as the commands' options ask for them.

#ifndef TOPDNN_BENCH_WORKLOAD_H_
#define TOPDNN_BENCH_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"
#include "networks/parameter_values.h"
#include "networks/parameters.h"
#include "networks/plan.h"
#include "networks/planner.h"

namespace topdnn {

class CommandParser;

// The backend's name that asks for a choice by measurement (network_choice.h).
inline constexpr std::string_view kAutoBackend = "auto";

// What profile, step, train and bench have in common.
struct WorkloadOptions {
  std::string network;  // of the zoo, or a path that ends in .onnx
  std::string weights;  // an .npz or .safetensors file; empty: the network's own, or drawn
  std::string backend = "onednn";
  // PlanRequest::variants; what `auto` has chosen (network_choice.h).
  std::optional<std::map<LayerPass, std::vector<std::string>>> variants = {};
  std::string dtype = "f32";
  // Images a step: `batch`, or else the number that an ONNX file fixes, or else `default_batch`.
  std::optional<std::int64_t> batch = {};
  std::int64_t default_batch = 128;
  int threads = 0;  // 0: DefaultThreads (harness/machine/cpu_set.h)
  bool oversubscribe = false;
  bool planned_only = false;  // nothing runs here: a recording's machine had other CPUs
  bool fallback = false;
  std::uint64_t seed = 1;
  std::optional<Shape> input;  // (N, C, H, W), where images are given
  std::string data;            // see OpenDatasets
  std::string optimizer = "sgd";
  double learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0.0;
  bool dropout = true;  // in training
  ParameterDraw draw = ParameterDraw::kTraining;
  std::int64_t size = 0;     // height and width of the image; 0: the network's own
  std::int64_t classes = 0;  // 0: the network's own
};

// Adds the options to a command's parser: those that say which network runs and on what,
void AddNetworkOptions(CommandParser& parser, WorkloadOptions& options);
// and all.
void AddWorkloadOptions(CommandParser& parser, WorkloadOptions& options);

// The widest team of any machine: what a recording may claim.
inline constexpr int kMostThreads = 4096;

// Checked, and the first time tried: the OpenMP runtime ends the program when it cannot start a
// team. At most four threads a CPU, and kMostThreads. Throws UsageError, in one line, for what
// cannot be. Where a quota of CPU time limits the threads, a line on standard error says so, once
// a run.
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
  std::optional<ParameterValues> parameters;  // absent: to be drawn
  std::string input_name, output_name;
  Shape output;  // as a file has it: the plan's may have the same elements in another shape
};

// Builds and plans. Throws UsageError.
Workload PlanWorkload(const WorkloadOptions& options, bool training);
// Allocates the plan of such a workload and draws its parameters: ready to run.
void PrepareWorkload(const WorkloadOptions& options, Workload& workload);
// Both.
Workload MakeWorkload(const WorkloadOptions& options, bool training);

// Bytes that the process may still take: what a plan is held against before it allocates.
std::size_t MemoryLimit();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_H_
