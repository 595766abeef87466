#include "bench/profile/measured_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/duration.h"
#include "bench/command_line/interrupt.h"
#include "bench/machine/libraries.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/profile/denormal_operands.h"
#include "bench/profile/exact_counts.h"
#include "bench/profile/fed_steps.h"
#include "bench/profile/generated_code.h"
#include "bench/profile/quiet_start.h"
#include "bench/profile/width_one_count.h"
#include "bench/validation/step_check.h"
#include "bench/workload/images.h"
#include "bench/workload/sources.h"
#include "harness/exact/counter.h"
#include "harness/experiments/experiment_error.h"
#include "harness/files/atomic_file.h"
#include "harness/machine/busy.h"
#include "harness/machine/machine.h"
#include "harness/report/json.h"
#include "harness/results/stage_record.h"
#include "harness/results/validity.h"
#include "harness/statistics/counting.h"
#include "harness/text/errors.h"
#include "harness/topdown/perf_events.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

nlohmann::ordered_json MachineJson(const Machine& machine, const std::vector<Ceiling>& ceilings) {
  nlohmann::ordered_json json = ToJson(machine);
  json["libraries"] = LibraryVersions();
  json["ceilings"] = nlohmann::ordered_json::array();
  for (const Ceiling& ceiling : ceilings) json["ceilings"].push_back(ToJson(ceiling));
  return json;
}

// The options in which a replay must equal its recording.
nlohmann::ordered_json SubjectOf(const ProfileOptions& options, const Workload& workload) {
  nlohmann::ordered_json subject = {{"network", workload.network},
                                    {"batch", workload.batch},
                                    {"dtype", workload.dtype},
                                    {"backend", workload.backend},
                                    {"threads", workload.plan->threads()},
                                    {"mode", options.infer ? "inference" : "training"},
                                    {"regime", options.regime}};
  if (options.workload.size != 0) subject["size"] = options.workload.size;
  if (options.workload.classes != 0) subject["classes"] = options.workload.classes;
  // (Older recordings do not name it.)
  if (options.workload.plan != kBestPlan) subject["plan"] = options.workload.plan;
  return subject;
}

ProfileSettings SettingsOf(const ProfileOptions& options, ProgressLine& progress) {
  ProfileSettings settings;
  settings.regime = RegimeOf(options.regime);
  settings.iterations = options.iterations;
  settings.seconds = options.seconds;
  settings.isolate = !options.no_isolated || settings.regime != Regime::kInNetwork;
  settings.context_gap = options.Shows(kContextGap);
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
                         "of {:.2g} TFLOP at {:.0f} GFLOP/s a thread; a smaller --batch takes "
                         "less\n",
                         std::max(1.0, seconds / 60), steps, flops * 1e-12, kAssumedRate * 1e-9)
                 .c_str(),
             stderr);
}

// The first line of a run on a busy machine; or the wait for a quiet one.
void AnnounceBusyMachine(const ProfileOptions& options, BusyWatch& busy, ProgressLine& progress) {
  progress.Erase();
  if (!options.wait_quiet.empty()) {
    WaitUntilQuiet(ParseDuration("--wait-quiet", options.wait_quiet));
    return;
  }
  const std::string line = BusyLine(busy.Since(), options.seconds);
  if (!line.empty()) std::fputs(fmt::format("topdnn: {}\n", line).c_str(), stderr);
}

void RunExperiments(const ProfileOptions& options,
                    const std::vector<const ProfileExperiment*>& to_run,
                    const ExperimentSubject& subject, MeasuredProfile& measured) {
  measured.wants_tree = options.default_experiments() || !options.experiments.empty();
  // An experiment that was not asked for takes less of the user's time.
  constexpr double kShareByDefault = 0.5;
  ProfileSettings shorter = subject.settings;
  shorter.seconds *= kShareByDefault;
  ExperimentSubject by_default = {.options = subject.options,
                                  .training = subject.training,
                                  .plan = subject.plan,
                                  .images = subject.images,
                                  .topology = subject.topology,
                                  .settings = shorter,
                                  .by_default = true};
  for (const ProfileExperiment* experiment : to_run) {
    if (Interrupted()) return;
    const bool requested = std::find(options.experiments.begin(), options.experiments.end(),
                                     experiment->name) != options.experiments.end();
    const auto failed = [&](std::string_view why) {
      measured.experiment_failures.push_back(
          fmt::format("--experiment {}: {}", experiment->name, why));
    };
    try {
      measured.add_experiments.push_back(experiment->run(requested ? subject : by_default));
    } catch (const ExperimentError& e) {  // the profile is complete without it
      failed(e.what());
    } catch (const KernelFailed& e) {
      failed(e.what());
    } catch (const std::bad_alloc&) {
      failed("too little memory");
    }
  }
}

}  // namespace

