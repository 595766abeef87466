#include "bench/profile/plan_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "bench/command_line/sudden_end.h"
#include "bench/machine/measured_ceilings.h"
#include "bench/profile/limits/convolution_account.h"
#include "bench/workload/record_work.h"
#include "harness/machine/clock.h"
#include "harness/measure/flush.h"
#include "harness/measure/watched_run.h"
#include "harness/probes/quiet.h"
#include "harness/results/groups.h"
#include "harness/results/stage_record.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/library/openblas.h"

namespace topdnn {

namespace {

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr std::array<std::string_view, 3> kRegimeNames = {"in-network", "isolated-hot",
                                                          "isolated-cold"};

class Profiler {
 public:
  Profiler(const WorkloadOptions& options, bool training, Plan& plan, TrainingImages& images,
           const ProfileSettings& settings)
      : options_(options),
        training_(training),
        plan_(plan),
        images_(images),
        settings_(settings),
        calls_(plan),
        timed_(calls_.stages()),
        quiet_(plan.threads()),
        pace_(plan.threads()) {}

  PlanProfile Profile() {
    PlanProfile profile = Measure();
    profile.best_reading = quietest_;
    return profile;
  }

 private:
  PlanProfile Measure() {
    const ThreadWidth width(plan_.threads());
    PlanProfile profile;
    SpeedNow(false);
    Say("checking every stage against the reference", 0);
    NextImages();
    const auto begin = std::chrono::steady_clock::now();
    {
      const WatchedRun watched("the check of the stages");
      profile.checks = CheckStep(options_, training_, plan_);
    }
    profile.check_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    NextImages();
    if (Cancelled()) return profile;
    {
      const HangWatch watch;
      MeasuredClock& clock = profile.clock;
      const auto from = std::chrono::steady_clock::now();
      clock.from = SecondsSince1970();
      profile.in_network = MeasureSequence(timed_, OptionsFor("timing the steps"));
      clock.to = SecondsSince1970();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - from;
      constexpr double kMostDifference = 0.1;  // seconds; more than time servers slew in minutes
      clock.was_set = std::abs(clock.to - clock.from - seconds.count()) > kMostDifference;
    }
    if (Cancelled() || !settings_.isolate) return profile;
    profile.overhead = MeasureMarkOverhead(timed_, OverheadOptions());
    const bool cold = settings_.regime == Regime::kIsolatedCold;
    std::string& cut_short = profile.isolated_cut_short;
    if (!Cancelled()) profile.isolated = ProfileIsolated(cold, cut_short);
    if (!Cancelled() && settings_.context_gap && cut_short.empty()) {
      profile.isolated_otherwise = ProfileIsolated(!cold, cut_short);
    }
    return profile;
  }

  bool Cancelled() const { return IsCancelled(settings_.cancel); }
  void Say(std::string_view what, double share) const {
    if (settings_.progress) settings_.progress(what, share);
  }
  void NextImages() { images_.FillNext(plan_); }

  MeasureOptions OptionsFor(std::string_view what) {
    MeasureOptions options;
    options.iterations = settings_.iterations;
    options.seconds = settings_.seconds;
    options.sources = settings_.sources;
    options.cancel = settings_.cancel;
    Watch(options);
    options.before_iteration = Action::Of(feed_);
    options.progress = [this, what](const MeasureProgress& progress) {
      Say(fmt::format("{}: {}", what, progress.phase), progress.share);
    };
    return options;
  }

  // Reads the clock and the probes around the measurement.
  void Watch(MeasureOptions& options) {
    options.core_hertz = ReadCoreHertz;
    options.speeds = [this](bool brief) { return SpeedNow(brief); };
    options.best_speeds = Best(quietest_, settings_.best_reading);
    const PaceReader pace = {[this] { return pace_.Read(); }, pace_.cost_seconds()};
    if (pace_.works()) options.pace = pace;
  }

  // The speeds of the probes now. A brief reading is too noisy to be the best one.
  QuietReading SpeedNow(bool brief) {
    const QuietReading now = brief ? quiet_.ReadBriefly() : quiet_.Read();
    if (!brief) quietest_ = Best(quietest_, now);
    return now;
  }

