#include "bench/cases/kernel_benchmarks.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "bench/cases/benchmark_rows.h"
#include "bench/cases/kernel_explanation.h"
#include "bench/cases/kernel_timing.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/sudden_end.h"
#include "bench/machine/measured_ceilings.h"
#include "harness/measure/watched_run.h"
#include "harness/results/validity.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

constexpr std::string_view kAuto = "auto";

struct CaseKey {
  std::shared_ptr<const Op> op;
  Execution execution;
  std::string variant;
  int threads = 1;
  bool cold = false;
  std::optional<SettledProblem> settled = {};  // then `variant` only names the case
};

// The backend of a settled problem, which a log of oneDNN or benchdnn settles.
constexpr std::string_view kSettledBackend = "onednn";

// The case that is running, kept while Google Benchmark calls it again with more iterations. Only
// one is kept, since a problem may take gigabytes.
struct LoadedCase {
  std::string name;
  std::unique_ptr<KernelCase> kernel;
  CaseCheck check;
  std::string chosen;   // what `auto` reports about its choice
  std::string refusal;  // why it is SKIPPED
  std::string failure;  // why it FAILED
};

// Why a case cannot run, before the problem's values are computed. Empty if it may run. For a
// settled problem and for `auto`, only the size is checked here.
std::string EarlyRefusalOf(const CaseKey& key, const std::optional<Variant>& variant) {
  if (!variant) return WhyTooLarge(*key.op, key.execution);
  return EarlyRefusal(variant->backend,
                      RequestOf(*variant, key.op, key.execution, key.threads).value());
}

// Makes the kernel and checks it.
void Load(const CaseKey& key, const AutoVariant& automatic, LoadedCase& loaded) {
  std::optional<Variant> variant = FindVariant(key.variant);
  loaded.refusal = EarlyRefusalOf(key, variant);
  if (!loaded.refusal.empty()) return;
  const KernelProblem problem(key.op, key.execution);
  if (key.variant == kAuto) {
    const AutoVariant::Chosen chosen = automatic.choose(problem, key.threads);
    variant = chosen.variant;
    loaded.chosen = chosen.text;
    loaded.refusal = chosen.reason;
    if (!variant) return;
  }
  const auto make_settled = [&] {
    const KernelRequest request = key.settled->RequestFor(key.op, key.threads);
    return KernelCase::Make(ServingBackend(std::string(kSettledBackend), request), request,
                            problem);
  };
  auto made = key.settled ? make_settled() : KernelCase::Make(*variant, problem, key.threads);
  if (auto* refusal = std::get_if<Refusal>(&made)) {
    (refusal->failed ? loaded.failure : loaded.refusal) = refusal->reason;
    return;
  }
  loaded.kernel = std::get<std::unique_ptr<KernelCase>>(std::move(made));
  loaded.check = loaded.kernel->Check(problem);
  if (!loaded.check.agrees) loaded.failure = loaded.check.reason;
}

void SetKernelRecord(const LoadedCase& loaded, DataType type, Record& record,
                     benchmark::State& state) {
  const DataType multiplied = loaded.kernel->kernel().converts_to().value_or(type);
  HoldTo(CeilingOfKernel(record.isa, multiplied, loaded.kernel->threads()), record);
  JudgeRecord(MeasuredCeilings(loaded.kernel->threads()), record);
  const std::string chosen = loaded.chosen.empty() ? "" : fmt::format(" ({})", loaded.chosen);
  SetRecord(record, record.implementation + chosen, state);
  SetCounter("error", loaded.check.error, state);
}

void RunCase(benchmark::State& state, const CaseKey& key, const std::string& name,
             const AutoVariant& automatic, BenchmarkCases& cases) {
  static LoadedCase loaded;
  const WatchedRun watched(name.c_str());
  const bool again = loaded.name == name;
  try {
    if (!again) {
      loaded = LoadedCase();
      loaded.name = name;
      Load(key, automatic, loaded);
    }
  } catch (const std::bad_alloc&) {
    loaded.failure = "out of memory";
  } catch (const std::exception& error) {
    loaded.failure = error.what();
  }
  if (!loaded.refusal.empty()) return SkipRow(loaded.refusal, state, cases);
  if (!loaded.failure.empty()) return FailRow("FAILED: " + loaded.failure, state, cases);
  KernelTiming timing;
  timing.cold = key.cold;
  timing.iterations = static_cast<std::int64_t>(state.max_iterations);
  timing.warm = again;
  timing.reads_clock = cases.explains;
  auto [record, samples] = [&] {
    const HangWatch watch(/*warm=*/again);
    return MeasureKernel(loaded.name, *loaded.kernel, timing);
  }();
  if (const std::string failure = TakeRunFailure(); !failure.empty()) {
    return FailRow("FAILED: " + failure, state, cases);
  }
  if (Interrupted()) return FailRow("interrupted", state, cases);
  if (!record.seconds) {
    return FailRow(fmt::format("{}: {}", NameOf(record.status), record.reason), state, cases);
  }
  ReplaySamples(UndisturbedSeconds(samples.step), state);
  SetKernelRecord(loaded, key.execution.type, record, state);
  if (cases.explains) AddExplanation(*loaded.kernel, record, samples, cases.explanations);
  ++cases.timed;
}

