// `topdnn profile NET`: where a step's time goes, stage by stage.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/command.h"
#include "bench/efficiency.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/libraries.h"
#include "bench/nearest.h"
#include "bench/plan_profile.h"
#include "bench/sources.h"
#include "bench/width_one_count.h"
#include "bench/workload.h"
#include "harness/machine/machine.h"
#include "harness/report/atomic_file.h"
#include "harness/report/console.h"
#include "harness/report/context_gap.h"
#include "harness/report/csv.h"
#include "harness/report/json.h"
#include "harness/report/style.h"

namespace topdnn {

namespace {

struct ProfileOptions {
  WorkloadOptions workload;
  bool train = false;
  bool infer = false;
  std::optional<std::int64_t> iterations;
  double seconds = 5.0;
  std::string regime = "in-network";
  std::string counters = "auto";
  bool context_gap = false;
  std::string json, csv;
};

Regime RegimeOf(const std::string& name) {
  const std::vector<std::string> names = RegimeNames();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Regime>(i);
  }
  throw UsageError(fmt::format("no regime '{}'; there are: {}", name, fmt::join(names, " ")));
}

// Everything that can be refused is refused before the long work starts.
void CheckOptions(const ProfileOptions& options) {
  if (options.train && options.infer) {
    throw UsageError("--train and --infer: take one of them");
  }
  if (options.iterations && *options.iterations < 1) {
    throw UsageError(fmt::format("--iterations {}: must be 1 or more", *options.iterations));
  }
  if (!(options.seconds > 0)) throw UsageError("--seconds: must be above 0");
  for (const std::string& path : {options.json, options.csv}) {
    if (!path.empty()) CheckWritable(path);
  }
}

nlohmann::ordered_json MachineJson(const Machine& machine, const std::vector<Ceiling>& ceilings) {
  nlohmann::ordered_json json = ToJson(machine);
  json["libraries"] = LibraryVersions();
  json["ceilings"] = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : ceilings) json["ceilings"].push_back(ToJson(ceiling));
  return json;
}

int RunProfile(const ProfileOptions& options) {
  CheckOptions(options);
  InterruptFlag();
  ProgressLine progress(DetectStyle(stderr));
  ProfileSettings settings;
  settings.regime = RegimeOf(options.regime);
  settings.iterations = options.iterations;
  settings.seconds = options.seconds;
  settings.context_gap = options.context_gap;
  settings.cancel = &InterruptFlag();
  settings.progress = [&](std::string_view what, double share) {
    progress.Show(fmt::format("{:3.0f} %  {}", share * 100, what));
  };
  const OpenedSources sources = OpenSources(options.counters);
  settings.sources = sources.Pointers();

  settings.progress("planning", 0);
  Workload workload = MakeWorkload(options.workload, /*training=*/!options.infer);
  TrainingImages images(options.workload, workload);
  settings.progress("measuring the machine's ceilings", 0);
  const Machine machine = DescribeMachine();
  const std::vector<Ceiling> ceilings = MeasureCeilings(workload.plan->threads());
  settings.check = [&](Plan& plan) {
    return CheckStep(options.workload, /*training=*/!options.infer, plan);
  };
  PlanProfile profile = ProfilePlan(*workload.plan, &images, settings);
  CountAtWidthOne(options.workload, /*training=*/!options.infer, *workload.plan, settings, profile);

  Report report = ReportOf(*workload.plan, profile, ceilings, settings.regime);
  report.command = CommandLine();
  report.machine = MachineJson(machine, ceilings);
  report.items_per_step = static_cast<double>(workload.batch);
  report.partial = report.partial || Interrupted();
  report.subject = {{"network", workload.network},
                    {"batch", workload.batch},
                    {"dtype", workload.dtype},
                    {"backend", workload.backend},
                    {"threads", workload.plan->threads()},
                    {"mode", options.infer ? "inference" : "training"},
                    {"regime", options.regime},
                    {"data", images.source()},
                    {"seed", options.workload.seed}};
  if (const auto efficiency = EfficiencyOf(*workload.plan, report)) {
    report.notes.push_back(EfficiencyNote(workload.network, *efficiency));
  }
  progress.Erase();
  fmt::print("{}", ConsoleText(report, DetectStyle(stdout)));
  fmt::print("{}", ContextGapText(report, DetectStyle(stdout)));
  for (const std::string& line : sources.notes) fmt::print("  counters: {}\n", line);
  if (!options.json.empty()) WriteJson(report, options.json);
  if (!options.csv.empty()) WriteCsv(report, options.csv);
  if (Interrupted()) return kExitInterrupted;
  if (report.stages.empty()) return kExitNothing;
  return report.step.status == Status::kFailed ? kExitWrong : kExitGood;
}

std::function<int()> Configure(CLI::App& app) {
  auto options = std::make_shared<ProfileOptions>();
  AddWorkloadOptions(app, options->workload);
  app.add_flag("--train", options->train, "a training step: forward, backward, update (default)");
  app.add_flag("--infer", options->infer, "an inference step: forward alone");
  app.add_option("--iterations", options->iterations, "timed steps (default: as many as fit)");
  app.add_option("--seconds", options->seconds, "of timed steps, without --iterations");
  app.add_option("--regime", options->regime, "in-network, isolated-hot or isolated-cold");
  app.add_flag("--context-gap", options->context_gap,
               "time each stage hot, cold and in the network, and explain the difference");
  app.add_option("--counters", options->counters, "auto, perf, exact, clock or none");
  app.add_option("--json", options->json, "file for the whole report");
  app.add_option("--csv", options->csv, "file with a row a stage");
  return [options] { return RunProfile(*options); };
}

const CommandRegistration kProfile({"profile",
                                    "where a network's step spends its time, stage by stage",
                                    Configure});

}  // namespace

}  // namespace topdnn