  MeasureOptions OverheadOptions() {
    MeasureOptions options = OptionsFor("cost of the marks");
    options.sources.clear();
    options.seconds = settings_.seconds / 2;
    return options;
  }

  // Goes through one step, and repeats each stage at its place in the order, where its operands are
  // valid. On a busy machine it ends when its budget of time is spent; only a regime of isolated
  // stages needs all of them.
  std::vector<SequenceSamples> ProfileIsolated(bool cold, std::string& cut_short) {
    std::vector<SequenceSamples> isolated;
    NextImages();
    const auto begin = std::chrono::steady_clock::now();
    const double budget = 2 * settings_.isolated_seconds * static_cast<double>(timed_.size()) + 5;
    for (std::size_t i = 0; i < timed_.size() && !Cancelled(); ++i) {
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (settings_.regime == Regime::kInNetwork && spent > budget) {
        cut_short =
            fmt::format("the stages by themselves ended after {:.0f} s with {} of {} stages", spent,
                        i, timed_.size());
        break;
      }
      MeasureOptions options;
      options.seconds = settings_.isolated_seconds;
      options.budget_seconds = budget;
      options.iterations = settings_.iterations;
      // The code and the data of the stage are warm from the step before.
      options.most_warmup_seconds = settings_.isolated_seconds / 4;
      options.cancel = settings_.cancel;
      Watch(options);
      Say(fmt::format("{} by itself{}", timed_[i].name, cold ? ", caches cold" : ""),
          static_cast<double>(i) / static_cast<double>(timed_.size()));
      auto flush = [this, i] { FlushOperands(plan_.stages()[i]); };
      isolated.push_back(cold ? MeasureIsolatedCold(timed_[i], {}, Action::Of(flush), options)
                              : MeasureIsolatedHot(timed_[i], {}, options));
    }
    return isolated;
  }

  void FlushOperands(const Stage& stage) const {
    for (const KernelOperand& operand : stage.kernel->operands()) {
      const auto* data = static_cast<const std::byte*>(plan_.Data(stage.buffers.at(operand.arg)));
      FlushFromCaches({data, operand.desc.bytes()});
    }
  }

  struct Feed {
    Profiler* profiler;
    void operator()() const { profiler->NextImages(); }
  };

