// A network, its plan and its data, as the commands' options specify them.

#ifndef TOPDNN_BENCH_WORKLOAD_WORKLOAD_H_
#define TOPDNN_BENCH_WORKLOAD_WORKLOAD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/network_source.h"
#include "datasets/dataset.h"
#include "networks/parameters/parameter_values.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/plan.h"
#include "networks/planning/planner.h"

namespace topdnn {

class CommandParser;

// The value of --backend that chooses by measurement (network_choice.h).
inline constexpr std::string_view kAutoBackend = "auto";

// The value of --fallback for any other backend.
inline constexpr std::string_view kAnyFallback = "any";

// The options that the commands that plan a network share.
struct WorkloadOptions {
  std::string network;  // of the zoo, or a path that ends in .onnx
  std::string weights;  // an .npz or .safetensors file; empty: the network's own, or drawn
  std::string backend = "onednn";
  bool backend_is_given = false;              // on the command line
  std::string plan = std::string(kBestPlan);  // a name of PlanNames()
  // PlanRequest::variants: the choice of `auto` (network_choice.h).
  std::optional<std::map<LayerPass, std::vector<std::string>>> variants = {};
  std::string dtype = "f32";
  // Images per step: `batch`, otherwise the number that an ONNX file fixes, otherwise
  // `default_batch`.
  std::optional<std::int64_t> batch = {};
  std::int64_t default_batch = 128;
  int threads = 0;  // 0: DefaultThreads (harness/machine/cpu_set.h)
  bool oversubscribe = false;
  // The plan is made but not run, for a replay: the recording's machine may have had other CPUs.
  bool planned_only = false;
  // The steps are counted and never timed, so that more threads are allowed.
  bool counted_only = false;
  std::string fallback;  // PlanRequest::fallback: a backend, or kAnyFallback; empty: none
  // The command reports a kernel that failed its check (kernels/kernel/failed_kernel.h). Otherwise
  // such a kernel is an error.
  bool reports_failures = false;
  // The plan is for one step alone: it need not have its parameters as they were given.
  bool runs_once = false;
  std::uint64_t seed = 1;
  std::vector<std::string> input_shapes;  // NAME=NxCxHxW
  std::vector<std::string> outputs;       // of an ONNX file, by name; empty: all
  // Of `topdnn run`: the shapes of the inputs whose values are given. They replace `input_shapes`
  // unless this is empty.
  std::map<std::string, Shape> values_of;
  std::string data;  // see OpenImages (images.h)
  std::string optimizer = "sgd";
  double learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0.0;
  bool dropout = true;  // in training
  ParameterDraw draw = ParameterDraw::kTraining;
  std::int64_t size = 0;     // height and width of the image; 0: the network's own
  std::int64_t classes = 0;  // 0: the network's own
};

// Adds the options for the network and how it runs to a command's parser.
void AddNetworkOptions(CommandParser& parser, WorkloadOptions& options);
void AddInputShapeOption(CommandParser& parser, WorkloadOptions& options);
// Adds all options.
void AddWorkloadOptions(CommandParser& parser, WorkloadOptions& options);
// Throws UsageError for options of training in inference, and for those that the optimizer does not
// have.
void CheckTrainingOptions(const CommandParser& parser, const WorkloadOptions& options,
                          bool training);

// The most threads on any machine; a recording with more is refused.
inline constexpr int kMaxThreads = 4096;
// The most threads of a step that is only counted: each has a copy of the code that it runs.
inline constexpr int kMaxCountedThreads = 256;

// Returns the checked number of threads. Unless `planned_only`, the first call also tries to start
// the team, since the OpenMP runtime ends the program if it cannot. More threads than CPUs are
// allowed only with `oversubscribe` or `counted_only` (kMaxCountedThreads): at most four per CPU
// (any number if `planned_only`), and kMaxThreads. Throws UsageError, in one line, for another
// number. If a quota of CPU time limits the threads, a line on standard error says so, once per
// run.
int ThreadsOf(const WorkloadOptions& options);

struct Workload {
  std::string network;
  std::string backend;
  std::string dtype;
  std::int64_t batch = 0;
  Shape image = {};  // (C, H, W)
  std::int64_t classes = 0;
  GraphTotals totals = {};
  std::unique_ptr<Plan> plan = {};
  std::optional<ParameterValues> parameters = {};  // absent: drawn from the seed
  // The plan's inputs and outputs as the file has them: the plan's own output may have the same
  // elements in another shape.
  std::vector<ImportedInput> inputs = {};
  std::vector<NetworkOutput> outputs = {};
};

// The rules that --plan names; nullptr: the best plan. Throws UsageError for an unknown name and
// for options that the rules do not have.
const PlanRules* RulesOf(const WorkloadOptions& options, bool training);

// Builds and plans the network. Throws UsageError, also if the plan does not fit in memory,
// KernelFailed unless `reports_failures`, and InputError for damaged weights.
Workload PlanWorkload(const WorkloadOptions& options, bool training);
// Allocates the plan of the workload, sets its parameters, and fills the inputs beside the image
// with numbers drawn by the seed; the plan is then ready to run.
void PrepareWorkload(const WorkloadOptions& options, Workload& workload);
// Calls both.
Workload MakeWorkload(const WorkloadOptions& options, bool training);

// Bytes that the process may still allocate. A plan's needs are compared with it before it
// allocates.
std::size_t MemoryLimit();

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_WORKLOAD_H_
