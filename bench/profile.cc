// `topdnn profile NET`: where a step's time goes, stage by stage.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/command.h"
#include "bench/command_parser.h"
#include "bench/efficiency.h"
#include "bench/images.h"
#include "bench/interrupt.h"
#include "bench/libraries.h"
#include "bench/nearest.h"
#include "bench/network_choice.h"
#include "bench/plan_profile.h"
#include "bench/recorded_profile.h"
#include "bench/sources.h"
#include "bench/stage_bounds.h"
#include "bench/stage_topdown.h"
#include "bench/width_one_count.h"
#include "bench/workload.h"
#include "harness/evolution.h"
#include "harness/groups.h"
#include "harness/machine/machine.h"
#include "harness/report/atomic_file.h"
#include "harness/report/bounds_table.h"
#include "harness/report/console.h"
#include "harness/report/context_gap.h"
#include "harness/report/csv.h"
#include "harness/report/dram_table.h"
#include "harness/report/json.h"
#include "harness/report/style.h"
#include "harness/report/topdown_table.h"
#include "harness/stage_record.h"
#include "harness/topdown/perf_events.h"

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
  std::string metrics;
  bool scale_counts = false;
  bool context_gap = false;
  bool roofline = false;
  std::string json, csv, record;
  bool series = false;
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
  for (const std::string& path : {options.json, options.csv, options.record}) {
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

// What a run measured, here or where it was recorded.
struct Measured {
  PlanProfile profile;
  std::vector<Ceiling> ceilings;
  std::optional<CoreRates> rates;  // absent in a recording of a version without them
  std::vector<Cache> caches;
  nlohmann::ordered_json machine;
  nlohmann::ordered_json subject;
  bool smt = false;
  std::vector<std::string> source_notes;
  std::optional<RecordedChoice> choice;  // of `auto`
};

// What a replay must share with its recording.
nlohmann::ordered_json SubjectOf(const ProfileOptions& options, const Workload& workload) {
  return {{"network", workload.network},
          {"batch", workload.batch},
          {"dtype", workload.dtype},
          {"backend", workload.backend},
          {"threads", workload.plan->threads()},
          {"mode", options.infer ? "inference" : "training"},
          {"regime", options.regime}};
}

ProfileSettings SettingsOf(const ProfileOptions& options, ProgressLine& progress) {
  ProfileSettings settings;
  settings.regime = RegimeOf(options.regime);
  settings.iterations = options.iterations;
  settings.seconds = options.seconds;
  settings.context_gap = options.context_gap;
  settings.cancel = &InterruptFlag();
  settings.progress = [&progress](std::string_view what, double share) {
    progress.Show(fmt::format("{:3.0f} %  {}", share * 100, what));
  };
  return settings;
}

Measured Measure(ProfileOptions options, ProgressLine& progress, Workload& workload) {
  ProfileSettings settings = SettingsOf(options, progress);
  const OpenedSources sources = OpenSources(options.counters, options.metrics);
  settings.sources = sources.Pointers();
  settings.progress("planning", 0);
  FitToData(options.workload);
  const std::string chosen = ChooseInNetwork(options.workload, /*training=*/!options.infer);
  workload = MakeWorkload(options.workload, /*training=*/!options.infer);
  TrainingImages images(options.workload, workload);
  settings.progress("measuring the machine's ceilings", 0);
  const Machine machine = DescribeMachine();
  Measured measured;
  measured.ceilings = MeasureCeilings(workload.plan->threads());
  measured.rates = MeasureCoreRates(workload.plan->threads());
  measured.caches = machine.topology.caches;
  measured.machine = MachineJson(machine, measured.ceilings);
  measured.machine["core_rates"] = ToJson(*measured.rates);
  measured.profile =
      ProfilePlan(options.workload, /*training=*/!options.infer, *workload.plan, images, settings);
  CountAtWidthOne(options.workload, /*training=*/!options.infer, *workload.plan, settings,
                  measured.profile);
  measured.subject = SubjectOf(options, workload);
  measured.subject["data"] = images.source();
  measured.subject["seed"] = options.workload.seed;
  measured.smt = SmtIsActive();
  measured.source_notes = sources.notes;
  if (options.workload.variants) measured.choice = {chosen, *options.workload.variants};
  return measured;
}

Measured Replay(ProfileOptions options, const std::string& file, Workload& workload) {
  const Recording recording = ReadRecording(file);
  // (the recording's machine may have had more CPUs: nothing runs here)
  options.workload.oversubscribe = true;
  const auto threads = recording.subject.find("threads");
  if (options.workload.threads == 0 && threads != recording.subject.end() &&
      threads->is_number_integer()) {
    options.workload.threads = std::max(1, threads->get<int>());
  }
  Measured measured;
  if (options.workload.backend == kAutoBackend) {
    measured.choice = ChoiceOf(recording, file);
    options.workload.variants = measured.choice->variants;
  }
  workload = PlanWorkload(options.workload, /*training=*/!options.infer);
  CheckSubject(recording, SubjectOf(options, workload), file);
  measured.profile = ProfileOf(recording, *workload.plan, file);
  measured.ceilings = CeilingsOf(recording, file);
  measured.rates = CoreRatesOf(recording, file);
  measured.caches = CachesOf(recording, file);
  measured.machine = recording.machine;
  measured.subject = recording.subject;
  measured.subject.erase(kChoice);
  measured.smt = recording.smt;
  measured.source_notes = recording.source_notes;
  return measured;
}

void WriteRecording(const Measured& measured, const std::string& path) {
  Recording recording = RecordingOf(measured.profile);
  recording.command = CommandLine();
  recording.machine = measured.machine;
  recording.subject = measured.subject;
  if (measured.choice) recording.subject[kChoice] = ToJson(*measured.choice);
  recording.smt = measured.smt;
  recording.source_notes = measured.source_notes;
  WriteFileAtomically(path, FormatRecording(recording));
}

// The table of the CPU that was measured, if it has one.
const TopdownTable* TableOf(const nlohmann::ordered_json& machine) {
  try {
    const auto& cpu = machine.at("cpu");
    Cpu known;
    known.microarchitecture = cpu.at("microarchitecture").get<std::string>();
    known.stepping = cpu.at("stepping").get<int>();
    return &FindTopdownTable(TopdownNameOf(known));
  } catch (const nlohmann::json::exception&) {
    return nullptr;  // an unknown CPU
  } catch (const TopdownError&) {
    return nullptr;  // one without a table
  }
}

void ScaleAllCounts(PlanProfile& profile) {
  const auto scale = [](SequenceSamples& samples) {
    for (StageSamples& stage : samples.stages) ScaleCounts(stage);
    ScaleCounts(samples.step);
  };
  scale(profile.in_network);
  for (SequenceSamples& samples : profile.isolated) scale(samples);
}

Report MakeReport(const ProfileOptions& options, const Workload& workload,
                  const Measured& measured) {
  PlanProfile profile = measured.profile;
  if (options.scale_counts) ScaleAllCounts(profile);
  Report report = ReportOf(*workload.plan, profile, measured.ceilings, RegimeOf(options.regime));
  if (measured.rates) {
    AddBounds(*measured.rates, measured.ceilings, measured.caches,
              measured.profile.in_network.disturbance, report);
  }
  report.command = CommandLine();
  report.machine = measured.machine;
  report.items_per_step = static_cast<double>(workload.batch);
  report.partial = report.partial || Interrupted();
  for (const auto& [key, value] : measured.subject.items()) report.subject.emplace_back(key, value);
  if (const TopdownTable* table = TableOf(measured.machine)) {
    AddTopdown(*table, measured.smt, measured.profile.in_network, report);
  }
  if (measured.choice) report.notes.push_back(measured.choice->text);
  if (const auto efficiency = EfficiencyOf(*workload.plan, report)) {
    report.notes.push_back(EfficiencyNote(workload.network, *efficiency));
  }
  return report;
}

std::vector<Phase> PhasesOfPlan(const Plan& plan, const SequenceSamples& samples) {
  std::vector<std::string> groups;
  for (const Stage& stage : plan.stages()) {
    groups.push_back(GroupOfPass(NameOf(stage.pass)));
  }
  return samples.stages.empty() ? std::vector<Phase>{} : PhasesOf(samples, groups);
}

int RunProfile(const ProfileOptions& options) {
  CheckOptions(options);
  RegimeOf(options.regime);
  InterruptFlag();
  ProgressLine progress(DetectStyle(stderr));
  constexpr std::string_view kReplay = "replay:";
  Workload workload;
  const Measured measured = options.counters.starts_with(kReplay)
                                ? Replay(options, options.counters.substr(kReplay.size()), workload)
                                : Measure(options, progress, workload);
  Report report = MakeReport(options, workload, measured);
  const SequenceSamples& samples = measured.profile.in_network;
  const std::vector<Phase> phases = PhasesOfPlan(*workload.plan, samples);
  if (options.series) report.evolution = EvolutionJson(samples, phases);
  progress.Erase();
  fmt::print("{}", ConsoleText(report, DetectStyle(stdout)));
  fmt::print("{}", TopdownTableText(report, DetectStyle(stdout)));
  fmt::print("{}", DramTableText(report, DetectStyle(stdout)));
  fmt::print("{}", BoundsTable(report, DetectStyle(stdout)));
  if (options.roofline) fmt::print("{}", RooflineTable(report, DetectStyle(stdout)));
  fmt::print("{}", ContextGapText(report, DetectStyle(stdout)));
  if (options.series) fmt::print("{}", PhasesText(phases, DetectStyle(stdout)));
  for (const std::string& line : measured.source_notes) fmt::print("  counters: {}\n", line);
  if (!options.json.empty()) WriteJson(report, options.json);
  if (!options.csv.empty()) WriteCsv(report, options.csv);
  if (!options.record.empty()) WriteRecording(measured, options.record);
  if (Interrupted()) return kExitInterrupted;
  if (report.stages.empty()) return kExitNothing;
  return report.step.status == Status::kFailed ? kExitWrong : kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<ProfileOptions>();
  AddWorkloadOptions(parser, options->workload);
  parser.AddFlag("--train", options->train, "a training step: forward, backward, update (default)");
  parser.AddFlag("--infer", options->infer, "an inference step: forward alone");
  parser.Add("--iterations", options->iterations, "timed steps (default: as many as fit)");
  parser.Add("--seconds", options->seconds, "of timed steps, without --iterations");
  parser.Add("--regime", options->regime, "in-network, isolated-hot or isolated-cold");
  parser.AddFlag("--context-gap", options->context_gap,
                 "time each stage hot, cold and in the network, and explain the difference");
  parser.AddFlag("--roofline", options->roofline, "the stages under the machine's measured roofs");
  parser.Add("--counters", options->counters,
             "auto, perf, exact, clock, none, or replay:FILE of an earlier --record");
  parser.Add("--metrics", options->metrics,
             "of perf: topdown-l1, topdown-l2, topdown-l3, flops, memory, EVENT, ...");
  parser.AddFlag("--scale-counts", options->scale_counts,
                 "estimate the counts of events that shared a counter, which are else of a part of "
                 "the time");
  parser.AddFlag("--series", options->series,
                 "phases (warm-up and steady; forward, backward, update), and in the JSON each "
                 "stage's series over the iterations");
  parser.Add("--record", options->record, "file for the raw samples, to replay");
  parser.Add("--json", options->json, "file for the whole report");
  parser.Add("--csv", options->csv, "file with a row a stage");
  return [options] { return RunProfile(*options); };
}

const CommandRegistration kProfile({"profile",
                                    "where a network's step spends its time, stage by stage",
                                    Configure});

}  // namespace

}  // namespace topdnn