  const WorkloadOptions& options_;
  bool training_;
  Plan& plan_;
  TrainingImages& images_;
  const ProfileSettings& settings_;
  StageCalls calls_;
  const std::vector<TimedStage>& timed_;
  Feed feed_{this};
  QuietCheck quiet_;
  CorePace pace_;
  QuietReading quietest_;
};

// The ceiling for the ISA that the stage's code really uses, in its type and at the plan's width.
const Ceiling* CeilingOf(const Stage& stage, int threads, const std::vector<Ceiling>& ceilings) {
  const DataType type = stage.kernel->converts_to().value_or(stage.execution.type);
  return CeilingOfKernel(ceilings, stage.kernel->isa(), type, threads);
}

void DescribeStage(const Stage& stage, int threads, const std::vector<Ceiling>& ceilings,
                   Record& record) {
  record.name = stage.name;
  record.op = stage.op->kind();
  record.pass = NameOf(stage.pass);
  record.backend = stage.backend;
  record.implementation = stage.kernel->implementation();
  for (const std::string& layer : stage.fused) record.implementation += "+" + layer;
  record.framework_op = stage.framework_op;
  record.isa = stage.kernel->isa();
  SetWork(stage.work(), record);
  if (record.flops) HoldTo(CeilingOf(stage, threads, ceilings), record);
}

void AddRegimes(const PlanProfile& profile, Regime regime, std::size_t stage, Record& record) {
  const auto add = [&](const StageSamples& samples, Regime measured) {
    if (samples.seconds.empty()) return;
    record.seconds_by_regime[std::string(NameOf(measured))] =
        Summarize(UndisturbedSeconds(samples));
  };
  if (stage >= std::min(profile.isolated.size(), profile.isolated_otherwise.size())) return;
  const bool cold = regime == Regime::kIsolatedCold;
  add(profile.in_network.stages[stage], Regime::kInNetwork);
  add(profile.isolated[stage].stages.front(), cold ? Regime::kIsolatedCold : Regime::kIsolatedHot);
  add(profile.isolated_otherwise[stage].stages.front(),
      cold ? Regime::kIsolatedHot : Regime::kIsolatedCold);
}

// No time is published for a result that disagrees with the reference.
void ApplyCheck(const StageCheck& check, Record& record) {
  if (check.agrees) return;
  record.status = Status::kFailed;
  record.reason = check.reason;
  record.seconds.reset();
}

double MedianOf(const StageSamples& samples) {
  return samples.seconds.empty() ? 0.0 : Median(UndisturbedSeconds(samples));
}

// "in the network the step takes 12.3 ms, 1.07 x its stages by themselves with hot caches: ...";
// empty if a recording has impossible times.
std::string GapNote(const Plan& plan, const PlanProfile& profile) {
  double kernels = 0;
  double reorders = 0;
  for (std::size_t i = 0; i < profile.isolated.size(); ++i) {
    const double seconds = MedianOf(profile.isolated[i].stages.front());
    (plan.stages()[i].pass == StagePass::kReorder ? reorders : kernels) += seconds;
  }
  const double step = MedianOf(profile.in_network.step);
  constexpr double kMaxSeconds = 1e9;
  const bool possible =
      step > 0 && step < kMaxSeconds && kernels + reorders > 0 && kernels + reorders < kMaxSeconds;
  if (!possible) return "";
  constexpr double kMs = 1e3;
  return fmt::format(
      "in the network the step takes {:.3f} ms, {:.2f} x its stages by themselves with hot caches: "
      "{:.3f} ms of kernels, {:.3f} ms of reorders, {:+.3f} ms for colder caches and the rest",
      step * kMs, step / (kernels + reorders), kernels * kMs, reorders * kMs,
      (step - kernels - reorders) * kMs);
}

// How the exact counts differ from the analytic FLOPs, or why they are absent.
std::vector<Note> CountNotes(const Plan& plan, const PlanProfile& profile) {
  std::map<std::string, std::vector<std::string>> stages_of_reason;
  std::vector<CountedConvolution> convolutions;
  convolutions.reserve(plan.stages().size());
  double executed = 0;
  double defined = 0;
  for (std::size_t i = 0; i < profile.in_network.stages.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    Record record;
    AddRunCounts(profile.in_network.stages[i], profile.in_network.run_events, record);
    if (!record.counts_reason.empty()) {
      const std::string how = record.flops_counted ? "counted exactly" : "not counted exactly";
      stages_of_reason[how + " " + record.counts_reason].push_back(LabelOf(stage));
    }
    const Work work = stage.work();
    if (!record.flops_counted || work.macs == 0) continue;
    if (const auto* convolution = dynamic_cast<const ConvOp*>(stage.op.get())) {
      convolutions.push_back({convolution, stage.execution, *record.flops_counted});
    }
    executed += *record.flops_counted;
    defined += static_cast<double>(work.flops);
  }
  std::vector<Note> notes;
  notes.reserve(stages_of_reason.size());
  for (const auto& [reason, stages] : stages_of_reason) {
    notes.push_back({.text = fmt::format("{} ({})", reason, fmt::join(stages, ", "))});
  }
  if (defined > 0) {
    notes.push_back(
        {.text = fmt::format("executed over defined FLOPs of the stages that multiply and add: "
                             "{:.4f}. Biases, partial sums, maxima, padded channels and masked "
                             "lanes are added; padding may be skipped",
                             executed / defined)});
  }
  for (std::string& text : ConvolutionNotes(convolutions)) notes.push_back({std::move(text)});
  return notes;
}

// "-0.03 to +0.28 %"; few samples have no interval.
std::string IntervalText(const std::optional<Interval>& interval) {
  if (!interval) return "n/a";
  return fmt::format("{:+.2f} to {:+.2f} %", interval->low * 100, interval->high * 100);
}

// "the times are those of 119 of 223 steps; of the others 104 waited for a CPU"; empty if at most a
// tenth is left out.
std::string LeftOutNote(const StageSamples& step) {
  const Selection& selection = step.selection;
  constexpr double kWorthSaying = 0.1;
  const std::int64_t left_out = selection.LeftOut();
  const auto samples = static_cast<std::int64_t>(selection.kept.size()) + left_out;
  const bool few = static_cast<double>(left_out) <= kWorthSaying * static_cast<double>(samples);
  if (few && step.composed.empty()) return "";
  std::string reasons;
  for (const auto& [reason, count] : ReasonsOf(selection)) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  }
  const std::string_view what = step.composed.empty()
                                    ? "the times are those"
                                    : "the step's time is the sum of its stages' undisturbed "
                                      "times, which are more than those";
  return fmt::format("{} of {} of {} steps; of the others {}", what, selection.kept.size(), samples,
                     reasons);
}

std::vector<Note> NotesOf(const Plan& plan, const PlanProfile& profile, Regime regime) {
  std::vector<Note> notes;
  if (!profile.checks.note.empty()) notes.push_back({.text = profile.checks.note, .main = true});
  const bool on_openblas = std::ranges::any_of(
      plan.stages(), [](const Stage& stage) { return stage.backend == "openblas"; });
  if (std::string doubt = openblas::OldCodeDoubt(); on_openblas && !doubt.empty()) {
    notes.push_back({.text = std::move(doubt), .main = true});
  }
  const Warmup& warmup = profile.in_network.warmup;
  // The rule needs two checks of the series (harness/statistics/steady.h).
  const bool few = warmup.iterations < SteadyRule{}.least * 3 / 2;
  const std::string_view outcome =
      warmup.steady ? "steady" : (few ? "too few to tell whether it is steady," : "not steady");
  notes.push_back({.text = fmt::format("warm-up: {} after {} steps, {:.2f} s", outcome,
                                       warmup.iterations, warmup.seconds),
                   .main = !warmup.steady && !few});
  if (!profile.in_network.stages.empty()) {
    notes.push_back({.text = fmt::format("an empty stage takes {:.0f} ns; every time excludes it",
                                         profile.in_network.stages.front().empty_seconds * 1e9)});
  }
  if (profile.overhead) {
    notes.push_back(
        {.text = fmt::format("marks around the stages: {:+.2f} % of the step (95 % interval {}, {} "
                             "pairs of steps with and without them)",
                             profile.overhead->ratio * 100,
                             IntervalText(profile.overhead->interval), profile.overhead->pairs)});
  }
  for (const std::string& cut_short : {profile.in_network.cut_short, profile.isolated_cut_short}) {
    if (cut_short.empty()) continue;
    notes.push_back({.text = cut_short + ": the machine is busy, and the budget of time was spent",
                     .main = true});
  }
  if (std::string text = LeftOutNote(profile.in_network.step); !text.empty()) {
    notes.push_back({.text = std::move(text), .main = true});
  }
  for (Note& note : CountNotes(plan, profile)) notes.push_back(std::move(note));
  const bool whole = profile.isolated.size() == plan.stages().size();
  const std::string gap = whole && regime != Regime::kIsolatedCold ? GapNote(plan, profile) : "";
  if (!gap.empty()) {
    notes.push_back({.text = gap, .basis = Note::Basis::kIsolated, .main = true});
  }
  return notes;
}

}  // namespace