MeasuredProfile MeasureProfile(ProfileOptions options, const ChooseVariants& choose,
                               ProgressLine& progress) {
  ProfileSettings settings = SettingsOf(options, progress);
  const auto program = std::chrono::system_clock::now().time_since_epoch();
  BusyWatch busy;
  const OpenedSources sources = OpenSources(options.counters, options.metrics);
  // `auto` continues with the sources that work; `perf` without a PMU is an error.
  if (options.counters == "perf" && !sources.without_pmu.empty()) {
    throw NothingMeasured(
        fmt::format("--counters perf: nothing can be counted: {}", sources.without_pmu));
  }
  settings.sources = sources.Pointers();
  if (options.hot && !AnyRunsRegion(settings.sources)) {
    throw NothingMeasured(fmt::format("--hot: {}", ExactCounter::Probe().reason));
  }
  MeasuredProfile measured;
  if (!options.metrics.empty() && !sources.without_pmu.empty()) {
    measured.warnings.push_back(fmt::format("--metrics {}: nothing counts them here: {}",
                                            options.metrics, sources.without_pmu));
  }
  std::optional<GeneratedCode> code_names;
  if (options.hot) code_names.emplace();
  settings.progress("planning", 0);
  ReadImagesAhead(options.workload);
  FitToData(options.workload);
  const std::string chosen = choose(options.workload, options.training());
  Workload& workload = measured.workload;
  workload = PlanWorkload(options.workload, options.training());
  AnnounceLongRun(options, workload, progress);
  PrepareWorkload(options.workload, workload);
  TrainingImages images(options.workload, workload);
  const int threads = workload.plan->threads();
  const Machine machine = DescribeMachine();
  const Placement placement(options.input.placement, threads);
  const ExperimentSubject subject = {.options = options.workload,
                                     .training = options.training(),
                                     .plan = *workload.plan,
                                     .images = images,
                                     .topology = machine.topology,
                                     .settings = settings};
  const std::vector<const ProfileExperiment*> to_run = ChosenExperiments(
      options.experiments, options.default_experiments(), subject, measured.experiment_failures);
  AnnounceBusyMachine(options, busy, progress);
  const auto begin = std::chrono::steady_clock::now();
  settings.progress("measuring the machine's ceilings", 0);
  const auto needed = [&workload](const Ceiling& ceiling) {
    return NeedsCeiling(*workload.plan, ceiling);
  };
  measured.ceilings = MeasureCeilingsOfThisMachine(threads, needed);
  measured.rates = MeasureCoreRates(threads);
  measured.caches = machine.topology.caches;
  settings.best_reading = BestQuietReading(BestOfThisMachine(), threads);
  measured.profile =
      ProfilePlan(options.workload, options.training(), *workload.plan, images, settings);
  measured.profile.clock.program = std::chrono::duration<double>(program).count();
  const SequenceSamples& timed = measured.profile.in_network;
  if ((timed.step.selection.enough || !timed.step.composed.empty()) &&
      JudgeDisturbance(timed.disturbance).status == Status::kOk) {
    RememberRates(RatesOf(measured.profile.best_reading, threads));
  }
  if (!Interrupted()) {
    PlanDenormals found = ScanForDenormals(*workload.plan);
    measured.denormal_note = std::move(found.note);
    measured.denormals = std::move(found.by_stage);
  }
  if (options.feeds() && !TakesImages(workload)) {
    measured.warnings.push_back(
        fmt::format("no step with its input pipeline: {} takes batches of {}, no images",
                    workload.network, workload.image.ToString()));
  } else if (options.feeds() && !Interrupted()) {
    settings.progress("timing steps with their input pipeline", 0);
    measured.fed_step = MeasureFedSteps(
        options.workload, options.input, placement, workload,
        {.iterations = options.iterations, .seconds = options.seconds, .cancel = settings.cancel});
  }
  CountAtWidthOne(options.workload, options.training(), *workload.plan, settings, measured.profile);
  RunExperiments(options, to_run, subject, measured);
  if (AnyRunsRegion(settings.sources) && !Interrupted()) {
    settings.progress("counting the stages' loops", 0);
    measured.hot_blocks = CountStageBlocks(*workload.plan, images, settings.cancel);
    if (code_names) measured.code_names = code_names->Names();
  }
  settings.progress("measuring the machine's ceilings again", 0);
  // (only the ceilings that the stages are compared with)
  measured.ceilings = RemeasureCeilings(
      measured.ceilings, CeilingNamesOf(*workload.plan, measured.ceilings), 0.3 * CeilingSeconds());
  MarkAgainstBest(BestOfThisMachine(), measured.ceilings);
  measured.rates = Joined(*measured.rates, MeasureCoreRates(threads));
  measured.measuring_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() -
      measured.profile.check_seconds;
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

nlohmann::ordered_json CountProfile(ProfileOptions options, ProgressLine& progress) {
  if (const Availability exact = ExactCounter::Probe(); !exact.works) {
    throw NothingMeasured("--exact-baseline: " + exact.reason);
  }
  const GeneratedCode code_names;
  progress.Show("planning");
  FitToData(options.workload);
  Workload workload = MakeWorkload(options.workload, options.training());
  TrainingImages images(options.workload, workload);
  nlohmann::ordered_json subject = SubjectOf(options, workload);
  subject["data"] = images.source();
  subject["seed"] = options.workload.seed;
  progress.Show("counting the stages");
  // The first step does what happens only once. From a plan that has not run yet, the second one
  // has the same data in each process.
  {
    const ThreadWidth width(workload.plan->threads());
    images.FillNext(*workload.plan);
    workload.plan->Run();
  }
  const std::vector<RegionBlocks> regions =
      CountStageBlocks(*workload.plan, images, &InterruptFlag());
  if (Interrupted()) throw Interruption();
  progress.Show("checking every stage against the reference");
  RequireStep(options.workload, options.training(), *workload.plan);
  return ExactCountsJson(*workload.plan, regions, code_names.Names(),
                         MachineJson(DescribeMachine(), {}), subject);
}

namespace {

// Sets the threads, the size and the classes to those of the recording, unless the options give
// them.
void TakeRecordedOptions(const Recording& recording, const std::string& file,
                         WorkloadOptions& options) {
  const auto take = [&](const char* key, std::int64_t most, auto& option) {
    const auto found = recording.subject.find(key);
    if (option != 0 || found == recording.subject.end() || !found->is_number_integer()) return;
    const auto recorded = found->get<std::int64_t>();
    if (recorded < 1 || recorded > most) {
      throw InputError(
          fmt::format("{}: subject: {} {}: must be 1 to {}: record it again with --record", file,
                      found->dump(), key, most));
    }
    option = static_cast<std::remove_reference_t<decltype(option)>>(recorded);
  };
  constexpr std::int64_t kMost = 1'000'000;
  take("threads", kMaxThreads, options.threads);
  take("size", kMost, options.size);
  take("classes", kMost, options.classes);
}

}  // namespace

MeasuredProfile ReplayProfile(ProfileOptions options, const std::string& file) {
  const Recording recording = ReadRecording(file);
  // (the recording's machine may have had more CPUs: nothing runs here)
  options.workload.oversubscribe = true;
  options.workload.planned_only = true;
  TakeRecordedOptions(recording, file, options.workload);
  MeasuredProfile measured;
  measured.wants_tree = false;  // a recording has no experiments
  if (options.workload.backend == kAutoBackend) {
    measured.choice = ChoiceOf(recording, file);
    options.workload.variants = measured.choice->variants;
  }
  Workload& workload = measured.workload;
  workload = PlanWorkload(options.workload, options.training());
  CheckSubject(recording, SubjectOf(options, workload), file);
  measured.profile = ProfileOf(recording, *workload.plan, file);
  measured.ceilings = CeilingsOf(recording, file);
  measured.rates = CoreRatesOf(recording, file);
  measured.caches = CachesOf(recording, file);
  measured.machine = recording.machine;
  measured.subject = recording.subject;
  measured.subject.erase(kChoice);
  measured.measuring_seconds = MeasuringSecondsOf(recording);
  measured.denormal_note = DenormalNoteOf(recording, file);
  for (const char* key : {kFedStep, kMeasuringSeconds, kDenormalNote}) measured.subject.erase(key);
  measured.fed_step = FedStepOf(recording, file);
  measured.smt = recording.smt;
  measured.source_notes = recording.source_notes;
  return measured;
}

void ScaleAllCounts(PlanProfile& profile) {
  const auto scale = [](SequenceSamples& samples) {
    for (StageSamples& stage : samples.stages) ScaleCounts(stage);
    ScaleCounts(samples.step);
  };
  scale(profile.in_network);
  for (SequenceSamples& samples : profile.isolated) scale(samples);
}

void WriteRecording(const MeasuredProfile& measured, const std::string& path) {
  Recording recording = RecordingOf(measured.profile);
  recording.command = CommandLine();
  recording.machine = measured.machine;
  recording.subject = measured.subject;
  if (measured.choice) recording.subject[kChoice] = ToJson(*measured.choice);
  if (measured.fed_step) recording.subject[kFedStep] = ToJson(*measured.fed_step);
  if (measured.measuring_seconds) {
    recording.subject[kMeasuringSeconds] = *measured.measuring_seconds;
  }
  if (!measured.denormal_note.empty()) {
    recording.subject[kDenormalNote] = measured.denormal_note;
  }
  recording.smt = measured.smt;
  recording.source_notes = measured.source_notes;
  WriteFileAtomically(path, FormatRecording(recording));
}

}  // namespace topdnn
