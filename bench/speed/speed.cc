#include "bench/speed/speed.h"

#include <benchmark/benchmark.h>
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "bench/cases/problem_sets.h"
#include "bench/choice/kernels/selection.h"
#include "bench/command_line/interrupt.h"
#include "bench/speed/case.h"
#include "bench/speed/exact.h"
#include "bench/speed/networks.h"
#include "bench/speed/resnet50.h"
#include "bench/workload/workload.h"
#include "harness/counters/clock.h"
#include "harness/measure/measure.h"
#include "harness/text/errors.h"
#include "kernels/conv/conv.h"
#include "kernels/eigen/library.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/library/onednn.h"
#include "kernels/op/problem.h"

namespace topdnn {

namespace {

// oneDNN's convolution, called directly in the layouts that the kernel uses.
class BareConvolution {
 public:
  BareConvolution(const ConvOp& op, const Kernel& kernel) {
    const ConvExtents& e = op.extents();
    const auto desc = [&](Arg arg) { return onednn::ToMemoryDesc(kernel.Find(arg)->desc); };
    const auto pd = onednn::Describe<dnnl::convolution_forward>(
        onednn::Attributes(), dnnl::prop_kind::forward_training,
        dnnl::algorithm::convolution_direct, desc(Arg::kSrc), desc(Arg::kWeights), desc(Arg::kDst),
        dnnl::memory::dims{e.stride_h, e.stride_w},
        dnnl::memory::dims{e.dilation_h - 1, e.dilation_w - 1},
        dnnl::memory::dims{e.pad_top, e.pad_left}, dnnl::memory::dims{e.pad_bottom, e.pad_right});
    primitive_ = dnnl::convolution_forward(pd);
    for (const auto& [arg, memory] :
         {std::pair{DNNL_ARG_SRC, pd.src_desc()}, std::pair{DNNL_ARG_WEIGHTS, pd.weights_desc()},
          std::pair{DNNL_ARG_DST, pd.dst_desc()},
          std::pair{DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}}) {
      arguments_.emplace(arg, dnnl::memory(memory, onednn::Engine()));
    }
  }

  void Run() { primitive_.execute(stream_, arguments_); }

