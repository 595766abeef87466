#include "bench/speed/resnet50.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/cases/problem_sets.h"
#include "bench/choice/kernels/selection.h"
#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/interrupt.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/speed/case.h"
#include "bench/speed/networks.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/text/errors.h"
#include "kernels/conv/conv.h"

namespace topdnn {

namespace {

// The chosen kernel of one problem, and its median time.
struct TimedChoice {
  double seconds = 0;
  std::string isa;
  DataType type;  // in which it multiplies
  double gain = 1;
  bool winograd = false;
};

TimedChoice TimeChosen(const std::shared_ptr<const Op>& op, const Execution& execution,
                       int threads) {
  const KernelProblem problem(op, execution);
  const SelectedVariant selected = SelectVariant(problem, threads);
  if (!selected.variant) throw Skipped(selected.reason);
  const auto kernel = MakeSpeedCase(selected.variant->name, problem, threads);
  auto run = [&]() noexcept { kernel->Run(); };
  const std::vector<double> seconds = SecondsOfRuns(threads, Action::Of(run), 0.2, 0.1);
  return {Median(seconds), kernel->kernel().isa(),
          kernel->kernel().converts_to().value_or(execution.type), selected.gain,
          selected.variant->algorithm.starts_with("winograd")};
}

// ResNet-50's convolutions in one pass and type, each as often as it occurs.
Findings ResNetConvolutions(Pass pass, DataType type, int threads) {
  double flops = 0;
  double seconds = 0;
  double f32_seconds = 0;
  double default_seconds = 0;
  double ceiling_seconds = 0;
  double ceiling_seconds_inside = 0;  // of the operations that do not meet padding
  double winograd_flops = 0;
  for (const CountedProblem& problem : ProblemSetNamed("resnet50-layers").problems) {
    if (problem.op->kind() != "conv") continue;
    const auto times = static_cast<double>(problem.count);
    const TimedChoice chosen = TimeChosen(problem.op, {pass, true, type}, threads);
    const Work defined = problem.op->WorkOf(pass, type);
    const double work = times * static_cast<double>(defined.flops);
    const Ceiling* ceiling = CeilingOfKernel(chosen.isa, chosen.type, threads);
    if (ceiling == nullptr) throw Skipped("there is no ceiling for " + chosen.isa);
    if (ceiling->verdict.status >= Status::kInvalid) {
      throw Skipped(
          fmt::format("the ceiling {} is INVALID: {}", ceiling->name, ceiling->verdict.reason));
    }
    flops += work;
    if (chosen.winograd) winograd_flops += work;
    seconds += times * chosen.seconds;
    default_seconds += times * chosen.seconds * chosen.gain;
    ceiling_seconds += work / *ceiling->value;
    ceiling_seconds_inside +=
        times * static_cast<double>(defined.flops_without_padding) / *ceiling->value;
    if (type != DataType::kF32) {
      f32_seconds += times * TimeChosen(problem.op, {pass, true, DataType::kF32}, threads).seconds;
    }
  }
  Findings findings;
  findings.counters["seconds"] = seconds;
  findings.counters["GFLOP/s"] = flops / seconds * 1e-9;
  findings.counters["peak_fraction"] = ceiling_seconds / seconds;
  findings.counters["peak_fraction_without_padding"] = ceiling_seconds_inside / seconds;
  findings.counters["auto_gain"] = default_seconds / seconds;
  findings.counters["winograd_share"] = winograd_flops / flops;
  if (type != DataType::kF32) findings.counters["over_f32"] = f32_seconds / seconds;
  // A share above 1 means that a kernel skips defined operations: those on padding, or those that
  // Winograd saves.
  findings.label =
      "ResNet-50's 53 convolutions at batch 8, by what auto chose: FLOPs as defined, against the "
      "FMA ceiling fed from L1";
  return findings;
}

// The image needs no gradient.
bool IsOfNetwork(const Op& op, Pass pass) {
  constexpr std::int64_t kImageChannels = 3;
  return pass != Pass::kBackwardData ||
         dynamic_cast<const ConvOp&>(op).extents().c != kImageChannels;
}

// Seconds of ResNet-50's convolutions by themselves, each with the fastest kernel and as often as
// it occurs in the network.
double SecondsOfConvolutions(Pass pass, bool training, DataType type, int threads) {
  double seconds = 0;
  for (const CountedProblem& problem : ProblemSetNamed("resnet50-layers").problems) {
    if (problem.op->kind() != "conv" || !IsOfNetwork(*problem.op, pass)) continue;
    if (Interrupted()) throw Interruption();
    seconds += static_cast<double>(problem.count) *
               TimeChosen(problem.op, {pass, training, type}, threads).seconds;
  }
  return seconds;
}

// The time of the whole network divided by the sum of its convolutions. Steps are timed before and
// after the convolutions, so that a drift of the machine shows as a difference.
Findings NetworkOverConvolutions(bool training, DataType type, int threads) {
  WorkloadOptions options;
  options.network = "resnet50";
  options.batch = 8;
  options.dtype = NameOf(type);
  options.threads = threads;
  options.backend = kAutoBackend;
  const std::string choice = ChooseInNetwork(options, training);
  Workload workload = MakeWorkload(options, training);
  TrainingImages images(options, workload);
  images.FillNext(*workload.plan);
  const std::vector<double> before = SecondsOfSteps(*workload.plan);
  double convolutions = SecondsOfConvolutions(Pass::kForward, training, type, threads);
  if (training) {
    convolutions += SecondsOfConvolutions(Pass::kBackwardData, training, type, threads);
    convolutions += SecondsOfConvolutions(Pass::kBackwardWeights, training, type, threads);
  }
  const std::vector<double> after = SecondsOfSteps(*workload.plan);
  std::vector<double> steps = before;
  steps.insert(steps.end(), after.begin(), after.end());
  Findings findings;
  findings.counters["step_s"] = Median(steps);
  findings.counters["step_before_s"] = Median(before);
  findings.counters["step_after_s"] = Median(after);
  findings.counters["convolutions_s"] = convolutions;
  findings.counters["ratio"] = Median(steps) / convolutions;
  findings.label = fmt::format(
      "ResNet-50's {} step at batch 8 over the sum of its convolutions by themselves, each by what "
      "auto chose; {}",
      training ? "training" : "inference", choice);
  return findings;
}

}  // namespace

void AddResNet50Speed(int threads, BenchmarkCases& cases) {
  const std::string width = fmt::format("t{}", threads);
  for (const Pass pass : kAllPasses) {
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      AddSpeedCase(
          fmt::format("speed/resnet50/{}/{}/{}", NameOf(pass), NameOf(type), width),
          [pass, type, threads] { return ResNetConvolutions(pass, type, threads); }, cases);
    }
  }
  for (const bool training : {false, true}) {
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      AddSpeedCase(
          fmt::format("speed/network/resnet50/{}/{}/{}", training ? "train" : "infer", NameOf(type),
                      width),
          [training, type, threads] { return NetworkOverConvolutions(training, type, threads); },
          cases);
    }
  }
}

}  // namespace topdnn
