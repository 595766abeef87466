#include "bench/network_benchmarks.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchmark_rows.h"
#include "bench/command.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/measured_ceilings.h"
#include "bench/plan_profile.h"
#include "bench/sources.h"
#include "bench/workload.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

// Google Benchmark names a case, times it by hand and repeats it as often as there are samples.
void Add(const std::string& name, std::int64_t iterations, BenchmarkCases& cases,
         std::function<void(benchmark::State&)> run) {
  cases.all.push_back({fmt::format("{}/iterations:{}/manual_time", name, iterations),
                       [name, iterations, run = std::move(run)] {
                         benchmark::RegisterBenchmark(name.c_str(), run)
                             ->UseManualTime()
                             ->Iterations(iterations)
                             ->Unit(benchmark::kMicrosecond);
                       }});
}

// A network in one mode on one backend: measured when first asked.
class NetworkCase {
 public:
  NetworkCase(WorkloadOptions options, bool training, std::int64_t iterations)
      : options_(std::move(options)), training_(training), iterations_(iterations) {}

  // The stages that a row is made for. Throws UsageError where there is no plan.
  std::vector<std::pair<std::string, StagePass>> Stages() const {
    const Workload workload = PlanWorkload(options_, training_);
    std::vector<std::pair<std::string, StagePass>> stages;
    for (const Stage& stage : workload.plan->stages()) stages.emplace_back(stage.name, stage.pass);
    return stages;
  }
  std::int64_t iterations() const { return iterations_; }
  // "cnn/train/n128"
  std::string Name() const {
    return fmt::format("{}/{}/n{}", options_.network, training_ ? "train" : "infer",
                       options_.batch);
  }
  // "onednn/f32/t2"
  std::string Variant() const {
    return fmt::format("{}/{}/t{}", options_.backend, options_.dtype, ThreadsOf(options_));
  }

  const PlanProfile& profile() {
    if (!measured_) Measure();
    return profile_;
  }
  const Report& report() {
    if (!measured_) Measure();
    return report_;
  }

 private:
  void Measure() {
    workload_ = MakeWorkload(options_, training_);
    TrainingImages images(options_, workload_);
    // (not `auto`: the exact counter is for profile, and a benchmark is for times)
    const OpenedSources sources = OpenSources("perf");
    ProfileSettings settings;
    settings.iterations = iterations_;
    settings.sources = sources.Pointers();
    settings.cancel = &InterruptFlag();
    settings.isolate = false;
    settings.check = [this](Plan& plan) { return CheckStep(options_, training_, plan); };
    profile_ = ProfilePlan(*workload_.plan, &images, settings);
    report_ = ReportOf(*workload_.plan, profile_, MeasuredCeilings(workload_.plan->threads()),
                       Regime::kInNetwork);
    workload_.plan.reset();  // one network's memory at a time
    measured_ = true;
  }

  WorkloadOptions options_;
  bool training_;
  std::int64_t iterations_;
  Workload workload_ = {};
  PlanProfile profile_;
  Report report_;
  bool measured_ = false;
};

// One row: the samples of a stage, or of the step where `samples` is that.
void RunRow(benchmark::State& state, const Record* record, const StageSamples* samples,
            BenchmarkCases& cases) {
  const bool cancelled = record == nullptr || samples == nullptr;
  if (cancelled || !record->seconds) {
    ++cases.failed;
    state.SkipWithError(cancelled ? "interrupted" : record->reason.c_str());
    return;
  }
  ReplaySamples(samples->seconds, state);
  SetRecord(*record, record->implementation, state);
  ++cases.timed;
}

void AddStages(const std::shared_ptr<NetworkCase>& network, BenchmarkCases& cases) {
  const auto stages = network->Stages();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto& [stage, pass] = stages[i];
    const std::string name =
        fmt::format("{}/{}/{}/{}", network->Name(), stage, NameOf(pass), network->Variant());
    Add(name, network->iterations(), cases, [network, i, &cases](benchmark::State& state) {
      const Report& report = network->report();
      const auto& samples = network->profile().in_network.stages;
      const bool there = i < report.stages.size() && i < samples.size();
      RunRow(state, there ? &report.stages[i] : nullptr, there ? &samples[i] : nullptr, cases);
    });
  }
}

void AddStep(const std::shared_ptr<NetworkCase>& network, BenchmarkCases& cases) {
  const std::string step = fmt::format("{}/step/{}", network->Name(), network->Variant());
  Add(step, network->iterations(), cases, [network, &cases](benchmark::State& state) {
    RunRow(state, &network->report().step, &network->profile().in_network.step, cases);
  });
}

// Up to this many multiply-accumulates an image every stage has a row, on every backend; a larger
// network has one for the step, on oneDNN: its plan is made when it is run.
constexpr std::int64_t kSmallMacs = 50'000'000;

void AddSmallNetwork(const NetworkOffer& network, BenchmarkCases& cases) {
  constexpr std::int64_t kIterations = 30;
  for (const std::string& backend : Backends()) {
    for (const bool training : {true, false}) {
      WorkloadOptions options;
      options.network = network.FullName();
      options.backend = backend;
      options.batch = backend == "reference" ? 8 : 128;
      const auto network_case = std::make_shared<NetworkCase>(options, training, kIterations);
      try {
        AddStages(network_case, cases);
        AddStep(network_case, cases);
      } catch (const UsageError& error) {
        benchmark::AddCustomContext(fmt::format("skipped {} {} {}", network.FullName(),
                                                training ? "train" : "infer", backend),
                                    error.what());
      }
    }
  }
}

void AddLargeNetwork(const NetworkOffer& network, BenchmarkCases& cases) {
  constexpr std::int64_t kIterations = 10;
  for (const bool training : {true, false}) {
    WorkloadOptions options;
    options.network = network.FullName();
    options.batch = 8;
    AddStep(std::make_shared<NetworkCase>(options, training, kIterations), cases);
  }
}

}  // namespace

void AddNetworks(BenchmarkCases& cases) {
  for (const NetworkOffer& network : Networks()) {
    const Graph graph = network.build({1, network.image, network.classes});
    if (graph.Totals().macs <= kSmallMacs) {
      AddSmallNetwork(network, cases);
    } else {
      AddLargeNetwork(network, cases);
    }
  }
}

}  // namespace topdnn
