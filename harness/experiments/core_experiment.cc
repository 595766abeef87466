#include "harness/experiments/core_experiment.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <future>
#include <numeric>

#include "harness/counters/clock.h"
#include "harness/exact/counter.h"
#include "harness/exact/translated_run.h"
#include "harness/machine/child_trial.h"
#include "harness/probes/quiet.h"
#include "harness/statistics/interval.h"

namespace topdnn {

namespace {

constexpr int kRounds = 6;  // the fewest that give an interval
// Where the interval of R/T is wider, more rounds follow as long as the time suffices.
constexpr int kMostRounds = 15;
constexpr double kNarrow = 0.06;
// Where the pace of the cores is read, until each time has so many undisturbed samples.
constexpr int kMostPacedRounds = 60;
constexpr int kUndisturbed = 12;
// A core at a lower clock has at least this share of the highest pace; a shared one has less.
constexpr double kLeastPace = 0.85;
constexpr int kModes = 4;
constexpr int kMostSamples = 10;
constexpr double kSampleSeconds = 30e-6;  // of calls that are timed together
constexpr double kModeSeconds = 4e-3;     // of one mode in a round, at least one sample
// Counting once with the addresses of operands, and twice without, as a multiple of the time.
constexpr double kLearnFactor = 10;
constexpr double kTranslateSeconds = 4e-3;  // of one run in the translator, beyond the call's time
constexpr double kTrialSeconds = 60e-3;     // of the processes that try a stage redirected
constexpr double kMostFactor = 1.5;         // of the time that was asked for
// A shorter stage is mostly its call.
constexpr double kShortest = 2e-6;

// One sample, in ticks of the clock.
struct RawSample {
  std::uint64_t whole = 0, waited = 0;  // waited: for teams of threads
  TeamTicks teams;
  CorePace::Ticks before, after;
};

// What runs in one mode of a round. It also runs where floating-point arithmetic is left out, so it
// computes with integers only.
struct TimedCalls {
  Action run;
  TickClock clock;
  CorePace* pace = nullptr;  // null: not read
  int warmups = 1, calls = 1;
  std::vector<RawSample> samples;

  void operator()() {
    for (int k = 0; k < warmups; ++k) run();
    CorePace::Ticks ticks;
    if (pace != nullptr) ticks = pace->ReadTicks();
    for (RawSample& sample : samples) {
      sample.before = ticks;
      const std::uint64_t waited = WaitedForTeams();
      const TeamTicks teams = TimeInTeams();
      const std::uint64_t start = clock.now();
      for (int k = 0; k < calls; ++k) run();
      sample.whole = clock.now() - start;
      sample.waited = WaitedForTeams() - waited;
      const TeamTicks after = TimeInTeams();
      sample.teams = {after.teams - teams.teams, after.shares - teams.shares};
      if (pace != nullptr) ticks = pace->ReadTicks();
      sample.after = ticks;
    }
  }
};

// By sample: seconds of a call, and the slower pace of the cores at both ends; empty: not read.
struct TimesOfMode {
  std::vector<double> whole, work, idle, pace;
};

TimesOfMode TimesOf(const TimedCalls& timed, int threads) {
  const double each = timed.clock.seconds_per_tick / timed.calls;
  TimesOfMode times;
  for (const RawSample& sample : timed.samples) {
    const auto whole = static_cast<double>(sample.whole);
    times.whole.push_back(whole * each);
    times.work.push_back((whole - static_cast<double>(sample.waited)) * each);
    const double busy =
        whole - static_cast<double>(sample.teams.teams) + static_cast<double>(sample.teams.shares);
    times.idle.push_back(std::max(0.0, whole - busy / threads) * each);
    if (timed.pace == nullptr) continue;
    times.pace.push_back(
        std::min(timed.pace->PaceOf(sample.before), timed.pace->PaceOf(sample.after)));
  }
  return times;
}

// The lower quartile: an interruption only lengthens a sample.
double QuartileOf(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 4];
}

enum class Mode { kNative, kTranslated, kRedirected, kDelivered };

// One region in all modes.
class Rounds {
 public:
  // `seconds`: about, of a call; `threads`: that may work in it; `delivery` null: not measured.
  Rounds(Action run, double seconds, int threads, const Redirection* redirection,
         const Redirection* delivery, CorePace* pace)
      : calls_{.run = run, .clock = BestClock(), .pace = pace, .samples = {}},
        threads_(threads),
        redirection_(redirection),
        delivery_(delivery) {
    const double call = std::max(seconds, 1e-8);
    calls_.calls = std::max(1, static_cast<int>(kSampleSeconds / call));
    const double sample = call * calls_.calls;
    calls_.samples.resize(static_cast<std::size_t>(
        std::clamp(static_cast<int>(kModeSeconds / sample), 1, kMostSamples)));
    calls_.warmups = calls_.samples.size() > 1 ? 2 : 1;
  }

