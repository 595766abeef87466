#include "bench/workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/nearest.h"
#include "bench/command_line/plugin_words.h"
#include "bench/workload/input_elements.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/thread_team.h"
#include "harness/machine/cgroup.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/machine.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

// The limits on threads, read once per run.
struct ThreadLimits {
  int allowed = 1;              // CPUs
  std::optional<double> quota;  // of CPU time, in CPUs
};

const ThreadLimits& TheThreadLimits() {
  static const ThreadLimits limits = {static_cast<int>(AllowedCpus().cpus.size()),
                                      ReadCgroupLimits().cpu_quota};
  return limits;
}

// Prints the note about the quota once per run, on standard error, since the quota affects the
// figures.
void SayQuota(int threads, const ThreadLimits& limits) {
  static bool said = false;
  const std::string note = QuotaNote(threads, limits.allowed, limits.quota);
  if (!said && !note.empty()) fmt::print(stderr, "topdnn: {}\n", note);
  said = said || !note.empty();
}

Optimizer OptimizerOf(const WorkloadOptions& options) {
  CheckName("optimizer", options.optimizer, {"sgd", "adam"});
  Optimizer optimizer;
  optimizer.kind = options.optimizer == "adam" ? Optimizer::Kind::kAdam : Optimizer::Kind::kSgd;
  optimizer.learning_rate = static_cast<float>(options.learning_rate);
  optimizer.momentum = static_cast<float>(options.momentum);
  optimizer.weight_decay = static_cast<float>(options.weight_decay);
  return optimizer;
}

std::vector<std::string> FallbackOf(const WorkloadOptions& options) {
  if (options.fallback.empty()) return {};
  if (options.fallback == kAnyFallback) return {"onednn", "openblas", "eigen", "reference"};
  CheckName("fallback", options.fallback, Backends());
  return {options.fallback};
}

// Throws KernelFailed for a kernel that failed its check.
void RequireGoodKernels(const Plan& plan) {
  for (const Stage& stage : plan.stages()) {
    const std::string failure = FailureOf(*stage.kernel);
    if (failure.empty()) continue;
    throw KernelFailed(fmt::format("layer {} ({} {} {}): {}; choose another backend", stage.name,
                                   stage.op->kind(), stage.op->Problem(), NameOf(stage.pass),
                                   failure));
  }
}

// Plans the network, and keeps what the commands need.
void TakeSource(NetworkSource source, Workload& workload, const PlanRequest& request) {
  const Graph& graph = source.graph;
  const Shape& input = graph.shape(0);
  const Shape& output = graph.shape(graph.output());
  if (IsOnnxPath(workload.network)) workload.network = graph.name();
  workload.batch = input[0];
  workload.image =
      Shape(std::vector<std::int64_t>(input.extents().begin() + 1, input.extents().end()));
  workload.classes = output[std::min(output.rank() - 1, 1)];
  workload.totals = graph.Totals();
  workload.plan = MakePlan(graph, request);
  workload.parameters = std::move(source.parameters);
  workload.inputs = std::move(source.inputs);
  workload.outputs = std::move(source.outputs);
}

std::map<std::string, Shape> ShapesOf(const WorkloadOptions& options) {
  return options.values_of.empty() ? ParseInputShapes(options.input_shapes) : options.values_of;
}

void FillOtherInputs(const WorkloadOptions& options, const Plan& plan,
                     const std::vector<ImportedInput>& inputs) {
  for (std::size_t i = 1; i < plan.inputs().size(); ++i) {
    const BufferId input = plan.inputs()[i];
    const Shape& shape = plan.buffers()[static_cast<std::size_t>(input)].desc.shape;
    std::vector<double> values =
        NormalValues(options.seed + i, static_cast<std::size_t>(shape.elements()));
    for (double& value : values) value = ElementOf(inputs[i], value);
    plan.Write(input, values);
  }
}

}  // namespace

