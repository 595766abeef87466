#include "bench/speed/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "bench/cases/kernel_case.h"
#include "bench/command_line/interrupt.h"
#include "bench/speed/case.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "harness/exact/counter.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

// The steady cost is the difference of two counts with different numbers of runs, which excludes
// the one-time cost of a count (translation, folding). The time of a count of one run minus one
// steady run is the one-time cost.
Findings ExactCost(const std::string& backend, const std::string& text, int threads) {
  const Availability available = ExactCounter::Probe();
  if (!available.works) throw Skipped("exact counter: " + available.reason);
  const auto op = ParseProblem(text);
  const KernelProblem problem(op, {Pass::kForward, true, DataType::kF32});
  const auto kernel = MakeSpeedCase(backend, problem, threads);
  const ThreadWidth width(threads);
  const TickClock clock = BestClock();
  const auto native_once = [&] { return SecondsOf(clock, [&] { kernel->Run(); }); };
  native_once();
  const double once = native_once();
  const auto runs = static_cast<int>(std::clamp(0.02 / once, 2.0, 2000.0));
  ExactCounts counts;
  const auto counted = [&](int n) {
    auto region = [&] {
      for (int i = 0; i < n; ++i) kernel->Run();
    };
    return SecondsOf(clock, [&] { counts = ExactCounter::Count(region); });
  };
  const auto native = [&] {
    return SecondsOf(clock, [&] {
      for (int i = 0; i < runs; ++i) kernel->Run();
    });
  };
  Findings findings;
  const MarkOverhead ratio = RatioOf([&] { return counted(runs + 1) - counted(1); }, native);
  if (!counts.complete) throw Skipped("not counted completely: " + counts.incomplete_reason);
  SetRatio(ratio, findings);
  // Takes the shortest time of each: one run is so short that an interruption could affect the
  // median.
  double first = counted(1);
  double steady = once;
  for (int i = 0; i < 30; ++i) {
    first = std::min(first, counted(1));
    steady = std::min(steady, native_once());
  }
  findings.counters["translation_ms"] = (first - steady * (1 + ratio.ratio)) * 1e3;
  findings.counters["code_bytes"] = static_cast<double>(counts.code_bytes);
  findings.counters["blocks"] = static_cast<double>(counts.blocks);
  findings.label = kernel->kernel().implementation() + ": counted exactly over run natively";
  return findings;
}

// Counts a whole inference step as one region, and each of its stages as a separate region, as a
// profile does.
Findings ExactCostOfStep(const std::string& network, int threads) {
  const Availability available = ExactCounter::Probe();
  if (!available.works) throw Skipped("exact counter: " + available.reason);
  WorkloadOptions options;
  options.network = network;
  options.batch = 1;
  options.threads = threads;
  Workload workload = MakeWorkload(options, /*training=*/false);
  Plan& plan = *workload.plan;
  TrainingImages(options, workload).FillNext(plan);
  const ThreadWidth width(plan.threads());
  const TickClock clock = BestClock();
  ExactCounts counts;
  const auto counted = [&](int n) {
    auto region = [&] {
      for (int i = 0; i < n; ++i) plan.Run();
    };
    return SecondsOf(clock, [&] { counts = ExactCounter::Count(region); });
  };
  const auto native = [&] { return SecondsOf(clock, [&] { plan.Run(); }); };
  Findings findings;
  SetRatio(RatioOf([&] { return counted(2) - counted(1); }, native), findings);
  if (!counts.complete) throw Skipped("not counted completely: " + counts.incomplete_reason);
  double longest = 0;
  for (std::size_t stage = 0; stage < plan.stages().size() && !Interrupted(); ++stage) {
    auto once = [&] { plan.RunStage(stage); };
    auto twice = [&] {
      plan.RunStage(stage);
      plan.RunStage(stage);
    };
    // Takes the shortest time of each, as above.
    double first = std::numeric_limits<double>::infinity();
    double both = first;
    for (int i = 0; i < 9; ++i) {
      first = std::min(first, SecondsOf(clock, [&] { ExactCounter::Count(once); }));
      both = std::min(both, SecondsOf(clock, [&] { ExactCounter::Count(twice); }));
    }
    longest = std::max(longest, 2 * first - both);
  }
  findings.counters["longest_translation_ms"] = longest * 1e3;
  findings.label =
      "a step at batch 1, counted exactly over run natively; longest_translation_ms: of "
      "its stages, each a region";
  return findings;
}

}  // namespace

void AddExactSpeed(int threads, BenchmarkCases& cases) {
  for (const std::string backend : {"onednn", "openblas"}) {
    for (const std::string problem : {"conv/n8c64h56w56k64r3s3u1v1p1q1",
                                      "conv/n1c16h14w14k16r3s3u1v1p1q1", "gemm/m512n512k512"}) {
      AddSpeedCase(
          fmt::format("speed/exact/{}/{}/t{}", backend, problem, threads),
          [=] { return ExactCost(backend, problem, threads); }, cases);
    }
  }
  AddSpeedCase(
      fmt::format("speed/exact/network/resnet50/infer/n1/t{}", threads),
      [=] { return ExactCostOfStep("resnet50", threads); }, cases);
}

}  // namespace topdnn