std::string_view NameOf(Regime regime) { return kRegimeNames[static_cast<std::size_t>(regime)]; }

std::vector<std::string> RegimeNames() { return {kRegimeNames.begin(), kRegimeNames.end()}; }

bool NeedsCeiling(const Plan& plan, const Ceiling& ceiling) {
  if (ceiling.unit == "B/s") return true;
  std::vector<Ceiling> measured = {ceiling};
  measured.front().value = 1;  // one without a value is none for any stage
  return std::any_of(plan.stages().begin(), plan.stages().end(), [&](const Stage& stage) {
    return CeilingOf(stage, plan.threads(), measured) != nullptr;
  });
}

std::vector<std::string> CeilingNamesOf(const Plan& plan, const std::vector<Ceiling>& ceilings) {
  std::set<std::string> names;
  for (const Stage& stage : plan.stages()) {
    const Ceiling* ceiling = CeilingOf(stage, plan.threads(), ceilings);
    if (ceiling != nullptr) names.insert(ceiling->name);
  }
  for (const char* level : {"l1", "dram"}) {
    if (const std::optional<Roof> roof = BandwidthRoof(ceilings, level)) names.insert(roof->name);
  }
  return {names.begin(), names.end()};
}

Verdict IsolatedVerdict(const PlanProfile& profile) {
  // One disturbed stage of a hundred hardly changes the sum of their times.
  constexpr double kMaxDisturbed = 0.1;
  Verdict worst;
  for (const auto* samples : {&profile.isolated, &profile.isolated_otherwise}) {
    Verdict own;
    double seconds = 0;
    double disturbed = 0;
    for (const SequenceSamples& stage : *samples) {
      Verdict verdict = JudgeDisturbance(stage.disturbance);
      if (const std::string few = WhyTooFew(stage.step.selection); !few.empty()) {
        Worsen(verdict, Status::kDegraded, few);
      }
      const double median = MedianOf(stage.stages.front());
      seconds += median;
      if (verdict.status == Status::kOk) continue;
      disturbed += median;
      if (own.status == Status::kOk) own = verdict;
    }
    if (disturbed > kMaxDisturbed * seconds && worst.status == Status::kOk) worst = own;
  }
  return worst;
}

