#include "bench/profile/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/profile/hot_stages.h"
#include "bench/profile/limits/efficiency.h"
#include "bench/profile/limits/stage_bounds.h"
#include "bench/profile/limits/stage_topdown.h"
#include "bench/profile/limits/stage_tree.h"
#include "bench/profile/meter_energy.h"
#include "harness/files/atomic_file.h"
#include "harness/report/console.h"
#include "harness/report/evolution.h"
#include "harness/report/registry.h"
#include "harness/results/groups.h"
#include "harness/results/validity.h"
#include "harness/text/one_line.h"
#include "harness/text/style.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {

namespace {

// Gives the description's ceilings, in the same order, their verdicts.
void MarkCeilings(const std::vector<Ceiling>& ceilings, nlohmann::ordered_json& machine) {
  const auto described = machine.find("ceilings");
  if (described == machine.end() || described->size() != ceilings.size()) return;
  for (std::size_t i = 0; i < ceilings.size(); ++i) {
    const nlohmann::ordered_json verdict = ToJson(ceilings[i]);
    for (const char* key : {"status", "reason"}) (*described)[i][key] = verdict[key];
  }
}

// The measured CPU, as far as its Top-Down table and its pipeline depend on it.
Cpu CpuOf(const nlohmann::ordered_json& machine) {
  Cpu known;
  try {
    const auto& cpu = machine.at("cpu");
    known.microarchitecture = cpu.at("microarchitecture").get<std::string>();
    known.stepping = cpu.at("stepping").get<int>();
  } catch (const nlohmann::json::exception&) {
    return {};  // an unknown CPU
  }
  return known;
}

std::vector<Phase> PhasesOfPlan(const Plan& plan, const SequenceSamples& samples) {
  std::vector<std::string> groups;
  for (const Stage& stage : plan.stages()) {
    groups.push_back(GroupOfPass(NameOf(stage.pass)));
  }
  return samples.stages.empty() ? std::vector<Phase>{} : PhasesOf(samples, groups);
}

// The memory in use while each stage runs; null if the report lacks stages.
nlohmann::ordered_json MemoryJson(const Plan& plan, const Report& report) {
  if (report.stages.size() != plan.stages().size()) return nullptr;
  return {{"transient_bytes", plan.transient_bytes()},
          {"persistent_bytes", plan.persistent_bytes()},
          {"live_bytes", plan.live_bytes()}};
}

// Experiments on memory give a stage other operands, and those are normal numbers. Where a CPU is
// slow with denormals, the difference would look like waiting for memory.
void LeaveOutDenormals(const std::vector<std::string>& denormals, Report& report) {
  constexpr double kOfStep = 0.01;
  if (denormals.size() != report.stages.size()) return;
  double seconds = 0;
  for (std::size_t i = 0; i < denormals.size(); ++i) {
    Record& stage = report.stages[i];
    if (denormals[i].empty()) continue;
    stage.denormals = denormals[i];
    if (stage.topdown_bounds) stage.bounds_reason = denormals[i];
    stage.topdown_bounds.reset();
    if (stage.core_experiment) stage.core_reason = denormals[i];
    stage.core_experiment.reset();
    if (stage.topdown_experiment) stage.experiment_reason = denormals[i];
    stage.topdown_experiment.reset();
    if (stage.seconds) seconds += stage.seconds->median;
  }
  Record& step = report.step;
  if (!step.seconds || seconds <= kOfStep * step.seconds->median) return;
  const std::string why = "stages of it have denormals";
  if (step.topdown_bounds) step.bounds_reason = why;
  step.topdown_bounds.reset();
  if (step.topdown_experiment) step.experiment_reason = why;
  step.topdown_experiment.reset();
}

void LeaveOutTrees(Report& report) {
  constexpr const char* kWhy = "the experiments were left out";
  for (Record& stage : report.stages) stage.tree_reason = kWhy;
  report.step.tree_reason = kWhy;
}

void PrintTables(const ProfileOptions& options, const Report& report) {
  const std::vector<std::string> paths = options.Outputs();
  const bool taken = std::find(paths.begin(), paths.end(), kStandardOutput) != paths.end();
  std::FILE* const stream = taken ? stderr : stdout;
  ConsoleOptions console = options.console;
  console.stages = StageTableOf(options);
  console.experiments = options.experiments;
  std::set<std::string> requested;
  for (const auto& [name, shown] : options.tables) {
    if (shown) requested.insert(name);
  }
  fmt::print(stream, "{}", TablesText(report, DetectStyle(stream), console, requested));
}

}  // namespace