 private:
  dnnl::convolution_forward primitive_;
  dnnl::stream stream_{onednn::Engine()};
  std::unordered_map<int, dnnl::memory> arguments_;
};

// topdnn's median of n marked runs, compared with a loop of n bare executions.
Findings HarnessCost(const std::string& text, int threads) {
  const auto op = ParseProblem(text);
  const KernelProblem problem(op, {Pass::kForward, true, DataType::kF32});
  const auto ours = MakeSpeedCase("onednn", problem, threads);
  const ThreadWidth width(threads);
  BareConvolution bare(dynamic_cast<const ConvOp&>(*op), ours->kernel());
  const TickClock clock = BestClock();
  const double once = SecondsOf(clock, [&] { ours->Run(); });
  const auto runs = static_cast<std::int64_t>(std::clamp(0.02 / once, 5.0, 500.0));
  auto run = [&]() noexcept { ours->Run(); };
  const TimedStage stage{text, Action::Of(run)};
  MeasureOptions options;
  options.iterations = runs;
  options.most_warmup_iterations = 1;
  const auto with_harness = [&] {
    return Median(MeasureSequence({&stage, 1}, options).step.seconds);
  };
  const auto without = [&] {
    bare.Run();
    return SecondsOf(clock,
                     [&] {
                       for (std::int64_t i = 0; i < runs; ++i) bare.Run();
                     }) /
           static_cast<double>(runs);
  };
  Findings findings;
  SetRatio(RatioOf(with_harness, without), findings);
  findings.counters["median_s"] = with_harness();
  findings.label = ours->kernel().implementation() + ": topdnn's median run over a bare one";
  return findings;
}

// How much slower the choice of `auto` is than the best of its candidates, at worst, when all are
// timed again.
Findings AutoAgainstBest(const std::string& set, Pass pass, int threads) {
  std::vector<double> ratios;
  std::string worst;
  int left_out = 0;
  std::vector<CountedProblem> problems = ProblemSetNamed(set).problems;
  std::erase_if(problems, [](const CountedProblem& p) { return p.op->kind() != "conv"; });
  for (const CountedProblem& counted : problems) {
    const Execution execution{pass, true, DataType::kF32};
    const std::uint64_t limit = MemoryLimit();  // 0: not known
    if (limit != 0 && 2 * KernelProblem::BytesNeeded(*counted.op, execution) > limit) {
      ++left_out;
      continue;
    }
    const KernelProblem problem(counted.op, execution);
    const SelectedVariant selected = SelectVariant(problem, threads);
    if (!selected.variant) throw Skipped(counted.op->Problem() + ": " + selected.reason);
    const std::vector<Candidate> candidates = MakeCandidates(problem, threads);
    std::vector<KernelCase*> cases;
    std::vector<std::string> names;
    std::size_t chosen = 0;
    for (const Candidate& candidate : candidates) {
      if (candidate.variant.name == selected.variant->name) chosen = cases.size();
      cases.push_back(candidate.kernel.get());
      names.push_back(candidate.variant.name);
    }
    // The chosen candidate comes first: the others are compared with it.
    std::swap(cases[0], cases[chosen]);
    std::swap(names[0], names[chosen]);
    const std::vector<CandidateTimes> times = RaceCandidates(cases, names, 0.5);
    if (Interrupted()) throw Interruption();
    const double behind = ChooseCandidate(times).gain;
    if (ratios.empty() || behind > *std::max_element(ratios.begin(), ratios.end())) {
      worst = counted.op->Problem();
    }
    ratios.push_back(behind);
    fmt::print(stderr, "{:3}/{} {} {}: {}, {:.3f} behind\n",
               ratios.size() + static_cast<std::size_t>(left_out), problems.size(),
               counted.op->Problem(), NameOf(pass), selected.Describe(), behind);
  }
  if (ratios.empty()) throw Skipped("no problem of the set fits memory");
  Findings findings;
  findings.counters["problems"] = static_cast<double>(ratios.size());
  findings.counters["left_out"] = left_out;
  findings.counters["worst"] = *std::max_element(ratios.begin(), ratios.end());
  findings.counters["median"] = Median(ratios);
  findings.label = "time of what auto chose over the best candidate's; worst: " + worst;
  return findings;
}

// The library's own sgemm of n x n matrices, row-major.
std::function<void(std::int64_t n, const float* a, const float* b, float* c)> BareSgemm(
    const std::string& backend, int threads) {
  if (backend == "onednn") {
    return [](std::int64_t n, const float* a, const float* b, float* c) {
      dnnl_sgemm('N', 'N', n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);
    };
  }
  if (backend == "openblas") {
    return [](std::int64_t n, const float* a, const float* b, float* c) {
      const auto size = static_cast<blasint>(n);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1.0F, a, size, b,
                  size, 0.0F, c, size);
    };
  }
  // A contraction of two Eigen tensors on a pool, called directly.
  const auto variant = backend == "eigen" ? eigen::Variant::kGebp : eigen::Variant::kSgemm;
  auto found = eigen::FindFunctions(variant, "");
  if (const auto* refusal = std::get_if<Refusal>(&found)) throw Skipped(refusal->reason);
  const eigen::Functions* functions = std::get<const eigen::Functions*>(found);
  return [functions, pool = eigen::SharePool(*functions, threads)](std::int64_t n, const float* a,
                                                                   const float* b, float* c) {
    functions->matmul(pool.get(), {.m = n, .n = n, .k = n, .a = a, .b = b, .c = c});
  };
}

Findings SgemmAgainstBare(const std::string& backend, int threads) {
  constexpr std::int64_t kExtent = 2048;
  const auto op = ParseProblem(fmt::format("gemm/m{0}n{0}k{0}", kExtent));
  const KernelProblem problem(op, {Pass::kForward, true, DataType::kF32});
  const auto ours = MakeSpeedCase(backend, problem, threads);
  const auto bare = BareSgemm(backend, threads);
  const Tensor a(Shape{kExtent, kExtent});
  const Tensor b(Shape{kExtent, kExtent});
  const Tensor c(Shape{kExtent, kExtent});
  FromDouble(problem.inputs().at(Arg::kSrc), a.desc(), a.data());
  FromDouble(problem.inputs().at(Arg::kWeights), b.desc(), b.data());
  const ThreadWidth width(threads);
  const TickClock clock = BestClock();
  double best = std::numeric_limits<double>::infinity();
  const auto with_topdnn = [&] {
    const double seconds = SecondsOf(clock, [&] { ours->Run(); });
    best = std::min(best, seconds);
    return seconds;
  };
  const auto without = [&] {
    return SecondsOf(clock, [&] { bare(kExtent, a.as<float>(), b.as<float>(), c.as<float>()); });
  };
  Findings findings;
  SetRatio(RatioOf(without, with_topdnn), findings);
  findings.counters["GFLOP/s"] =
      static_cast<double>(op->WorkOf(Pass::kForward, DataType::kF32).flops) / best * 1e-9;
  findings.label = "speed over the library's own sgemm";
  return findings;
}

}  // namespace

void AddSpeed(int threads, BenchmarkCases& cases) {
  const std::string width = fmt::format("t{}", threads);
  for (const std::string problem :
       {"conv/n8c64h56w56k64r3s3u1v1p1q1", "conv/n1c16h14w14k16r3s3u1v1p1q1"}) {
    AddSpeedCase(
        fmt::format("speed/harness-cost/{}/{}", problem, width),
        [problem, threads] { return HarnessCost(problem, threads); }, cases);
  }
  for (const std::string& backend : Backends()) {
    if (backend == "reference" || backend == kNative) continue;
    AddSpeedCase(
        fmt::format("speed/sgemm2048/{}/{}", backend, width),
        [backend, threads] { return SgemmAgainstBare(backend, threads); }, cases);
  }
  AddResNet50Speed(threads, cases);
  AddNetworkSpeed(threads, cases);
  AddExactSpeed(threads, cases);
  for (const Pass pass : kAllPasses) {
    AddSpeedCase(
        fmt::format("speed/auto/deepbench-training/{}/{}", NameOf(pass), width),
        [pass, threads] { return AutoAgainstBest("deepbench-training", pass, threads); }, cases);
  }
}

}  // namespace topdnn
