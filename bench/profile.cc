// `topdnn profile NET`: where a step's time goes, stage by stage.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
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
#include "bench/measured_ceilings.h"
#include "bench/nearest.h"
#include "bench/network_choice.h"
#include "bench/network_source.h"
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
#include "harness/report/one_line.h"
#include "harness/report/style.h"
#include "harness/report/topdown_table.h"
#include "harness/stage_record.h"
#include "harness/topdown/perf_events.h"
#include "harness/validity.h"

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
  bool explain = false;
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

constexpr std::string_view kReplay = "replay:";

// The file of `--counters replay:FILE`; empty: another choice.
std::string ReplayedFile(const std::string& counters) {
  return counters.starts_with(kReplay) ? counters.substr(kReplay.size()) : "";
}

// Checks all options before the long work starts.
void CheckOptions(const ProfileOptions& options) {
  if (options.train && options.infer) {
    throw UsageError("--train and --infer: take one of them");
  }
  if (options.iterations && *options.iterations < 1) {
    throw UsageError(fmt::format("--iterations {}: must be 1 or more", *options.iterations));
  }
  if (!(options.seconds > 0)) throw UsageError("--seconds: must be above 0");
  CheckOutputs({options.json, options.csv, options.record},
               {options.workload.weights,
                IsOnnxPath(options.workload.network) ? options.workload.network : "",
                ReplayedFile(options.counters)});
}

// Gives the description's ceilings, in the same order, their verdicts.
void MarkCeilings(const std::vector<Ceiling>& ceilings, nlohmann::ordered_json& machine) {
  const auto described = machine.find("ceilings");
  if (described == machine.end() || described->size() != ceilings.size()) return;
  for (std::size_t i = 0; i < ceilings.size(); ++i) {
    const nlohmann::ordered_json verdict = ToJson(ceilings[i]);
    for (const char* key : {"status", "reason"}) (*described)[i][key] = verdict[key];
  }
}

nlohmann::ordered_json MachineJson(const Machine& machine, const std::vector<Ceiling>& ceilings) {
  nlohmann::ordered_json json = ToJson(machine);
  json["libraries"] = LibraryVersions();
  json["ceilings"] = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : ceilings) json["ceilings"].push_back(ToJson(ceiling));
  return json;
}

// The measurements of a run, from this run or from a recording.
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

// The options in which a replay must equal its recording.
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

// Prints once, also without a terminal, that a run takes long, with an estimate. The progress line
// appears only on terminals, and a single step of a large batch may take minutes.
void AnnounceLongRun(const ProfileOptions& options, const Workload& workload,
                     ProgressLine& progress) {
  constexpr double kLongSeconds = 30;
  constexpr double kAssumedRate = 1e11;    // FLOP/s a thread: nothing has been measured yet
  constexpr std::int64_t kOtherSteps = 4;  // of the warm-up, and those for the counter sources
  double flops = 0;
  for (const Stage& stage : workload.plan->stages()) {
    flops += static_cast<double>(stage.work().flops);
  }
  const std::int64_t timed = options.iterations.value_or(MeasureOptions().least_iterations);
  const std::int64_t steps = timed + kOtherSteps;
  const double seconds =
      static_cast<double>(steps) * flops / (kAssumedRate * workload.plan->threads());
  if (seconds < kLongSeconds) return;
  progress.Erase();
  std::fputs(fmt::format("topdnn: this takes about {:.0f} min or more (an estimate): some {} steps "
                         "of {:.1f} TFLOP at {:.0f} GFLOP/s a thread; a smaller --batch takes "
                         "less\n",
                         std::max(1.0, seconds / 60), steps, flops * 1e-12, kAssumedRate * 1e-9)
                 .c_str(),
             stderr);
}

