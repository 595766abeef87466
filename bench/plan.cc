// `topdnn plan NET`: the stages and the memory of a step, without running it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/command_parser.h"
#include "bench/network_choice.h"
#include "bench/workload.h"

namespace topdnn {

namespace {

struct PlanOptions {
  WorkloadOptions workload;
  bool train = false;
  bool infer = false;
  bool buffers = false;
};

constexpr double kMiB = 1 << 20;

double MiBOf(std::size_t bytes) { return static_cast<double>(bytes) / kMiB; }

// "aBcd16b", or "opaque" for a layout that only the backend can read.
std::string LayoutName(const KernelOperand& operand) {
  return operand.desc.layout.is_opaque() ? "opaque" : operand.desc.layout.tag();
}

bool IsData(const KernelOperand& operand) {
  const Arg arg = operand.arg;
  return arg == Arg::kSrc || arg == Arg::kDst || arg == Arg::kDiffSrc || arg == Arg::kDiffDst ||
         arg >= Arg::kIndexedSrc;
}

// The layouts of activations and gradients, without repetition; those that are read come first.
std::string LayoutsOf(const Kernel& kernel) {
  std::array<std::vector<std::string>, 2> names;  // read, written
  for (const KernelOperand& operand : kernel.operands()) {
    if (!IsData(operand)) continue;
    auto& side = names[operand.direction == Direction::kIn ? 0 : 1];
    const std::string name = LayoutName(operand);
    if (std::find(side.begin(), side.end(), name) == side.end()) side.push_back(name);
  }
  return fmt::format("{} -> {}", fmt::join(names[0], ","), fmt::join(names[1], ","));
}

void PrintStages(const Plan& plan) {
  fmt::print("{:>4}  {:<28} {:<16} {:<14} {:<34} {:<22} {:>9} {:>9}\n", "", "stage", "pass", "op",
             "implementation", "layouts", "MFLOP", "MiB");
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    const Work work = stage.work();
    fmt::print("{:>4}  {:<28} {:<16} {:<14} {:<34} {:<22} {:>9.1f} {:>9.2f}", i, stage.name,
               NameOf(stage.pass), stage.op->kind(),
               fmt::format("{} {}", stage.backend, stage.kernel->implementation()),
               LayoutsOf(*stage.kernel), static_cast<double>(work.flops) / 1e6,
               static_cast<double>(work.bytes) / kMiB);
    if (!stage.fused.empty()) fmt::print("  + {}", fmt::join(stage.fused, " + "));
    if (!stage.not_fused.empty()) fmt::print("  not fused: {}", stage.not_fused);
    fmt::print("\n");
  }
  for (const std::string& layer : plan.dropped()) fmt::print("      no stage for {}\n", layer);
  for (const PlanParameter& parameter : plan.parameters()) {
    if (!parameter.cancelled) continue;
    fmt::print("      the gradient of {}.{} is always zero: a batch normalization follows\n",
               parameter.layer, parameter.spec.name);
  }
}

void PrintCounts(const Plan& plan) {
  std::map<std::string, int> counts;
  std::int64_t reordered = 0;
  for (const Stage& stage : plan.stages()) {
    ++counts[std::string(NameOf(stage.pass))];
    if (stage.pass == StagePass::kReorder) reordered += stage.work().bytes;
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [pass, count] : counts) parts.push_back(fmt::format("{} {}", count, pass));
  fmt::print("{} stages: {}; reorders move {:.1f} MiB\n", plan.stages().size(),
             fmt::join(parts, ", "), static_cast<double>(reordered) / kMiB);
}

void PrintBuffers(const Plan& plan) {
  fmt::print("{:<40} {:>20} {:<6} {:<12} {:>10}\n", "buffer", "shape", "type", "layout", "MiB");
  for (const Buffer& buffer : plan.buffers()) {
    if (buffer.parent >= 0) continue;
    fmt::print("{:<40} {:>20} {:<6} {:<12} {:>10.3f}{}\n", buffer.name,
               buffer.desc.shape.ToString(), NameOf(buffer.desc.type),
               buffer.desc.layout.is_opaque() ? "opaque" : buffer.desc.layout.tag(),
               MiBOf(buffer.desc.bytes()), buffer.persistent ? "  kept" : "");
  }
}

void PrintMemory(const Plan& plan) {
  std::size_t unshared = 0;
  for (const Buffer& buffer : plan.buffers()) {
    if (buffer.parent < 0 && !buffer.persistent) unshared += buffer.desc.bytes();
  }
  const std::size_t scratch = plan.bytes() - plan.buffer_bytes();
  fmt::print(
      "peak memory: {:.1f} MiB = {:.1f} kept (parameters, their gradients, input, state) + {:.1f} "
      "shared by activations and gradients (of {:.1f} in all) + {:.1f} scratch of kernels\n",
      MiBOf(plan.bytes()), MiBOf(plan.buffer_bytes() - plan.transient_bytes()),
      MiBOf(plan.transient_bytes()), MiBOf(unshared), MiBOf(scratch));
}

int RunPlan(PlanOptions options) {
  if (options.train && options.infer) throw UsageError("--train and --infer: take one of them");
  const std::string choice = ChooseInNetwork(options.workload, /*training=*/!options.infer);
  const Workload workload = PlanWorkload(options.workload, /*training=*/!options.infer);
  const Plan& plan = *workload.plan;
  fmt::print("{} {}, batch {}, {}, {}, {} threads: {:.3f} GMAC and {} parameters\n",
             workload.network, options.infer ? "inference" : "training", workload.batch,
             workload.dtype, workload.backend, plan.threads(),
             static_cast<double>(workload.totals.macs) / 1e9, workload.totals.parameters);
  if (!choice.empty()) fmt::print("{}\n", choice);
  PrintStages(plan);
  PrintCounts(plan);
  if (options.buffers) PrintBuffers(plan);
  PrintMemory(plan);
  return kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<PlanOptions>();
  AddWorkloadOptions(parser, options->workload);
  parser.AddFlag("--train", options->train, "a training step (default)");
  parser.AddFlag("--infer", options->infer, "an inference step");
  parser.AddFlag("--buffers", options->buffers, "list the buffers too");
  return [options] { return RunPlan(*options); };
}

const CommandRegistration kPlan({"plan",
                                 "the stages, layouts, implementations and memory of a step",
                                 Configure});

}  // namespace

}  // namespace topdnn