  // Sets *why if a part ran untranslated.
  CoreRound Run(bool reversed, std::string* why) {
    CoreRound round;
    for (int k = 0; k < kModes; ++k) {
      const auto mode = static_cast<Mode>(reversed ? kModes - 1 - k : k);
      if (mode == Mode::kDelivered && delivery_ == nullptr) continue;
      Time(mode, &round, why);
    }
    return round;
  }

  CoreSamples Undisturbed() const {
    return {.native = Undisturbed(Mode::kNative, &TimesOfMode::whole),
            .translated = Undisturbed(Mode::kTranslated, &TimesOfMode::whole),
            .translated_work = Undisturbed(Mode::kTranslated, &TimesOfMode::work),
            .redirected_work = Undisturbed(Mode::kRedirected, &TimesOfMode::work),
            .delivered_work = Undisturbed(Mode::kDelivered, &TimesOfMode::work)};
  }

  bool HasEnough() const {
    const std::size_t modes = delivery_ != nullptr ? kModes : kModes - 1;
    return std::all_of(paced_.begin(), paced_.begin() + modes, [this](const TimesOfMode& times) {
      const auto fast = [this](double pace) { return IsUndisturbed(pace); };
      return std::count_if(times.pace.begin(), times.pace.end(), fast) >= kUndisturbed;
    });
  }

  // Only translated.
  CoreRound RunTranslated(std::string* why) {
    CoreRound round;
    Time(Mode::kTranslated, &round, why);
    return round;
  }

 private:
  void Time(Mode mode, CoreRound* round, std::string* why) {
    std::string missed = RunOnce(mode);
    if (!missed.empty()) *why = std::move(missed);
    const TimesOfMode times = TimesOf(calls_, threads_);
    if (mode == Mode::kNative) round->native = QuartileOf(times.whole);
    if (mode == Mode::kTranslated) {
      round->translated = QuartileOf(times.whole);
      round->translated_work = QuartileOf(times.work);
      round->idle = QuartileOf(times.idle);
    }
    if (mode == Mode::kRedirected) round->redirected_work = QuartileOf(times.work);
    if (mode == Mode::kDelivered) round->delivered_work = QuartileOf(times.work);
    TimesOfMode& paced = paced_.at(static_cast<std::size_t>(mode));
    for (std::size_t s = 0; s < times.pace.size(); ++s) {
      paced.whole.push_back(times.whole[s]);
      paced.work.push_back(times.work[s]);
      paced.pace.push_back(times.pace[s]);
      best_pace_ = std::max(best_pace_, times.pace[s]);
    }
  }

  // The clock may be lower than when the full pace was read, for all samples.
  bool IsUndisturbed(double pace) const {
    return pace >= std::max(kMinPace * best_pace_, kLeastPace * calls_.pace->full());
  }

  std::vector<double> Undisturbed(Mode mode, std::vector<double> TimesOfMode::*of) const {
    const TimesOfMode& paced = paced_.at(static_cast<std::size_t>(mode));
    std::vector<double> seconds;
    for (std::size_t s = 0; s < paced.pace.size(); ++s) {
      if (IsUndisturbed(paced.pace[s])) seconds.push_back((paced.*of)[s]);
    }
    return seconds;
  }