class Registrar {
 public:
  Registrar(int threads, const AutoVariant& automatic, BenchmarkCases& cases)
      : threads_(threads), automatic_(automatic), cases_(cases) {}

  void Add(const ProblemSet& set, const CountedProblem& problem, Pass pass) {
    if (problem.settled) {
      const SettledProblem& settled = *problem.settled;
      Add(set, {problem.op, settled.execution, SettledName(settled, *problem.op), threads_, false,
                settled});
      return;
    }
    for (const Variant& variant : variants_) {
      for (const DataType type : variant.types) {
        const bool whole = type == DataType::kU8 || type == DataType::kS8;
        const Execution execution{pass, set.training && !whole, type};
        if (!problem.op->Has(execution)) continue;
        if (!RequestOf(variant, problem.op, execution, threads_)) continue;
        Add(set, {problem.op, execution, variant.name, threads_, false, {}});
      }
    }
    if (!automatic_.applies(*problem.op)) return;
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      const Execution execution{pass, set.training, type};
      if (!problem.op->Has(execution)) continue;
      Add(set, {problem.op, execution, std::string(kAuto), threads_, false, {}});
    }
  }

  void AddRefused(const ProblemSet& set, const RefusedProblem& problem) {
    const std::string first = fmt::format("{}/{}", set.name, problem.name);
    std::string name = first;
    for (int n = 2; !known_.insert(name).second; ++n) name = fmt::format("{}#{}", first, n);
    BenchmarkCase one;
    one.name = name;
    one.refusal = problem.reason;
    one.register_case = [name, reason = problem.reason, cases = &cases_] {
      benchmark::RegisterBenchmark(name.c_str(), [reason, cases](benchmark::State& state) {
        SkipRow(reason, state, *cases);
      });
    };
    cases_.all.push_back(std::move(one));
  }

 private:
  // "onednn:abcd.Acdb16a.any.infer": the layouts of the operands in their order.
  static std::string SettledName(const SettledProblem& settled, const Op& op) {
    std::string name = fmt::format("{}:", kSettledBackend);
    for (const Operand& operand : op.Operands(settled.execution)) {
      const auto found = settled.layouts.find(operand.arg);
      if (found != settled.layouts.end()) {
        name += found->second.tag() + ".";
      } else if (operand.shape.rank() > 1 && operand.arg.role != Arg::kWorkspace) {
        name += "any.";
      }
    }
    if (!settled.algorithm.empty()) name += settled.algorithm + ".";
    return name + (settled.execution.training ? "train" : "infer");
  }

  void Add(const ProblemSet& set, CaseKey key) {
    const std::string details = key.settled ? key.settled->details : "";
    for (const bool cold : {false, true}) {
      key.cold = cold;
      const auto named = [&](std::string_view suffix) {
        return fmt::format("{}/{}/{}{}/{}/{}/{}/t{}{}", set.name, key.op->kind(), key.op->Problem(),
                           suffix, NameOf(key.execution.pass), key.variant,
                           NameOf(key.execution.type), key.threads, cold ? "/cold" : "");
      };
      std::string name = named("");
      const bool first = known_.insert(name).second;
      // A set may contain a problem twice. Another problem of the same name is named in full.
      if (details.empty() ? !first : !known_.insert(named(details)).second) continue;
      if (!first) name = named(details);
      cases_.all.push_back({name + "/manual_time",
                            [key, name, automatic = automatic_, cases = &cases_] {
                              auto* const added = benchmark::RegisterBenchmark(
                                  name.c_str(),
                                  [key, name, automatic, cases](benchmark::State& state) {
                                    RunCase(state, key, name, automatic, *cases);
                                  });
                              added->UseManualTime()->Unit(benchmark::kMicrosecond);
                              if (cases->iterations) added->Iterations(*cases->iterations);
                            },
                            key.op, SettledFor(key)});
    }
  }

  // How the case runs on oneDNN. Layouts of other backends say nothing about it.
  SettledProblem SettledFor(const CaseKey& key) const {
    if (key.settled) return *key.settled;
    const std::optional<Variant> variant = FindVariant(key.variant);
    if (!variant || variant->backend != kSettledBackend) return {key.execution, {}, {}};
    KernelRequest request = RequestOf(*variant, key.op, key.execution, key.threads).value();
    return {key.execution, std::move(request.layouts), std::move(request.algorithm)};
  }

  int threads_;
  AutoVariant automatic_;
  BenchmarkCases& cases_;
  std::vector<Variant> variants_ = Variants();
  std::set<std::string> known_;
};

}  // namespace

void AddKernels(const std::vector<ProblemSet>& sets, int threads, const AutoVariant& automatic,
                BenchmarkCases& cases) {
  Registrar registrar(threads, automatic, cases);
  for (const ProblemSet& set : sets) {
    for (const CountedProblem& problem : set.problems) {
      for (const Pass pass : problem.passes) registrar.Add(set, problem, pass);
    }
    for (const RefusedProblem& problem : set.refused) registrar.AddRefused(set, problem);
  }
}

}  // namespace topdnn