PlanProfile ProfilePlan(const WorkloadOptions& options, bool training, Plan& plan,
                        TrainingImages& images, const ProfileSettings& settings) {
  PlanProfile profile = Profiler(options, training, plan, images, settings).Profile();
  ThrowOnRunFailure();
  return profile;
}

Report ReportOf(const Plan& plan, const PlanProfile& profile, const std::vector<Ceiling>& ceilings,
                Regime regime) {
  Report report;
  const Verdict verdict = JudgeWholeRun(profile.in_network.disturbance);
  const auto& stages = plan.stages();
  double flops = 0, without_padding = 0;
  const Ceiling* step_ceiling = nullptr;
  double most_flops = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Record record;
    if (regime == Regime::kInNetwork) {
      if (i < profile.in_network.stages.size()) {
        record = RecordOf(profile.in_network.stages[i], profile.in_network.events, verdict,
                          NameOf(regime));
        record.speeds = SpeedsOf(profile.in_network, profile.in_network.stages[i]);
      }
    } else if (i < profile.isolated.size()) {
      const SequenceSamples& own = profile.isolated[i];
      record =
          RecordOf(own.stages.front(), own.events, JudgeWholeRun(own.disturbance), NameOf(regime));
      record.speeds = SpeedsOf(own, own.stages.front());
    }
    // The step's work is that of all stages, also of those that were not timed by themselves.
    const Work work = stages[i].work();
    flops += static_cast<double>(work.flops);
    without_padding += static_cast<double>(work.flops_without_padding);
    const Ceiling* const ceiling = CeilingOf(stages[i], plan.threads(), ceilings);
    if (static_cast<double>(work.flops) > most_flops && ceiling != nullptr) {
      most_flops = static_cast<double>(work.flops);
      step_ceiling = ceiling;
    }
    if (!record.seconds && record.status != Status::kInvalid) {
      report.partial = true;
      continue;
    }
    // The executed operations of a stage do not depend on the regime.
    if (i < profile.in_network.stages.size()) {
      AddRunCounts(profile.in_network.stages[i], profile.in_network.run_events, record);
    }
    AddRegimes(profile, regime, i, record);
    DescribeStage(stages[i], plan.threads(), ceilings, record);
    if (i < profile.checks.stages.size()) ApplyCheck(profile.checks.stages[i], record);
    report.stages.push_back(std::move(record));
  }
  report.step = RecordOf(profile.in_network.step, profile.in_network.events, verdict,
                         NameOf(Regime::kInNetwork));
  report.step.speeds = SpeedsOf(profile.in_network, profile.in_network.step);
  AddRunCounts(profile.in_network.step, profile.in_network.run_events, report.step);
  report.step.flops = flops;
  report.step.flops_without_padding = without_padding;
  HoldTo(step_ceiling, report.step);
  const bool failed = std::any_of(report.stages.begin(), report.stages.end(),
                                  [](const Record& r) { return r.status == Status::kFailed; });
  if (failed) {
    report.step.status = Status::kFailed;
    report.step.reason = "a stage's result disagrees with the reference";
    report.step.seconds.reset();
  }
  std::span<const StageSamples> in_sequence;
  if (regime == Regime::kInNetwork) in_sequence = profile.in_network.stages;
  AddGroups(in_sequence, report);
  if (!profile.in_network.step.seconds.empty()) report.notes = NotesOf(plan, profile, regime);
  return report;
}

}  // namespace topdnn
