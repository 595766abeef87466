// `topdnn plan NET`: the stages and the memory of a step, without running it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/profile/limits/stage_balance.h"
#include "bench/workload/images.h"
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
  bool balance = false;
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

// "fc forward (1 of 64 threads work)", of the threads with at least a tenth of an even share.
std::string AtWork(const StageShares& stage, int threads) {
  const double even = static_cast<double>(stage.sum()) / threads;
  const auto working =
      std::count_if(stage.instructions.begin(), stage.instructions.end(),
                    [=](std::uint64_t own) { return static_cast<double>(own) >= even / 10; });
  return fmt::format("{} ({} of {} threads work)", stage.label, working, threads);
}

// The step's gain, and the stages whose uneven shares cost most of its time, the largest first.
void PrintLosses(const std::vector<StageShares>& stages,
                 const std::map<std::string, double>& by_one, int threads, const Style& style) {
  constexpr std::size_t kShown = 5;
  double longest = 0, alone = 0;
  std::vector<std::pair<double, const StageShares*>> lost;
  for (const StageShares& stage : stages) {
    const auto one = by_one.find(stage.label);
    if (!stage.reason.empty() || one == by_one.end()) continue;
    const auto most = static_cast<double>(stage.most());
    longest += most;
    alone += one->second;
    lost.emplace_back(most - one->second / threads, &stage);
  }
  if (longest == 0) return;
  std::stable_sort(lost.begin(), lost.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (lost.size() > kShown) lost.resize(kShown);
  std::vector<std::string> parts;
  for (const auto& [loss, stage] : lost) {
    if (loss <= 0) break;
    parts.push_back(fmt::format("{} {:.1f} %", AtWork(*stage, threads), 100 * loss / longest));
  }
  std::string text = fmt::format("the step on {} threads: at most {:.1f} times as fast as on one",
                                 threads, alone / longest);
  if (!parts.empty()) {
    text += fmt::format("; most of its time is lost in {}", fmt::join(parts, ", "));
  }
  fmt::print("{}", Wrap(text, style.width, 2));
}

// Counts the step at several widths and prints how much faster each stage can get. `planned`: for
// the most threads.
void PrintBalance(const PlanOptions& options, Workload& planned, const Style& style) {
  const std::vector<int> widths = WidthsUpTo(planned.plan->threads());
  const auto count = [&options](int threads) {
    WorkloadOptions narrower = options.workload;
    narrower.threads = threads;
    Workload workload = PlanWorkload(narrower, /*training=*/!options.infer);
    return CountShares(narrower, workload);
  };
  std::map<std::string, double> by_one;  // instructions of one thread, by label
  for (const StageShares& stage : count(1)) {
    if (stage.reason.empty()) by_one[stage.label] = static_cast<double>(stage.sum());
  }
  std::vector<StageShares> widest;
  std::map<std::string, std::vector<std::optional<double>>> speed_ups;  // by label
  for (std::size_t w = 0; w < widths.size(); ++w) {
    const bool last = w + 1 == widths.size();
    widest = last ? CountShares(options.workload, planned) : count(widths[w]);
    for (const StageShares& stage : widest) {
      auto& of_stage = speed_ups[stage.label];
      of_stage.resize(widths.size());
      if (!stage.reason.empty() || stage.most() == 0 || !by_one.contains(stage.label)) continue;
      of_stage[w] = by_one[stage.label] / static_cast<double>(stage.most());
    }
  }
  std::vector<Table::Column> columns = {{.name = "stage"},
                                        {.name = "M instr.", .kind = Table::Kind::kFigure}};
  for (const int width : widths) {
    columns.push_back(
        {.name = fmt::format("x{}", width), .kind = Table::Kind::kFigure, .decimals = 1});
  }
  columns.push_back({.name = "scales to", .kind = Table::Kind::kRight});
  Table table(columns);
  for (const StageShares& stage : widest) {
    std::vector<Table::Cell> row = {stage.label, static_cast<double>(stage.sum()) / 1e6};
    std::vector<double> known;
    for (const std::optional<double>& speed_up : speed_ups[stage.label]) {
      row.emplace_back(speed_up);
      if (speed_up) known.push_back(*speed_up);
    }
    row.emplace_back(known.size() == widths.size()
                         ? std::to_string(LastWidthThatHelps(widths, known))
                         : std::string("n/a"));
    table.Add(row);
  }
  fmt::print("{}",
             Wrap("the most that each stage can gain from threads, by the instructions of the "
                  "thread with most (counted, not timed):",
                  style.width, 2));
  fmt::print("{}", table.Text(style));
  for (const StageShares& stage : widest) {
    if (stage.reason.empty()) continue;
    fmt::print("{}", Wrap(fmt::format("{}: n/a: {}", stage.label, stage.reason), style.width, 2));
  }
  PrintLosses(widest, by_one, widths.back(), style);
}

int RunPlan(const CommandParser& parser, PlanOptions options) {
  if (options.train && options.infer) throw UsageError("--train and --infer: take one of them");
  if (options.balance && options.repro) {
    throw UsageError("--repro and --balance: take one of them");
  }
  if (options.repro) parser.Refuse({"--buffers"}, "with --repro");
  CheckTrainingOptions(parser, options.workload, !options.infer);
  FitToData(options.workload);
  options.workload.counted_only = options.balance;
  const std::string choice = ChooseInNetwork(options.workload, /*training=*/!options.infer);
  if (!options.balance) UseKnownTrialsOnly();
  Workload workload = PlanWorkload(options.workload, /*training=*/!options.infer);
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
  if (options.balance && !failed) PrintBalance(options, workload, style);
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
  parser.AddFlag(
      "--balance", options->balance,
      "run the step, and show by exact counts how many --threads each stage can use (any "
      "number up to 256; nothing is timed)");
  return [options, &parser] { return RunPlan(parser, *options); };
}

const CommandRegistration kPlan({"plan", Question::kExplain,
                                 "the stages, layouts, implementations and memory of a step",
                                 ConfigurePlan, "topdnn plan resnet50 --infer --batch 8"});

}  // namespace

}  // namespace topdnn
