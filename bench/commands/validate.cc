// `topdnn validate`: compares counters with known counts, case by case, with a verdict.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/interrupt.h"
#include "bench/command_line/plugin_words.h"
#include "bench/validation/kernel_validation.h"
#include "bench/validation/network_validation.h"
#include "bench/workload/workload.h"
#include "harness/counters/source.h"
#include "harness/experiments/known_core.h"
#include "harness/experiments/known_mixes.h"
#include "harness/experiments/known_nodes.h"
#include "harness/files/atomic_file.h"
#include "harness/machine/machine.h"
#include "harness/probes/probe.h"
#include "harness/report/json.h"
#include "harness/report/publish_result.h"
#include "harness/report/tables/tables.h"
#include "harness/report/validation.h"
#include "harness/text/style.h"
#include "harness/topdown/perf_events.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// The sources that count on this machine, and the reasons why the others do not.
struct Opened {
  std::unique_ptr<CounterSource> exact, pmu;
  std::vector<std::string> notes;

  ValidationSources sources() const { return {exact.get(), pmu.get()}; }
};

Opened OpenThem() {
  Opened opened;
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name != "exact" && offer.name != "hardware") continue;
    const Availability availability = offer.probe();
    if (!availability.works) {
      opened.notes.push_back(fmt::format("{}: {}", offer.name, availability.reason));
    } else {
      (offer.name == "exact" ? opened.exact : opened.pmu) = offer.open();
    }
  }
  return opened;
}

std::int64_t CountOf(const std::vector<ValidationCase>& cases, Status verdict) {
  return std::count_if(cases.begin(), cases.end(),
                       [&](const ValidationCase& c) { return c.verdict == verdict; });
}

int ExitStatus(const std::vector<ValidationCase>& cases) {
  if (CountOf(cases, Status::kFailed) + CountOf(cases, Status::kInvalid) > 0) return kExitWrong;
  return CountOf(cases, Status::kOk) > 0 ? kExitGood : kExitNothing;
}

std::string Summary(const std::vector<ValidationCase>& cases) {
  return fmt::format("{} cases: {} agree, {} differ, {} not counted completely, {} skipped\n",
                     cases.size(), CountOf(cases, Status::kOk), CountOf(cases, Status::kFailed),
                     CountOf(cases, Status::kInvalid), CountOf(cases, Status::kSkipped));
}

struct ValidateOptions {
  std::string json;
  std::string kernels_of;  // a backend; empty: everything
};

// The backends whose kernels are validated.
std::vector<std::string> BackendsOf(const ValidateOptions& options) {
  std::vector<std::string> all = Backends();
  if (options.kernels_of.empty()) return all;
  if (std::find(all.begin(), all.end(), options.kernels_of) == all.end()) {
    throw UsageError(fmt::format("--kernels-of {}: must be one of {}", options.kernels_of,
                                 fmt::join(all, ", ")));
  }
  return {options.kernels_of};
}

int RunValidate(const ValidateOptions& options) {
  const std::vector<std::string> backends = BackendsOf(options);
  if (!options.json.empty()) CheckWritable(options.json);
  InterruptFlag();
  ProgressLine progress(DetectStyle(stderr));
  const Opened opened = OpenThem();
  std::vector<ValidationCase> cases;
  const auto add = [&](std::vector<ValidationCase> more) {
    for (ValidationCase& c : more) cases.push_back(std::move(c));
  };
  // Whether more than kernels is validated, and nothing has interrupted it yet.
  const auto goes_on = [&options] { return options.kernels_of.empty() && !Interrupted(); };
  for (const Probe& probe : Probes()) {
    if (!goes_on()) break;
    progress.Show(probe.name);
    add(ValidateProbe(probe, opened.sources()));
  }
  const auto say = [&](std::string_view what) { progress.Show(std::string(what)); };
  add(ValidateKernels(opened.sources(), backends, ThreadsOf({}), say));
  for (const std::string& backend : backends) {
    if (!goes_on()) break;
    WorkloadOptions step;
    step.network = "cnn";
    step.backend = backend;
    step.batch = 4;
    step.fallback = kAnyFallback;
    step.data = "synthetic";
    say(fmt::format("a training step of {} on {}", step.network, backend));
    ValidationCase c = ValidateStep(opened.sources(), step);
    // The counter does not follow the workers of this backend's pool.
    if (c.verdict == Status::kInvalid) {
      step.threads = 1;
      c = ValidateStep(opened.sources(), step);
      c.name += " (1 thread)";
    }
    add({c});
  }
  if (goes_on() && opened.exact != nullptr) add(ValidateOneDnnAtLevels(say));
  std::vector<MixResult> mixes;
  if (goes_on()) {
    mixes = RunKnownMixes(DescribeMachine().topology.caches, ThreadsOf({}), say);
  }
  std::vector<MixResult> core;
  if (goes_on()) core = RunKnownCore(DescribeMachine().topology.caches, say);
  std::vector<MixResult> nodes;
  if (goes_on()) {
    nodes =
        RunKnownNodes(PipelineOf(DescribeMachine().cpu), MeasureCoreRates(1), ThreadsOf({}), say);
  }
  progress.Erase();
  const int status = Interrupted() ? kExitInterrupted : ExitStatus(cases);
  const auto json = [&] {
    Json all = {{"schema", 1}, {"command", CommandLine()}};
    all["machine"] = ToJson(DescribeMachine());
    all["not_counting"] = opened.notes;
    all["good"] = status == kExitGood;
    for (const char* key : {"cases", "memory_experiment", "core_experiment", "tree_nodes"}) {
      all[key] = Json::array();
    }
    for (const ValidationCase& c : cases) all["cases"].push_back(ToJson(c));
    for (const MixResult& mix : mixes) all["memory_experiment"].push_back(ToJson(mix));
    for (const MixResult& mix : core) all["core_experiment"].push_back(ToJson(mix));
    for (const MixResult& node : nodes) all["tree_nodes"].push_back(ToJson(node));
    return all;
  };
  PublishResult(options.json, json, [&](const Style& style) {
    std::string text = ValidationText(cases, style) + Summary(cases);
    const auto add_mixes = [&](const char* title, const std::vector<MixResult>& results) {
      if (!results.empty()) text += "\n" + MixesText(title, results, style);
    };
    add_mixes("memory experiment", mixes);
    add_mixes("core experiment", core);
    add_mixes("Top-Down tree", nodes);
    for (const std::string& note : opened.notes) text += fmt::format("not counting: {}\n", note);
    return text;
  });
  return status;
}

std::function<int()> ConfigureValidate(CommandParser& parser) {
  auto options = std::make_shared<ValidateOptions>();
  parser.Add("--json FILE", options->json,
             "write the results to this file as JSON; - is standard output");
  AddPluginOption(parser);
  parser.Add("--kernels-of", options->kernels_of, "validate only this backend's kernels");
  return [options] { return RunValidate(*options); };
}

const CommandRegistration kValidate(
    {"validate", Question::kMeasure,
     "counters against known counts, and experiments against known waits", ConfigureValidate,
     "topdnn validate --json validate.json"});

}  // namespace

}  // namespace topdnn
