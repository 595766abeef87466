#include "bench/speed/case.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

#include "bench/cases/benchmark_rows.h"
#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "harness/text/errors.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

void RunSpeed(benchmark::State& state, const std::function<Findings()>& measure,
              BenchmarkCases& cases) {
  try {
    const TickClock clock = BestClock();
    Findings findings;
    const double seconds = SecondsOf(clock, [&] { findings = measure(); });
    for (auto iteration : state) {
      static_cast<void>(iteration);
      state.SetIterationTime(seconds);
    }
    for (const auto& [name, value] : findings.counters) state.counters[name] = value;
    state.SetLabel(findings.label);
    ++cases.timed;
  } catch (const Skipped& skipped) {
    SkipRow(skipped.what(), state, cases);
  } catch (const UsageError& error) {  // a network that cannot be planned here
    SkipRow(error.what(), state, cases);
  } catch (const std::exception& error) {
    FailRow(std::string("FAILED: ") + error.what(), state, cases);
  }
}

}  // namespace

MarkOverhead RatioOf(const std::function<double()>& ours, const std::function<double()>& theirs) {
  constexpr int kPairs = 31;
  std::vector<double> a;
  std::vector<double> b;
  ours();
  theirs();
  for (int i = 0; i < kPairs && !Interrupted(); ++i) {
    if (i % 2 == 0) a.push_back(ours());
    b.push_back(theirs());
    if (i % 2 == 1) a.push_back(ours());
  }
  if (a.empty()) throw Interruption();
  return OverheadOf(a, b);
}

void SetRatio(const MarkOverhead& ratio, Findings& findings) {
  findings.counters["ratio"] = 1 + ratio.ratio;
  if (!ratio.interval) return;
  findings.counters["ratio_low"] = 1 + ratio.interval->low;
  findings.counters["ratio_high"] = 1 + ratio.interval->high;
}

std::vector<double> SecondsOfRuns(int threads, const Action& run, double seconds,
                                  double most_warmup_seconds) {
  const ThreadWidth width(threads);
  const TimedStage stage{"", run};
  MeasureOptions options;
  options.seconds = seconds;
  options.least_iterations = 9;
  options.most_warmup_seconds = most_warmup_seconds;
  options.cancel = &InterruptFlag();
  std::vector<double> runs = MeasureSequence({&stage, 1}, options).step.seconds;
  if (runs.empty()) throw Interruption();
  return runs;
}

double SecondsOf(const TickClock& clock, const std::function<void()>& work) {
  const std::uint64_t start = clock.now();
  work();
  const std::optional<double> seconds = clock.SecondsBetween(start, clock.now());
  if (!seconds) throw RunFailure("the clock went backwards: run it again");
  return *seconds;
}

std::unique_ptr<KernelCase> MakeSpeedCase(const std::string& variant, const KernelProblem& problem,
                                          int threads) {
  const auto found = FindVariant(variant);
  if (!found) throw Skipped(fmt::format("there is no {}", variant));
  auto made = KernelCase::Make(*found, problem, threads);
  if (auto* refusal = std::get_if<Refusal>(&made)) throw Skipped(refusal->reason);
  auto kernel = std::get<std::unique_ptr<KernelCase>>(std::move(made));
  const CaseCheck check = kernel->Check(problem);
  if (!check.agrees) throw RunFailure(check.reason);
  return kernel;
}

void AddSpeedCase(const std::string& name, std::function<Findings()> measure,
                  BenchmarkCases& cases) {
  auto run = [measure = std::move(measure), &cases](benchmark::State& state) {
    RunSpeed(state, measure, cases);
  };
  AddManualCase(name, 1, benchmark::kSecond, std::move(run), cases);
}

}  // namespace topdnn