Measured Measure(ProfileOptions options, ProgressLine& progress, Workload& workload) {
  ProfileSettings settings = SettingsOf(options, progress);
  const OpenedSources sources = OpenSources(options.counters, options.metrics);
  // `auto` continues with the sources that work; `perf` without a PMU is an error.
  if (options.counters == "perf" && !sources.without_pmu.empty()) {
    throw NothingMeasured(
        fmt::format("--counters perf: nothing can be counted: {}", sources.without_pmu));
  }
  settings.sources = sources.Pointers();
  settings.progress("planning", 0);
  FitToData(options.workload);
  const std::string chosen = ChooseInNetwork(options.workload, /*training=*/!options.infer);
  workload = PlanWorkload(options.workload, /*training=*/!options.infer);
  AnnounceLongRun(options, workload, progress);
  PrepareWorkload(options.workload, workload);
  TrainingImages images(options.workload, workload);
  settings.progress("measuring the machine's ceilings", 0);
  const int threads = workload.plan->threads();
  const Machine machine = DescribeMachine();
  Measured measured;
  measured.ceilings = MeasureCeilingsOfThisMachine(threads);
  measured.rates = MeasureCoreRates(threads);
  measured.caches = machine.topology.caches;
  settings.best_reading = BestQuietReading(BestOfThisMachine(), threads);
  measured.profile =
      ProfilePlan(options.workload, /*training=*/!options.infer, *workload.plan, images, settings);
  if (JudgeDisturbance(measured.profile.in_network.disturbance).status == Status::kOk) {
    RememberRates(RatesOf(measured.profile.best_reading, threads));
  }
  CountAtWidthOne(options.workload, /*training=*/!options.infer, *workload.plan, settings,
                  measured.profile);
  settings.progress("measuring the machine's ceilings again", 0);
  measured.ceilings =
      RemeasureCeilings(measured.ceilings, CeilingNamesOf(*workload.plan, measured.ceilings));
  MarkAgainstBest(BestOfThisMachine(), measured.ceilings);
  measured.rates = Joined(*measured.rates, MeasureCoreRates(threads));
  measured.machine = MachineJson(machine, measured.ceilings);
  measured.machine["core_rates"] = ToJson(*measured.rates);
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
  options.workload.planned_only = true;
  const auto threads = recording.subject.find("threads");
  if (options.workload.threads == 0 && threads != recording.subject.end() &&
      threads->is_number_integer()) {
    const auto recorded = threads->get<std::int64_t>();
    if (recorded < 1 || recorded > kMostThreads) {
      throw RecordingError(
          fmt::format("{}: subject: {} threads: must be 1 to {}: record it again "
                      "with --record",
                      file, threads->dump(), kMostThreads));
    }
    options.workload.threads = static_cast<int>(recorded);
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

// The Top-Down table of the measured CPU, if there is one.
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
    return nullptr;  // a CPU without a table
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
  const PlanProfile& profile = measured.profile;
  Report report = ReportOf(*workload.plan, profile, measured.ceilings, RegimeOf(options.regime));
  const TopdownTable* table = TableOf(measured.machine);
  AddBounds({.rates = measured.rates,
             .pipeline = table == nullptr ? CorePipeline{} : table->pipeline,
             .ceilings = measured.ceilings,
             .caches = measured.caches,
             .seen = measured.profile.in_network.disturbance},
            report);
  report.command = CommandLine();
  report.machine = measured.machine;
  report.items_per_step = static_cast<double>(workload.batch);
  report.partial = report.partial || Interrupted();
  for (const auto& [key, value] : measured.subject.items()) report.subject.emplace_back(key, value);
  if (table != nullptr) {
    AddTopdown(*table, measured.smt, measured.profile.in_network, report);
  }
  if (!report.step.counts_reason.empty()) {
    report.notes.push_back({.text = "not counted: " + report.step.counts_reason, .main = true});
  }
  if (measured.choice) report.notes.push_back({.text = measured.choice->text, .main = true});
  if (const auto efficiency = EfficiencyOf(*workload.plan, report)) {
    report.notes.push_back(
        {.text = EfficiencyNote(workload.network, *efficiency), .basis = Note::Basis::kCeiling});
  }
  for (const std::string& line : measured.source_notes) {
    report.notes.push_back({.text = "counters: " + OneLine(line)});
  }
  const std::vector<Ceiling> ceilings = MarkExceeded(measured.ceilings, report);
  MarkCeilings(ceilings, report.machine);
  JudgeReport({.ceilings = ceilings, .isolated = IsolatedVerdict(profile)}, report);
  return report;
}

std::vector<Phase> PhasesOfPlan(const Plan& plan, const SequenceSamples& samples) {
  std::vector<std::string> groups;
  for (const Stage& stage : plan.stages()) {
    groups.push_back(GroupOfPass(NameOf(stage.pass)));
  }
  return samples.stages.empty() ? std::vector<Phase>{} : PhasesOf(samples, groups);
}

// On standard output, or on standard error where one of the files is standard output.
void PrintTables(const ProfileOptions& options, const Report& report,
                 const std::vector<Phase>& phases) {
  bool taken = false;
  for (const std::string& path : {options.json, options.csv, options.record}) {
    taken = taken || path == kStandardOutput;
  }
  std::FILE* const stream = taken ? stderr : stdout;
  const Style style = DetectStyle(stream);
  fmt::print(stream, "{}", ConsoleText(report, style, {.explain = options.explain}));
  fmt::print(stream, "{}", TopdownTableText(report, style));
  fmt::print(stream, "{}", DramTableText(report, style));
  fmt::print(stream, "{}", BoundsTable(report, style));
  if (options.roofline) fmt::print(stream, "{}", RooflineTable(report, style));
  fmt::print(stream, "{}", ContextGapText(report, style));
  if (options.series) fmt::print(stream, "{}", PhasesText(phases, style));
}

int RunProfile(const ProfileOptions& options) {
  CheckOptions(options);
  RegimeOf(options.regime);
  InterruptFlag();
  ProgressLine progress(DetectStyle(stderr));
  Workload workload;
  Measured measured = options.counters.starts_with(kReplay)
                          ? Replay(options, ReplayedFile(options.counters), workload)
                          : Measure(options, progress, workload);
  if (options.scale_counts) ScaleAllCounts(measured.profile);
  Report report = MakeReport(options, workload, measured);
  const SequenceSamples& samples = measured.profile.in_network;
  const std::vector<Phase> phases = PhasesOfPlan(*workload.plan, samples);
  if (options.series) report.evolution = EvolutionJson(samples, phases);
  progress.Erase();
  // The files come first: the reader of the tables may end early, as `head` does.
  if (!options.json.empty()) WriteJson(report, options.json);
  if (!options.csv.empty()) WriteCsv(report, options.csv);
  if (!options.record.empty()) WriteRecording(measured, options.record);
  PrintTables(options, report, phases);
  if (Interrupted()) return kExitInterrupted;
  if (report.stages.empty()) return kExitNothing;
  const Status status = report.step.status;
  return status == Status::kFailed || status == Status::kInvalid ? kExitWrong : kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<ProfileOptions>();
  AddWorkloadOptions(parser, options->workload);
  parser.AddFlag("--train", options->train, "a training step: forward, backward, update (default)");
  parser.AddFlag("--infer", options->infer, "an inference step: forward only");
  parser.Add("--iterations", options->iterations,
             "timed steps (default: as many as fit in --seconds)");
  constexpr Range kSeconds{0, 1e6};
  parser.Add("--seconds", options->seconds, "seconds of timed steps (without --iterations)",
             kSeconds);
  parser.Add("--regime", options->regime, "in-network, isolated-hot or isolated-cold");
  parser.AddFlag("--context-gap", options->context_gap,
                 "time each stage hot, cold and in the network, and explain the difference");
  parser.AddFlag("--roofline", options->roofline, "the stages under the machine's measured roofs");
  parser.AddFlag("--explain", options->explain,
                 "print every note, including the explanations of the counts");
  parser.Add("--counters", options->counters,
             "auto, perf, exact, clock, none, or replay:FILE of an earlier --record");
  parser.Add("--metrics", options->metrics,
             "what perf counts: topdown-l1, topdown-l2, topdown-l3, flops, memory, EVENT, ...");
  parser.AddFlag("--scale-counts", options->scale_counts,
                 "scale up the counts of events that shared a counter and ran for part of the "
                 "time");
  parser.AddFlag("--series", options->series,
                 "phases (warm-up and steady; forward, backward, update), and in the JSON each "
                 "stage's series over the iterations");
  parser.Add("--record", options->record,
             "write the raw samples to this file, for replay; - is standard output");
  parser.Add("--json", options->json,
             "write the whole report to this file as JSON; - is standard output");
  parser.Add("--csv", options->csv,
             "write one row per stage to this file as CSV; - is standard output");
  return [options] { return RunProfile(*options); };
}

const CommandRegistration kProfile({"profile",
                                    "where a network's step spends its time, stage by stage",
                                    Configure});

}  // namespace

}  // namespace topdnn