  std::string RunOnce(Mode mode) {
    if (mode == Mode::kNative) {
      calls_();
      return "";
    }
    const Redirection* data = mode == Mode::kRedirected  ? redirection_
                              : mode == Mode::kDelivered ? delivery_
                                                         : nullptr;
    return RunUncounted([](void* calls) { (*static_cast<TimedCalls*>(calls))(); }, &calls_, data,
                        calls_.clock.now);
  }

  TimedCalls calls_;
  int threads_;
  const Redirection* redirection_;
  const Redirection* delivery_;
  std::array<TimesOfMode, kModes> paced_;  // of all rounds, without `idle`
  double best_pace_ = 0;
};

// The least that translation adds to a call that does nothing else.
TranslationCost AddedTo(Action nothing, int threads) {
  const Redirection none;
  Rounds rounds(nothing, 2e-6, threads, &none, nullptr, nullptr);
  std::vector<double> whole, work;
  for (int k = 0; k < kRounds; ++k) {
    std::string why;
    const CoreRound round = rounds.Run(k % 2 != 0, &why);
    whole.push_back(std::max(0.0, round.translated - round.native));
    work.push_back(round.redirected_work);
  }
  return {QuartileOf(whole), QuartileOf(work)};
}

// The width of the interval of R/T; 1 without one.
double WidthOf(const std::vector<CoreRound>& rounds) {
  std::vector<double> ratios;
  ratios.reserve(rounds.size());
  for (const CoreRound& round : rounds) {
    ratios.push_back(round.redirected_work / round.translated_work);
  }
  const std::optional<Interval> interval = MedianInterval(ratios);
  return interval ? interval->high - interval->low : 1;
}

// What following an empty team costs.
TranslationCost CostOfTeam(int threads) {
  if (threads == 1) return {};
  auto team = [threads] {
#pragma omp parallel num_threads(threads)
    asm volatile("" : : : "memory");
  };
  return AddedTo(Action::Of(team), threads);
}

[[gnu::noinline]] void Callee() { asm volatile("" : : : "memory"); }

// What following an indirect call or a return costs, with returns to two places in turn: a
// function's previous caller is often not its next one.
TranslationCost CostOfReturn() {
  constexpr int kReturns = 1000;
  auto calls = [] {
    for (int k = 0; k < kReturns / 2; ++k) {
      Callee();
      asm volatile("nop");
      Callee();
    }
  };
  const double each = AddedTo(Action::Of(calls), 1).whole / kReturns;
  return {each, each};
}

// Why the region cannot run redirected in this process; empty: it can. Other data may lead a kernel
// anywhere, and a crash or an endless loop would end the whole measurement.
std::string WhyItFailsRedirected(const Action& run, const Redirection& redirection, int threads,
                                 double seconds, const TickClock& clock) {
  constexpr double kMostSeconds = 10;
  constexpr double kSlowest = 1000;  // of counted code, relative to the native one
  const auto limit = static_cast<unsigned>(std::min(kMostSeconds, 2 + kSlowest * seconds));
  const TrialEnd end = RunInChild(
      [&] {
        // (a new thread has its own team of OpenMP: the threads of this one are not in the child)
        const auto in_new_thread = [&] {
          omp_set_num_threads(threads);
          CountRedirected(run.function, run.context, redirection);
          RunUncounted(run.function, run.context, &redirection, clock.now);
        };
        std::async(std::launch::async, in_new_thread).get();  // (passes exceptions on)
        return true;
      },
      limit);
  if (end.succeeded) return "";
  if (end.error != 0) {
    return fmt::format("no process can be started to try it: {}", std::strerror(end.error));
  }
  if (end.signal == 0) return "a trial with its data in L1 failed";
  return "a trial with its data in L1 " + EndBySignal(end.signal);
}

Redirection DeliveryOf(Redirection redirection) {
  redirection.placeholders = true;
  return redirection;
}

double InstructionsOf(const ExactCounts& counts) {
  return static_cast<double>(counts.instructions - counts.openmp_instructions);
}

class Experiment {
 public:
  Experiment(const CoreSubject& subject, const CoreExperimentOptions& options)
      : subject_(subject), options_(options), clock_(BestClock()), pace_(subject.threads) {}

