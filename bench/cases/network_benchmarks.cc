#include "bench/cases/network_benchmarks.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases/benchmark_rows.h"
#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/profile/plan_profile.h"
#include "bench/workload/images.h"
#include "bench/workload/sources.h"
#include "bench/workload/workload.h"
#include "harness/results/validity.h"
#include "harness/text/one_line.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/registry.h"
#include "networks/graph/zoo.h"

namespace topdnn {

namespace {

// Adds a case with one iteration per sample.
void Add(const std::string& name, std::int64_t iterations, BenchmarkCases& cases,
         std::function<void(benchmark::State&)> run) {
  AddManualCase(name, cases.iterations.value_or(iterations), benchmark::kMicrosecond,
                std::move(run), cases);
}

// The data kept for a plan's stage. The plan itself is freed, since the memory of many networks
// would add up.
struct PlannedStage {
  std::string name;
  StagePass pass;
  std::vector<std::string> fused;
};

// A network in one mode on one backend. It is planned and measured at first use, so that listing
// all cases does not take minutes.
class NetworkCase {
 public:
  NetworkCase(WorkloadOptions options, bool training, std::int64_t iterations)
      : options_(std::move(options)), training_(training), iterations_(iterations) {}

  std::int64_t iterations() const { return iterations_; }
  // "cnn/train/n128"
  std::string Name() const {
    return fmt::format("{}/{}/n{}", options_.network, training_ ? "train" : "infer",
                       options_.batch.value());
  }
  // "onednn/f32/t2"
  std::string Variant() const {
    return fmt::format("{}/{}/t{}", options_.backend, options_.dtype, ThreadsOf(options_));
  }
  // The stages that the graph's nodes can produce. A plan may fuse some of them, and has reorders
  // besides.
  std::vector<std::pair<std::string, StagePass>> PossibleStages() const;

  // Throws UsageError if the network cannot be planned.
  const PlanProfile& profile() {
    if (!measured_) Measure();
    return profile_;
  }
  const Report& report() {
    if (!measured_) Measure();
    return report_;
  }
  const std::vector<PlannedStage>& stages() {
    if (!measured_) Measure();
    return stages_;
  }

 private:
  void Measure() {
    options_.reports_failures = true;
    if (refusal_) throw UsageError(*refusal_);
    Workload workload;
    try {
      workload = MakeWorkload(options_, training_);
    } catch (const UsageError& error) {
      refusal_ = error.what();
      throw;
    }
    TrainingImages images(options_, workload);
    // (not `auto`: that includes the exact counter, and a benchmark only measures times)
    const OpenedSources sources = OpenSources("perf");
    ProfileSettings settings;
    settings.iterations = iterations_;
    settings.sources = sources.Pointers();
    settings.cancel = &InterruptFlag();
    settings.isolate = false;
    settings.best_reading = BestQuietReading(BestOfThisMachine(), workload.plan->threads());
    profile_ = ProfilePlan(options_, training_, *workload.plan, images, settings);
    const std::vector<Ceiling>& ceilings = MeasuredCeilings(workload.plan->threads());
    report_ = ReportOf(*workload.plan, profile_, ceilings, Regime::kInNetwork);
    JudgeReport({.ceilings = ceilings, .isolated = {}}, report_);
    for (const Stage& stage : workload.plan->stages()) {
      stages_.push_back({stage.name, stage.pass, stage.fused});
    }
    measured_ = true;
  }

