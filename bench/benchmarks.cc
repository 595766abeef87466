// `topdnn bench`: every case under Google Benchmark, with its flags, console and JSON.
//
// A network's stages can only be timed together, in the network; so its samples are taken once,
// when the first of its rows is asked for, and handed to rows of manual time. What Google
// Benchmark 1.7.1 leaves to its caller is done here: the exit status of a filter that matches
// nothing or of a case that failed, and an output file that is whole, valid JSON or not there.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/libraries.h"
#include "bench/plan_profile.h"
#include "bench/sources.h"
#include "bench/workload.h"
#include "harness/machine/machine.h"
#include "harness/report/atomic_file.h"
#include "kernels/registry.h"

namespace topdnn {

namespace {

constexpr std::string_view kOutFlag = "--benchmark_out=";

// What a whole run of cases came to, for the exit status.
struct Tally {
  int timed = 0;
  int failed = 0;
  std::vector<std::string> names;  // as Google Benchmark spells them
};

// Google Benchmark names a case, times it by hand and repeats it as often as there are samples.
benchmark::internal::Benchmark* Register(const std::string& name, std::int64_t iterations,
                                         Tally& tally, std::function<void(benchmark::State&)> run) {
  tally.names.push_back(fmt::format("{}/iterations:{}/manual_time", name, iterations));
  return benchmark::RegisterBenchmark(name.c_str(), std::move(run))
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMicrosecond);
}

// Whether --benchmark_filter, an extended POSIX expression which a leading '-' negates, selects any
// case. Google Benchmark itself would run none, and end well.
bool AnyCaseMatches(const std::vector<std::string>& names) {
  std::string filter = benchmark::GetBenchmarkFilter();
  if (filter.empty() || filter == "all") filter = ".";
  const bool negated = filter.front() == '-';
  if (negated) filter.erase(0, 1);
  regex_t expression;
  if (regcomp(&expression, filter.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    throw UsageError(fmt::format("bench: --benchmark_filter={}: no regular expression", filter));
  }
  const bool any = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return (regexec(&expression, name.c_str(), 0, nullptr, 0) == 0) != negated;
  });
  regfree(&expression);
  return any;
}

// A network in one mode on one backend: measured when first asked.
class NetworkCase {
 public:
  NetworkCase(WorkloadOptions options, bool training, std::int64_t iterations)
      : options_(std::move(options)),
        training_(training),
        iterations_(iterations),
        workload_(PlanWorkload(options_, training_)) {}

  const Plan& plan() const { return *workload_.plan; }
  std::int64_t iterations() const { return iterations_; }
  // "cnn/train/n128"
  std::string Name() const {
    return fmt::format("{}/{}/n{}", options_.network, training_ ? "train" : "infer",
                       options_.batch);
  }
  // "onednn/f32/t2"
  std::string Variant() const {
    return fmt::format("{}/{}/t{}", options_.backend, options_.dtype, plan().threads());
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
    const OpenedSources sources = OpenSources("auto");
    ProfileSettings settings;
    settings.iterations = iterations_;
    settings.sources = sources.Pointers();
    settings.cancel = &InterruptFlag();
    settings.isolate = false;
    profile_ = ProfilePlan(*workload_.plan, &images, settings);
    report_ =
        ReportOf(*workload_.plan, profile_, MeasureCeilings(plan().threads()), Regime::kInNetwork);
    measured_ = true;
  }

  WorkloadOptions options_;
  bool training_;
  std::int64_t iterations_;
  Workload workload_;
  PlanProfile profile_;
  Report report_;
  bool measured_ = false;
};

void SetCounters(const Record& record, benchmark::State& state) {
  state.SetLabel(record.status == Status::kOk ? record.implementation
                                              : fmt::format("{} {}: {}", record.implementation,
                                                            NameOf(record.status), record.reason));
  // Never a NaN: Google Benchmark would write it bare into JSON.
  const auto set = [&state](const char* name, std::optional<double> value) {
    if (value) state.counters[name] = *value;
  };
  set("median_s", record.seconds->median);
  set("min_s", record.seconds->min);
  set("p90_s", record.seconds->p90);
  set("GFLOP/s", record.Gflops());
  set("peak_fraction", record.PeakFraction());
  for (const auto& [event, count] : record.events) set(event.c_str(), count);
}

