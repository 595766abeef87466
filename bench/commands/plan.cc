// `topdnn plan NET`: the stages and the memory of a step, without running it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/workload/workload.h"
#include "harness/text/style.h"
#include "harness/text/table.h"
#include "harness/text/text.h"
#include "kernels/kernel/failed_kernel.h"

namespace topdnn {

namespace {

struct PlanOptions {
  WorkloadOptions workload;
  bool train = false;
  bool infer = false;
  bool buffers = false;
  bool repro = false;
};

constexpr double kMiB = 1 << 20;

double MiBOf(std::size_t bytes) { return static_cast<double>(bytes) / kMiB; }

// "aBcd16b", or "opaque" for a layout that only the backend can read.
std::string LayoutName(const KernelOperand& operand) {
  return operand.desc.layout.is_opaque() ? "opaque" : operand.desc.layout.tag();
}

bool IsData(const KernelOperand& operand) {
  const Arg::Role role = operand.arg.role;
  return role == Arg::kSrc || role == Arg::kDst || role == Arg::kDiffSrc || role == Arg::kDiffDst;
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

// The layers fused into the stage, or the reason why the next one is not.
std::string FusionText(const Stage& stage) {
  std::string text;
  if (!stage.fused.empty()) text = fmt::format("+ {}", fmt::join(stage.fused, " + "));
  if (!stage.not_fused.empty()) {
    text += fmt::format("{}not fused: {}", text.empty() ? "" : "; ", stage.not_fused);
  }
  return text;
}

// `mirrors`: the stages stand for operations of TensorFlow.
void PrintStages(const Plan& plan, const std::string& backend, bool mirrors, const Style& style) {
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  const std::string of_framework = "TensorFlow op";
  Table table({{.name = "#", .kind = Table::Kind::kRight},
               {.name = "stage"},
               {.name = "pass", .least = 16},
               {.name = mirrors ? of_framework : "op", .kind = Table::Kind::kWord, .rank = 3},
               {.name = "implementation", .rank = 2},
               {.name = "layouts", .kind = Table::Kind::kText, .least = 10, .rank = 2},
               {.name = "MFLOP", .kind = kFigure},
               {.name = "MiB", .kind = kFigure},
               {.name = "fused", .kind = Table::Kind::kText, .least = 12, .rank = 2}});
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Stage& stage = plan.stages()[i];
    const Work work = stage.work();
    table.Add(
        {std::to_string(i), stage.name, WordsOf(std::string(NameOf(stage.pass))),
         mirrors ? stage.framework_op : std::string(stage.op->kind()),
         (stage.backend == backend ? "" : stage.backend + " ") + stage.kernel->implementation(),
         LayoutsOf(*stage.kernel), static_cast<double>(work.flops) / 1e6,
         static_cast<double>(work.bytes) / kMiB, FusionText(stage)});
  }
  fmt::print("{}", table.Text(style));
  for (const std::string& layer : plan.dropped()) fmt::print("no stage for {}\n", layer);
  for (const PlanParameter& parameter : plan.parameters()) {
    if (!parameter.cancelled) continue;
    fmt::print("{}", Wrap(fmt::format("the gradient of {}.{} is always zero: a batch "
                                      "normalization follows",
                                      parameter.layer, parameter.spec.name),
                          style.width, 2));
  }
}

// The stages whose kernel failed its check. Returns whether there are any.
bool PrintFailures(const Plan& plan, const Style& style) {
  bool any = false;
  for (const Stage& stage : plan.stages()) {
    const std::string failure = FailureOf(*stage.kernel);
    if (failure.empty()) continue;
    any = true;
    fmt::print("{}", Wrap(fmt::format("{} {}: FAILED: {}", stage.name, NameOf(stage.pass), failure),
                          style.width, 2));
  }
  return any;
}

void PrintCounts(const Plan& plan, const Style& style) {
  std::map<std::string, int> counts;
  std::int64_t reordered = 0;
  for (const Stage& stage : plan.stages()) {
    ++counts[std::string(NameOf(stage.pass))];
    if (stage.pass == StagePass::kReorder) reordered += stage.work().bytes;
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [pass, count] : counts) parts.push_back(fmt::format("{} {}", count, pass));
  fmt::print("{}", Wrap(fmt::format("{} stages: {}; reorders move {:.1f} MiB", plan.stages().size(),
                                    fmt::join(parts, ", "), static_cast<double>(reordered) / kMiB),
                        style.width, 2));
}

void PrintBuffers(const Plan& plan, const Style& style) {
  Table table({{.name = "buffer"},
               {.name = "shape", .kind = Table::Kind::kRight},
               {.name = "type", .kind = Table::Kind::kWord},
               {.name = "layout", .rank = 1},
               {.name = "MiB", .kind = Table::Kind::kFigure},
               {.name = "", .kind = Table::Kind::kWord}});
  for (const Buffer& buffer : plan.buffers()) {
    if (buffer.parent >= 0) continue;
    const TensorDesc& desc = buffer.desc;
    table.Add({buffer.name, desc.shape.ToString(), std::string(NameOf(desc.type)),
               desc.layout.is_opaque() ? "opaque" : desc.layout.tag(), MiBOf(desc.bytes()),
               buffer.persistent ? "kept" : ""});
  }
  fmt::print("{}", table.Text(style));
}

void PrintMemory(const Plan& plan, const Style& style) {
  std::size_t unshared = 0;
  for (const Buffer& buffer : plan.buffers()) {
    if (buffer.parent < 0 && !buffer.persistent) unshared += buffer.desc.bytes();
  }
  const std::size_t scratch = plan.bytes() - plan.buffer_bytes();
  const std::string text = fmt::format(
      "peak memory: {:.1f} MiB = {:.1f} kept (parameters, their gradients, input, state) + {:.1f} "
      "shared by activations and gradients (of {:.1f} in all) + {:.1f} scratch of kernels",
      MiBOf(plan.bytes()), MiBOf(plan.buffer_bytes() - plan.transient_bytes()),
      MiBOf(plan.transient_bytes()), MiBOf(unshared), MiBOf(scratch));
  fmt::print("{}", Wrap(text, style.width, 2));
}

// Each stage in its layouts.
void PrintLines(const Plan& plan) {
  for (const Stage& stage : plan.stages()) {
    TracedProblem problem{stage.op, stage.execution, {}, stage.request.algorithm};
    for (const KernelOperand& operand : stage.kernel->operands()) {
      problem.layouts[operand.arg] = operand.desc.layout;
    }
    fmt::print("{}\n", BenchdnnLineOf(problem).Printed(
                           fmt::format("{} {}", stage.name, NameOf(stage.pass))));
  }
}

int RunPlan(PlanOptions options) {
  if (options.train && options.infer) throw UsageError("--train and --infer: take one of them");
  const std::string choice = ChooseInNetwork(options.workload, /*training=*/!options.infer);
  UseKnownTrialsOnly();
  const Workload workload = PlanWorkload(options.workload, /*training=*/!options.infer);
  const Plan& plan = *workload.plan;
  if (options.repro) {
    PrintLines(plan);
    return kExitGood;
  }
  const Style style = DetectStyle(stdout);
  const std::string subject = fmt::format(
      "{} {}, batch {}, {}, {}, {} threads: {:.3f} GMAC and {} parameters", workload.network,
      options.infer ? "inference" : "training", workload.batch, workload.dtype, workload.backend,
      plan.threads(), static_cast<double>(workload.totals.macs) / 1e9, workload.totals.parameters);
  fmt::print("{}", Wrap(subject, style.width, 2));
  if (!choice.empty()) fmt::print("{}", Wrap(choice, style.width, 2));
  const PlanRules* const rules = FindPlanRules(options.workload.plan);
  if (rules != nullptr) {
    fmt::print("{}", Wrap(fmt::format("as {} plans it", rules->source), style.width, 2));
  }
  PrintStages(plan, workload.backend, rules != nullptr, style);
  const bool failed = PrintFailures(plan, style);
  PrintCounts(plan, style);
  if (options.buffers) PrintBuffers(plan, style);
  PrintMemory(plan, style);
  return failed ? kExitWrong : kExitGood;
}

std::function<int()> ConfigurePlan(CommandParser& parser) {
  auto options = std::make_shared<PlanOptions>();
  AddWorkloadOptions(parser, options->workload);
  options->workload.reports_failures = true;
  parser.AddFlag("--train", options->train, "a training step (default)");
  parser.AddFlag("--infer", options->infer, "an inference step");
  parser.AddFlag("--buffers", options->buffers, "list the buffers too");
  parser.AddFlag("--repro", options->repro,
                 "print only the stages, as lines for benchdnn, oneDNN's benchmark program");
  return [options] { return RunPlan(*options); };
}

const CommandRegistration kPlan({"plan", Question::kExplain,
                                 "the stages, layouts, implementations and memory of a step",
                                 ConfigurePlan, "topdnn plan resnet50 --infer --batch 8"});

}  // namespace

}  // namespace topdnn