Report MakeReport(const ProfileOptions& options, const MeasuredProfile& measured) {
  const PlanProfile& profile = measured.profile;
  const Workload& workload = measured.workload;
  Report report = ReportOf(*workload.plan, profile, measured.ceilings, RegimeOf(options.regime));
  const Cpu cpu = CpuOf(measured.machine);
  const TopdownTable* const table = TopdownTableOf(cpu);
  const BoundsMachine machine = {.rates = measured.rates,
                                 .pipeline = PipelineOf(cpu),
                                 .ceilings = measured.ceilings,
                                 .caches = measured.caches,
                                 .seen = measured.profile.in_network.disturbance};
  AddBounds(machine, report);
  report.command = CommandLine();
  report.machine = measured.machine;
  report.fed_step = measured.fed_step;
  report.warnings = measured.warnings;
  report.measuring_seconds = measured.measuring_seconds;
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
  for (const std::string& failure : measured.experiment_failures) {
    report.notes.push_back({.text = failure, .main = !options.experiments.empty()});
  }
  if (!measured.denormal_note.empty()) {
    // (in front, because the console prints the first two main notes)
    report.notes.insert(report.notes.begin(), {.text = measured.denormal_note, .main = true});
  }
  for (const std::string& line : measured.source_notes) {
    report.notes.push_back({.text = "counters: " + OneLine(line)});
  }
  constexpr double kMeterPatience = 3;  // seconds
  if (!options.energy.empty()) {
    AddMeterEnergy(options.energy, profile.clock, kMeterPatience, report);
  }
  const std::vector<Ceiling> ceilings = MarkExceeded(measured.ceilings, report);
  MarkCeilings(ceilings, report.machine.json());
  JudgeReport({.ceilings = ceilings, .isolated = IsolatedVerdict(profile)}, report);
  for (const AddExperiment& add : measured.add_experiments) add(machine, report);
  LeaveOutDenormals(measured.denormals, report);
  constexpr std::size_t kListedLines = 40;
  const std::size_t listed = static_cast<std::size_t>(options.hot.value_or(0));
  AddHotLoops(measured.hot_blocks, UndisturbedSeconds(profile, RegimeOf(options.regime)),
              {.code_names = measured.code_names,
               .detail = {.loops = listed, .lines = kListedLines},
               .threads = workload.plan->threads(),
               .hertz = HertzOf(profile.in_network.disturbance)},
              report.stages);
  if (measured.wants_tree) {
    AddTrees(machine, report);
  } else {
    LeaveOutTrees(report);
  }
  report.memory = MemoryJson(*workload.plan, report);
  // (the phases and the step include the times of a stage with a wrong result)
  if (options.Shows(kSeries) && report.step.status != Status::kFailed) {
    report.evolution =
        EvolutionJson(profile.in_network, PhasesOfPlan(*workload.plan, profile.in_network));
  }
  return report;
}

void WriteReport(const ProfileOptions& options, const MeasuredProfile& measured,
                 const Report& report) {
  Outputs outputs;
  for (const FileReport& file : FileReports()) {
    const auto path = options.files.find(file.name);
    if (path == options.files.end()) continue;
    outputs.Write(path->second, [&] { WriteFileAtomically(path->second, file.text(report)); });
  }
  outputs.Write(options.record, [&] { WriteRecording(measured, options.record); });
  PrintTables(options, report);
  outputs.Finish();
}

}  // namespace topdnn