// One row: the samples of a stage, or of the step where `samples` is that.
void RunRow(benchmark::State& state, const Record* record, const StageSamples* samples,
            Tally& tally) {
  const bool cancelled = record == nullptr || samples == nullptr;
  if (cancelled || !record->seconds) {
    ++tally.failed;
    state.SkipWithError(cancelled ? "interrupted" : record->reason.c_str());
    return;
  }
  std::size_t next = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.SetIterationTime(samples->seconds[next]);
    next = (next + 1) % samples->seconds.size();
  }
  SetCounters(*record, state);
  ++tally.timed;
}

void RegisterNetwork(const std::shared_ptr<NetworkCase>& network, Tally& tally) {
  const auto& stages = network->plan().stages();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string name = fmt::format("{}/{}/{}/{}", network->Name(), stages[i].name,
                                         NameOf(stages[i].pass), network->Variant());
    Register(name, network->iterations(), tally, [network, i, &tally](benchmark::State& state) {
      const Report& report = network->report();
      const auto& samples = network->profile().in_network.stages;
      const bool there = i < report.stages.size() && i < samples.size();
      RunRow(state, there ? &report.stages[i] : nullptr, there ? &samples[i] : nullptr, tally);
    });
  }
  const std::string step = fmt::format("{}/step/{}", network->Name(), network->Variant());
  Register(step, network->iterations(), tally, [network, &tally](benchmark::State& state) {
    RunRow(state, &network->report().step, &network->profile().in_network.step, tally);
  });
}

// Every network on every backend that can run it, in both modes.
void RegisterNetworks(Tally& tally) {
  constexpr std::int64_t kIterations = 30;
  for (const NetworkOffer& network : Networks()) {
    for (const std::string& backend : Backends()) {
      for (const bool training : {true, false}) {
        WorkloadOptions options;
        options.network = network.FullName();
        options.backend = backend;
        options.batch = backend == "reference" ? 8 : 128;
        try {
          RegisterNetwork(std::make_shared<NetworkCase>(options, training, kIterations), tally);
        } catch (const UsageError& error) {
          benchmark::AddCustomContext(fmt::format("skipped {} {} {}", network.FullName(),
                                                  training ? "train" : "infer", backend),
                                      error.what());
        }
      }
    }
  }
}

// Moves what Google Benchmark wrote to where it was asked for, once it is whole.
void Publish(const std::string& partial, const std::string& path, bool is_json) {
  std::ifstream file(partial, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (is_json && !nlohmann::json::accept(text)) {
    throw std::runtime_error(fmt::format("{}: Google Benchmark wrote no valid JSON", partial));
  }
  WriteFileAtomically(path, text);
  std::filesystem::remove(partial);
}

int RunBench(const CLI::App& app) {
  InterruptFlag();
  std::vector<std::string> arguments = app.remaining();
  std::string path;
  std::string partial;
  bool is_json = true;
  for (std::string& argument : arguments) {
    if (argument.starts_with("--benchmark_out_format=")) is_json = argument.ends_with("=json");
    if (!argument.starts_with(kOutFlag)) continue;
    path = argument.substr(kOutFlag.size());
    CheckWritable(path);
    partial = path + ".partial";
    argument = std::string(kOutFlag) + partial;
  }
  std::string program = "topdnn bench";
  std::vector<char*> argv = {program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw UsageError(
        fmt::format("bench: no argument '{}'; it takes Google Benchmark's, such as "
                    "--benchmark_filter=REGEX and --benchmark_out=FILE",
                    argv[1]));
  }
  Tally tally;
  RegisterNetworks(tally);
  if (!AnyCaseMatches(tally.names)) {
    throw UsageError(
        "bench: --benchmark_filter matches no case; --benchmark_list_tests lists them");
  }
  benchmark::AddCustomContext("command", CommandLine());
  benchmark::AddCustomContext("libraries", LibraryVersions().dump());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  // Nothing is written where the cases were only listed.
  if (std::filesystem::exists(partial)) Publish(partial, path, is_json);
  if (Interrupted()) return kExitInterrupted;
  return tally.failed > 0 ? kExitWrong : kExitGood;
}

std::function<int()> Configure(CLI::App& app) {
  app.allow_extras();
  app.footer("Takes Google Benchmark's flags: --benchmark_filter=REGEX, --benchmark_out=FILE, ...");
  return [&app] { return RunBench(app); };
}

const CommandRegistration kBench({"bench",
                                  "networks' stages as Google Benchmark cases, with its flags",
                                  Configure});

}  // namespace

}  // namespace topdnn