  std::vector<StageCore> Run() {
    const std::size_t n = subject_.stages.size();
    std::vector<StageCore> result(n);
    seconds_ = LeastTimes();
    costs_.assign(n, 0);
    Choose(seconds_, &result);
    team_ = CostOfTeam(subject_.threads);
    return_ = CostOfReturn();
    if (subject_.before_iteration) subject_.before_iteration();
    start_ = clock_.now();
    for (std::size_t i = 0; i < n; ++i) {
      due_ += costs_[i];
      if (Cancelled()) result[i].reason = "interrupted";
      if (result[i].reason.empty() && TimeIsUp()) {
        result[i].reason = fmt::format("the experiment's {:.0f} s were up", budget_);
      }
      if (options_.progress) {
        options_.progress(fmt::format("core experiment: {}", subject_.stages[i].name),
                          static_cast<double>(i) / static_cast<double>(n));
      }
      subject_.stages[i].run();
      if (!result[i].reason.empty()) continue;
      MeasureStage(i, &result[i]);
      if (!result[i].reason.empty()) result[i].rounds.clear();
      subject_.stages[i].run();
    }
    return result;
  }

 private:
  bool Cancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }

  double Since(std::uint64_t start) const {
    return clock_.SecondsBetween(start, clock_.now()).value_or(0);
  }

  std::vector<double> RunSequence() const {
    std::vector<double> seconds;
    if (subject_.before_iteration) subject_.before_iteration();
    for (const TimedStage& stage : subject_.stages) {
      const std::uint64_t start = clock_.now();
      stage.run();
      seconds.push_back(Since(start));
    }
    return seconds;
  }

  // Of each stage in some runs of the sequence.
  std::vector<double> LeastTimes() const {
    constexpr int kMostRuns = 10;
    constexpr double kShareOfTime = 0.1;
    RunSequence();
    const std::uint64_t start = clock_.now();
    std::vector<double> least = RunSequence();
    for (int k = 1; k < kMostRuns && Since(start) < kShareOfTime * options_.seconds; ++k) {
      const std::vector<double> seconds = RunSequence();
      std::transform(least.begin(), least.end(), seconds.begin(), least.begin(),
                     [](double a, double b) { return std::min(a, b); });
    }
    return least;
  }

  // About, of the whole experiment on a stage.
  static double CostOf(double seconds) {
    const double mode = std::max(2 * seconds, std::min(kModeSeconds, (2 + kMostSamples) * seconds));
    return kTrialSeconds + kLearnFactor * seconds +
           kRounds * (kModes * mode + 2 * kTranslateSeconds);
  }