  WorkloadOptions options_;
  bool training_;
  std::int64_t iterations_;
  std::vector<PlannedStage> stages_;
  std::optional<std::string> refusal_;  // why it cannot be planned, once that is known
  PlanProfile profile_;
  Report report_;
  bool measured_ = false;
};

std::vector<std::pair<std::string, StagePass>> NetworkCase::PossibleStages() const {
  const NetworkOffer& offer = *FindNetwork(options_.network);
  const Graph graph = offer.build(
      {.batch = options_.batch.value(), .image = offer.image, .classes = offer.classes});
  std::vector<std::pair<std::string, StagePass>> stages;
  const auto add = [&](const GraphNode& node, StagePass stage, Pass pass) {
    if (node.op->Has({pass, training_, DataType::kF32})) stages.emplace_back(node.name, stage);
  };
  for (const GraphNode& node : graph.nodes()) add(node, StagePass::kForward, Pass::kForward);
  if (!training_) return stages;
  stages.emplace_back("loss", StagePass::kLoss);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    add(*node, StagePass::kBackwardData, Pass::kBackwardData);
    add(*node, StagePass::kBackwardWeights, Pass::kBackwardWeights);
  }
  for (const GraphNode& node : graph.nodes()) {
    if (!node.op->Parameters().empty()) stages.emplace_back(node.name, StagePass::kUpdate);
  }
  return stages;
}

// One row: the samples of a stage, or of the step.
void RunRow(benchmark::State& state, const Record& record, const StageSamples& samples,
            BenchmarkCases& cases) {
  if (!record.seconds) return FailRow(record.reason, state, cases);
  ReplaySamples(UndisturbedSeconds(samples), state);
  SetRecord(record, record.implementation, state);
  ++cases.timed;
}

// Why the plan has no stage of that name and pass.
std::string AbsenceOf(const std::string& layer, const std::vector<PlannedStage>& stages) {
  for (const PlannedStage& stage : stages) {
    if (std::find(stage.fused.begin(), stage.fused.end(), layer) != stage.fused.end()) {
      return fmt::format("computed by {}", stage.name);
    }
  }
  return "the plan has no such stage: no stage needs its result, or another stage computes it";
}

void RunStageRow(benchmark::State& state, NetworkCase& network, const std::string& layer,
                 StagePass pass, BenchmarkCases& cases) {
  const std::vector<PlannedStage>& stages = network.stages();
  const auto stage = std::find_if(stages.begin(), stages.end(), [&](const PlannedStage& planned) {
    return planned.name == layer && planned.pass == pass;
  });
  if (stage == stages.end()) return SkipRow(AbsenceOf(layer, stages), state, cases);
  const auto at = static_cast<std::size_t>(stage - stages.begin());
  const auto& records = network.report().stages;
  const auto& samples = network.profile().in_network.stages;
  if (at >= records.size() || at >= samples.size()) return FailRow("interrupted", state, cases);
  RunRow(state, records[at], samples[at], cases);
}

// Networks that cannot be planned on this backend or machine are skipped with the reason.
void RunOrSkip(benchmark::State& state, BenchmarkCases& cases, const std::function<void()>& run) {
  try {
    run();
  } catch (const UsageError& error) {
    SkipRow(error.what(), state, cases);
  } catch (const KernelFailed& error) {
    FailRow(OneLine(error.what()), state, cases);
  } catch (const std::bad_alloc&) {
    FailRow("out of memory", state, cases);
  }
}

void AddNetwork(const std::shared_ptr<NetworkCase>& network, BenchmarkCases& cases) {
  for (const auto& [layer, pass] : network->PossibleStages()) {
    const std::string name =
        fmt::format("{}/{}/{}/{}", network->Name(), layer, NameOf(pass), network->Variant());
    Add(name, network->iterations(), cases,
        [network, layer = layer, pass = pass, &cases](benchmark::State& state) {
          RunOrSkip(state, cases, [&] { RunStageRow(state, *network, layer, pass, cases); });
        });
  }
  const std::string step = fmt::format("{}/step/{}", network->Name(), network->Variant());
  Add(step, network->iterations(), cases, [network, &cases](benchmark::State& state) {
    RunOrSkip(state, cases, [&] {
      RunRow(state, network->report().step, network->profile().in_network.step, cases);
    });
  });
}

// The number of images for which a step takes at most some tenths of a second.
std::int64_t BatchFor(const NetworkOffer& network, const std::string& backend) {
  constexpr std::int64_t kSmallImage = 64 * 64;
  const bool small = network.image[1] * network.image[2] <= kSmallImage;
  if (backend == "reference") return small ? 8 : 1;
  return small ? 128 : 8;
}

}  // namespace

void AddNetworks(int threads, BenchmarkCases& cases) {
  for (const NetworkOffer& network : Networks()) {
    for (const std::string& backend : Backends()) {
      if (backend == kNative) continue;  // no network by itself
      for (const bool training : {true, false}) {
        WorkloadOptions options;
        options.network = network.FullName();
        options.backend = backend;
        options.threads = threads;
        const std::int64_t batch = BatchFor(network, backend);
        options.batch = batch;
        const std::int64_t iterations = batch >= 128 ? 30 : 10;
        AddNetwork(std::make_shared<NetworkCase>(options, training, iterations), cases);
      }
    }
  }
}

}  // namespace topdnn