void AddNetworkOptions(CommandParser& parser, WorkloadOptions& options) {
  parser.RequireNetwork(options.network);
  parser.Add("--weights FILE", options.weights, "an .npz or .safetensors file (LAYER/PARAMETER)");
  parser.Add(fmt::format("--backend {}|{}", kAutoBackend, fmt::join(Backends(), "|")),
             options.backend,
             "implementation of the operations; native, topdnn's own, computes what onednn and "
             "openblas lack; auto: oneDNN, with the fastest variant of each convolution in this "
             "network");
  parser.NoteGiven("--backend", options.backend_is_given);
  parser.Add(fmt::format("--plan {}", fmt::join(PlanNames(), "|")), options.plan,
             "what plans the step: this program, or as TensorFlow does on oneDNN or on Eigen");
  parser.Add("--dtype f32|bf16|f16", options.dtype, "element type of activations");
  parser.Add("--threads", options.threads,
             "OpenMP threads (default: the CPUs allowed, within the control group's quota)");
  parser.AddFlag("--oversubscribe", options.oversubscribe, "allow more threads than CPUs");
  parser.AddOptional("--fallback", std::string(kAnyFallback), options.fallback,
                     "use another backend for operations that this one lacks, and report it; "
                     "--fallback BACKEND: that backend alone");
  AddPluginOption(parser);
  parser.Add(
      "--size", options.size,
      "height and width of the image (default: the network's), where a file leaves them open");
  parser.AddRepeated("--onnx-output NAME", options.outputs,
                     "an output of the file to compute; repeat it for several (default: all)");
  parser.Add("--classes", options.classes,
             "number of classes, of a zoo network (default: the network's)");
  parser.Add("--seed", options.seed, "seed of the parameters and of the order of images");
}

void AddWorkloadOptions(CommandParser& parser, WorkloadOptions& options) {
  AddNetworkOptions(parser, options);
  parser.Add("--batch", options.batch,
             fmt::format("images per step (default: {}, or what an ONNX file fixes)",
                         options.default_batch));
  AddInputShapeOption(parser, options);
  parser.Add("--data DIR", options.data,
             "folder with CIFAR-10 or (Fashion-)MNIST files, or `synthetic`");
  parser.Add("--optimizer sgd|adam", options.optimizer, "of the training step");
  parser.Add("--learning-rate", options.learning_rate, "learning rate of the optimizer", kRates);
  parser.Add("--momentum", options.momentum, "of sgd", kRates);
  parser.Add("--weight-decay", options.weight_decay, "weight decay of the optimizer", kRates);
}

void CheckTrainingOptions(const CommandParser& parser, const WorkloadOptions& options,
                          bool training) {
  if (!training) {
    parser.Refuse({"--optimizer", "--learning-rate", "--momentum", "--weight-decay"},
                  "on inference");
  } else if (options.optimizer == "adam") {
    parser.Refuse({"--momentum"}, "on --optimizer adam");
  }
}

void AddInputShapeOption(CommandParser& parser, WorkloadOptions& options) {
  parser.AddRepeated("--input-shape NAME=NxCxHxW", options.input_shapes,
                     "shape of an input, where a file leaves it open; repeat it for several");
}

int ThreadsOf(const WorkloadOptions& options) {
  const ThreadLimits& limits = TheThreadLimits();
  const int allowed = limits.allowed;
  const int threads =
      options.threads == 0 ? DefaultThreads(allowed, limits.quota) : options.threads;
  if (threads < 0) {
    throw UsageError(fmt::format("--threads {}: must be 1 or more", threads));
  }
  if (threads > allowed && !options.oversubscribe && !options.counted_only) {
    throw UsageError(
        fmt::format("--threads {}: this process may run on {} CPUs; take {} or fewer, "
                    "or add --oversubscribe",
                    threads, allowed, allowed));
  }
  constexpr int kMaxPerCpu = 4;
  int most =
      static_cast<int>(std::min<std::int64_t>(std::int64_t{allowed} * kMaxPerCpu, kMaxThreads));
  std::string where = fmt::format("{} for each CPU that this process may run on", kMaxPerCpu);
  if (options.planned_only || options.counted_only) {
    most = options.planned_only ? kMaxThreads : kMaxCountedThreads;
    where = "on any machine";
  }
  if (threads > most) {
    throw UsageError(fmt::format("--threads {}: must be {} or fewer, {}", threads, most, where));
  }
  if (!options.planned_only) CheckTeam(threads);
  SayQuota(threads, limits);
  return threads;
}

std::size_t MemoryLimit() {
  return static_cast<std::size_t>(std::max<std::int64_t>(AvailableMemory(), 0));
}