  // Leaves out the shortest stages if the time does not suffice.
  void Choose(const std::vector<double>& seconds, std::vector<StageCore>* result) {
    std::vector<std::size_t> order(seconds.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return seconds[a] > seconds[b]; });
    double needed = 0;
    for (const double each : seconds) needed += each < kShortest ? 0 : CostOf(each);
    budget_ = std::max(options_.seconds, std::min(needed, options_.most_seconds));
    double cost = 0;
    for (const std::size_t i : order) {
      if (seconds[i] < kShortest) {
        (*result)[i].reason = fmt::format("too short: {:.1f} us", seconds[i] * 1e6);
        continue;
      }
      const double own = CostOf(seconds[i]);
      if (cost + own > budget_) {
        (*result)[i].reason =
            fmt::format("the experiment's {:.0f} s went to longer stages", budget_);
        continue;
      }
      cost += own;
      costs_[i] = own;
    }
    // What the stages leave of the time goes to more rounds, in proportion.
    for (double& each : costs_) each *= budget_ / std::max(cost, 1e-9);
  }

  // On a busy machine everything takes longer than it should.
  bool TimeIsUp() const { return Since(start_) > kMostFactor * budget_; }

  // Whether more time has passed than is due when the stages so far are done.
  bool Late() const { return Since(start_) > due_; }

  void MeasureStage(std::size_t i, StageCore* stage) {
    const Action run = subject_.stages[i].run;
    const LearnedRegion learned = Learn(i, stage);
    if (!learned.counts.complete) return;
    const auto teams = static_cast<double>(learned.teams);
    const double returns =
        static_cast<double>(learned.counts.indirect_branches) / subject_.threads * return_.whole;
    stage->teams = {team_.whole * teams, team_.work * teams};
    stage->cost = {stage->teams.whole + returns, stage->teams.work + returns};
    const Redirection delivery = DeliveryOf(learned.redirection);
    Rounds rounds(run, seconds_[i], subject_.threads, &learned.redirection,
                  stage->counts.instructions_delivered > 0 ? &delivery : nullptr,
                  pace_.works() ? &pace_ : nullptr);
    if (!stage->reason.empty()) {
      std::string ignored;
      for (int k = 0; k < kRounds && !Cancelled() && !TimeIsUp() && subject_.threads > 1; ++k) {
        stage->waiting.push_back(rounds.RunTranslated(&ignored));
      }
      return;
    }
    const int most = pace_.works() ? kMostPacedRounds : kMostRounds;
    for (int k = 0; k < most && !Cancelled() && stage->reason.empty(); ++k) {
      const bool enough = pace_.works() ? rounds.HasEnough() : WidthOf(stage->rounds) < kNarrow;
      if (k >= kRounds && (Late() || enough)) break;
      if (TimeIsUp()) break;
      stage->rounds.push_back(rounds.Run(k % 2 != 0, &stage->reason));
    }
    stage->undisturbed = rounds.Undisturbed();
    if (subject_.threads > 1) stage->waiting = stage->rounds;
  }

  // Finds the operands, and counts what is executed with and without them.
  LearnedRegion Learn(std::size_t i, StageCore* stage) const {
    const Action run = subject_.stages[i].run;
    LearnedRegion learned = LearnOperands(run.function, run.context, subject_.tensors);
    if (!learned.counts.complete) {
      stage->reason = "not all of its code is translated: " + learned.counts.incomplete_reason;
      return learned;
    }
    const auto why_not = [&](const Redirection& redirection) {
      return WhyItFailsRedirected(run, redirection, subject_.threads, seconds_[i], clock_);
    };
    stage->reason = why_not(learned.redirection);
    if (!stage->reason.empty()) return learned;
    // (the first count of a process runs other paths of the allocator than the next ones)
    const ExactCounts natural = ExactCounter::Count(run.function, run.context);
    const ExactCounts redirected = CountRedirected(run.function, run.context, learned.redirection);
    const ExactCounts again = ExactCounter::Count(run.function, run.context);
    stage->counts = {.instructions = InstructionsOf(natural),
                     .instructions_again = InstructionsOf(again),
                     .instructions_redirected = InstructionsOf(redirected),
                     .redirected_bytes = learned.redirection.redirected_bytes,
                     .kept_bytes = learned.redirection.kept_bytes,
                     .crossings_added =
                         learned.redirection.redirected_crossings - learned.redirection.crossings};
    stage->reason = WhyNotTheSameWork(stage->counts);
    if (!stage->reason.empty()) return learned;
    const Redirection delivery = DeliveryOf(learned.redirection);
    if (why_not(delivery).empty()) {
      stage->counts.instructions_delivered =
          InstructionsOf(CountRedirected(run.function, run.context, delivery));
    }
    return learned;
  }

  const CoreSubject& subject_;
  const CoreExperimentOptions& options_;
  TickClock clock_;
  CorePace pace_;
  TranslationCost team_, return_;  // of each
  std::vector<double> seconds_;    // of each stage, the least seen
  std::vector<double> costs_;      // seconds that are due to each stage
  double budget_ = 0;              // seconds of the experiment
  std::uint64_t start_ = 0;
  double due_ = 0;
};

}  // namespace

std::vector<StageCore> RunCoreExperiment(const CoreSubject& subject,
                                         const CoreExperimentOptions& options) {
  return Experiment(subject, options).Run();
}

}  // namespace topdnn