const PlanRules* RulesOf(const WorkloadOptions& options, bool training) {
  CheckName("plan", options.plan, PlanNames());
  const PlanRules* rules = FindPlanRules(options.plan);
  if (rules == nullptr) return nullptr;
  const bool wanted = options.backend_is_given || options.backend != WorkloadOptions().backend;
  if (wanted && options.backend != rules->backend) {
    throw UsageError(
        fmt::format("--plan {} with --backend {}: this plan runs on {}; leave "
                    "--backend out",
                    options.plan, options.backend, rules->backend));
  }
  if (options.dtype != "f32") {
    throw UsageError(
        fmt::format("--plan {} with --dtype {}: this plan is for f32 alone (it has no "
                    "casts of weights); take --dtype f32",
                    options.plan, options.dtype));
  }
  if (training && options.weight_decay != 0) {
    throw UsageError(
        fmt::format("--plan {} with --weight-decay: TensorFlow's update has none; "
                    "leave --weight-decay out",
                    options.plan));
  }
  return rules;
}

Workload PlanWorkload(const WorkloadOptions& options, bool training) {
  const PlanRules* rules = RulesOf(options, training);
  // A choice of `auto` consists of variants of oneDNN (network_choice.h).
  const bool chosen = options.backend == kAutoBackend && options.variants;
  if (!chosen) CheckName("backend", options.backend, Backends());
  const std::vector<std::string> types = {"f32", "bf16", "f16"};
  CheckName("dtype", options.dtype, types);
  if (options.batch && *options.batch < 1) {
    throw UsageError(fmt::format("--batch {}: must be 1 or more", *options.batch));
  }
  PlanRequest request;
  request.dropout = options.dropout;
  request.rules = rules;
  request.backend = chosen ? "onednn" : options.backend;
  if (rules != nullptr) request.backend = rules->backend;
  request.variants = options.variants.value_or(request.variants);
  request.training = training;
  request.type = *ParseDataType(options.dtype);
  request.threads = ThreadsOf(options);
  request.optimizer = OptimizerOf(options);
  request.fallback = FallbackOf(options);
  request.memory_limit = MemoryLimit();

  Workload workload{.network = options.network,
                    .backend = rules == nullptr ? options.backend : request.backend,
                    .dtype = options.dtype};
  try {
    NetworkSource source = OpenNetwork({.network = options.network,
                                        .weights = options.weights,
                                        .batch = options.batch,
                                        .default_batch = options.default_batch,
                                        .size = options.size,
                                        .classes = options.classes,
                                        .training = training,
                                        .input_shapes = ShapesOf(options),
                                        .inputs_are_given = !options.values_of.empty(),
                                        .outputs = options.outputs,
                                        .memory_limit = request.memory_limit});
    if (training && source.graph.shape(0).rank() != 4) {
      throw UsageError(fmt::format("{} takes {}, no images: give --infer, or train another network",
                                   options.network, source.graph.shape(0).ToString()));
    }
    request.memory_limit = MemoryLimit();  // less what the weights of a file take
    TakeSource(std::move(source), workload, request);
    if (!options.reports_failures) RequireGoodKernels(*workload.plan);
    RequireMemory(workload.plan->bytes() + BytesToFill(*workload.plan) + kLibraryBytes,
                  fmt::format("{} with its libraries", workload.network), "take a smaller --batch");
  } catch (const std::overflow_error& error) {
    throw UsageError(fmt::format("--batch {}: {}; take a smaller one",
                                 options.batch.value_or(options.default_batch), error.what()));
  } catch (const PlanError& error) {
    throw UsageError(error.what());
  }
  return workload;
}

void PrepareWorkload(const WorkloadOptions& options, Workload& workload) {
  workload.plan->Allocate();
  FillOtherInputs(options, *workload.plan, workload.inputs);
  if (workload.parameters) {
    const auto write = options.runs_once ? PrepareOnly : TakeParameters;
    write(*workload.plan, std::move(*workload.parameters));
    workload.parameters.reset();
  } else {
    InitializeParameters(*workload.plan, options.seed, options.draw);
  }
}

Workload MakeWorkload(const WorkloadOptions& options, bool training) {
  Workload workload = PlanWorkload(options, training);
  PrepareWorkload(options, workload);
  return workload;
}

}  // namespace topdnn
