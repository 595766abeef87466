#include "harness/experiments/memory_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "harness/counters/clock.h"
#include "harness/exact/counter.h"
#include "harness/experiments/interleaved.h"
#include "harness/measure/loss_watch.h"
#include "harness/measure/undisturbed.h"
#include "harness/measure/watched_run.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

constexpr std::size_t kSecondLevel = 0;  // of the footprints
constexpr std::size_t kLastLevel = 1;
// An interval needs 6 rounds. The one of 9 leaves out the lowest and the highest, so an
// interruption of a stage in one round does not widen it: 6 are only enough if the intervals are
// narrow.
constexpr std::int64_t kLeastRounds = 6;
constexpr std::int64_t kRobustRounds = 9;
constexpr std::int64_t kMostRounds = 24;
constexpr double kNarrow = 0.1;  // mean width of the shares
constexpr double kLeastBudget = 30;
constexpr double kBudget = 4;       // times the asked seconds: for what comes before the rounds
constexpr double kRounds = 1.5;     // times that: for the rounds
constexpr double kRunsOfRound = 7;  // of each stage, with a footprint in the last cache
constexpr const char* kBudgetSpent = "the machine is busy, and the budget of time was spent";
constexpr double kMostSeconds = 2;  // times the asked ones, if other work disturbs the rounds
// A shorter stage is mostly the start of a team and the marks.
constexpr double kShortest = 5e-6;
// The stage is repeated for about this long on each kind of pages, at least once.
constexpr double kRepeatSeconds = 2e-3;
constexpr int kMostRepeats = 20;
// Repetitions are watched if the readings take at most this share of their time.
constexpr double kMostWatching = 0.1;
// Long sequences run once in a round: the maps that changed before it cost much less than 1 %.
constexpr double kLongSequence = 0.3;
// A stage in a network is not timed again on its own pages if cold code takes less of its time than
// this: that bounds the same, and saves one of its eight runs in a round.
constexpr double kColdCode = 0.005;
constexpr double kLeastHertz = 1.5e9;
// Two runs of the same work differ in the instructions that wait for another thread (oneDNN's
// barriers spin). So a stage whose run on remapped memory differs by more than this is counted
// twice on its own pages, and may differ by kNaturalFactor times the difference of these two.
constexpr double kSameInstructions = 0.01;
constexpr double kNaturalFactor = 3;
constexpr double kFewInstructions = 1000;

// The mean width of the stages' memory shares, weighted by their time in the sequence. 1 without a
// share.
double MeanWidth(std::span<const StageMemory> stages) {
  double seconds = 0;
  double widths = 0;
  for (const StageMemory& stage : stages) {
    if (!stage.reason.empty()) continue;
    const std::optional<MemoryShares> shares = SharesOf(stage.rounds, MemoryRegime::kInNetwork, {});
    if (!shares) continue;
    const double of_stage = stage.rounds.front().in_network;
    seconds += of_stage;
    widths += of_stage * (shares->memory.high - shares->memory.low);
  }
  return seconds > 0 ? widths / seconds : 1;
}

// Whether too few rounds are undisturbed so far.
bool NeedsMore(std::span<const StageMemory> stages) {
  std::vector<StageRounds> rounds;
  for (const StageMemory& stage : stages) {
    if (!stage.reason.empty()) continue;
    if (stage.rounds.empty()) return true;
    std::vector<double> seconds;
    StageRounds of_stage;
    for (const MemoryRound& round : stage.rounds) {
      seconds.push_back(round.in_network);
      of_stage.undisturbed += round.waited <= kMaxWaitedOfSample ? 1 : 0;
    }
    of_stage.seconds = Median(seconds);
    rounds.push_back(of_stage);
  }
  return NeedMoreRounds(rounds);
}

bool HasAbnormal(const std::vector<std::span<const float>>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](std::span<const float> values) {
    return std::any_of(values.begin(), values.end(),
                       [](float value) { return value != 0 && !std::isnormal(value); });
  });
}

class Experiment {
 public:
  Experiment(const MemorySubject& subject, const std::vector<FootprintSize>& footprints,
             const MemoryExperimentOptions& options)
      : subject_(subject),
        options_(options),
        footprints_(footprints),
        memory_(subject.memory, subject.threads, footprints),
        clock_(BestClock()),
        watch_(subject.threads) {}

  MemoryExperiment Run() {
    MemoryExperiment result;
    result.footprints = footprints_;
    result.stages.resize(subject_.stages.size());
    budget_end_ = Budget();
    const TimedRun first = RunSequence();
    sequence_seconds_ = std::accumulate(first.seconds.begin(), first.seconds.end(), 0.0);
    Learn(&result);
    const double learned = Since(start_);
    budget_end_ = learned + kRounds * Budget();
    const bool has_time = kLeastRounds * kRunsOfRound * sequence_seconds_ < kRounds * Budget();
    // Half of the time may go to what comes before the rounds.
    const double rounds_from = std::min(learned, options_.seconds / 2);
    for (std::int64_t round = 0; round < kMostRounds && !Cancelled() && !BudgetIsSpent(); ++round) {
      const double spent = Since(start_) - learned + rounds_from;
      const bool time_is_up =
          spent > (NeedsMore(result.stages) ? kMostSeconds : 1) * options_.seconds;
      if (time_is_up && (round >= kRobustRounds ||
                         (round == kLeastRounds && MeanWidth(result.stages) < kNarrow))) {
        break;
      }
      Say("memory experiment: rounds", std::max(static_cast<double>(round) / kMostRounds,
                                                (Since(start_) - learned) / options_.seconds));
      // The footprint in the last cache only splits a share, but takes a third of the time. So
      // after the first rounds it is timed in every second round, and in none if 6 rounds would
      // take too long with it.
      Round(has_time && (round < kLeastRounds || round % 2 == 0), &result);
    }
    for (StageMemory& stage : result.stages) {
      stage.rounds = UndisturbedRounds(stage.rounds);
      if (!stage.reason.empty()) stage.rounds.clear();
      if (!stage.rounds.empty() || !stage.reason.empty()) continue;
      stage.reason = Cancelled() ? "interrupted" : kBudgetSpent;
    }
    return result;
  }

 private:
  bool Cancelled() const { return IsCancelled(options_.cancel); }
  void Say(std::string_view what, double share) const {
    if (options_.progress) options_.progress(what, std::min(share, 1.0));
  }
  // On a busy machine a run of a stage may take many times as long.
  bool BudgetIsSpent() const { return Since(start_) > budget_end_; }
  double Budget() const { return std::max(kBudget * options_.seconds, kLeastBudget); }
  double Since(std::uint64_t start) const {
    return clock_.SecondsBetween(start, clock_.now()).value_or(0);
  }
  const Action& StageAt(std::size_t i) const { return subject_.stages[i].run; }
  std::span<const std::span<const std::byte>> KeptOf(std::size_t i) const {
    if (i >= subject_.keep.size()) return {};
    return subject_.keep[i];
  }
  double TimeOnce(std::size_t i) const {
    const std::uint64_t start = clock_.now();
    StageAt(i)();
    return Since(start);
  }

  TimedRun RunSequence() {
    return RunTimed({.stages = subject_.stages, .before_iteration = subject_.before_iteration},
                    clock_, watch_);
  }

  // The same region, timed several times.
  struct Timed {
    double all = 0;          // median, or of the first run
    double undisturbed = 0;  // of the undisturbed times alone, or of the least disturbed one
    double lost = 0;         // the least share of one of them (LossWatch)
  };

  // Each stage in the sequence, which runs again while other work disturbs a stage.
  std::vector<Timed> TimeSequence() {
    constexpr int kMostRuns = 6;
    const TimedRun first = RunSequence();
    std::vector<Timed> times;
    for (std::size_t i = 0; i < first.seconds.size(); ++i) {
      times.push_back({first.seconds[i], first.seconds[i], first.waited[i]});
    }
    const auto disturbed = [](const Timed& timed) { return timed.lost > kMaxWaitedOfSample; };
    for (int run = 1; run < kMostRuns && sequence_seconds_ < kLongSequence &&
                      std::ranges::any_of(times, disturbed);
         ++run) {
      const TimedRun again = RunSequence();
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (again.waited[i] >= times[i].lost) continue;
        times[i].lost = again.waited[i];
        times[i].undisturbed = again.seconds[i];
      }
    }
    return times;
  }

  // Finds out which pages each stage uses, and whether the experiment holds for it.
  void Learn(MemoryExperiment* result) {
    touched_.resize(subject_.stages.size());
    repeats_.assign(subject_.stages.size(), 1);
    if (subject_.before_iteration) subject_.before_iteration();
    for (std::size_t i = 0; i < subject_.stages.size() && !Cancelled(); ++i) {
      Say(fmt::format("memory experiment: pages of {}", subject_.stages[i].name),
          static_cast<double>(i) / static_cast<double>(subject_.stages.size()) / 2);
      StageMemory& stage = result->stages[i];
      if (BudgetIsSpent()) {
        stage.reason = kBudgetSpent;
        continue;
      }
      const double seconds = TimeOnce(i);
      touched_[i] = memory_.Touch(StageAt(i), KeptOf(i));
      stage.remapped_bytes = touched_[i].remapped_bytes();
      stage.kept_bytes = touched_[i].kept_bytes();
      repeats_[i] =
          std::clamp(static_cast<int>(kRepeatSeconds / std::max(seconds, 1e-9)), 1, kMostRepeats);
      if (seconds < kShortest) {
        stage.reason = fmt::format("too short: {:.1f} us", seconds * 1e6);
      } else if (stage.remapped_bytes == 0) {
        stage.reason = "no page of its memory can be remapped";
      } else if (options_.compare_instructions) {
        CompareInstructions(i, &stage);
      }
    }
  }

  // A stage that executes other instructions on other values is not the same work.
  void CompareInstructions(std::size_t i, StageMemory* stage) {
    const std::optional<ExactCounts> natural = CountOnce(i);
    if (!natural) return;
    memory_.MapFootprint(kSecondLevel, touched_[i]);
    const std::optional<ExactCounts> remapped = CountOnce(i);
    memory_.MapOwn(touched_[i]);
    StageAt(i)();
    const double own = InstructionsOf(*natural);
    stage->instructions_own = own;
    stage->code_bytes = static_cast<double>(natural->code_bytes);
    if (!remapped) return;
    stage->instructions_remapped = InstructionsOf(*remapped);
    const double difference = std::abs(*stage->instructions_remapped - own);
    if (difference <= std::max(kSameInstructions * own, kFewInstructions)) return;
    const std::optional<ExactCounts> again = CountOnce(i);
    if (!again) return;
    if (difference > kNaturalFactor * std::abs(InstructionsOf(*again) - own)) {
      stage->reason = fmt::format(
          "its work depends on its values: {:.4g} instructions on its own memory, {:.4g} remapped",
          own, *stage->instructions_remapped);
    }
  }

  static double InstructionsOf(const ExactCounts& counts) {
    return static_cast<double>(counts.instructions - counts.openmp_instructions);
  }

  // Absent if the count is not complete.
  std::optional<ExactCounts> CountOnce(std::size_t i) const {
    const Action& run = StageAt(i);
    const ExactCounts counts = ExactCounter::Count(run.function, run.context);
    return counts.complete ? std::optional(counts) : std::nullopt;
  }

  void Round(bool last_level, MemoryExperiment* result) {
    memory_.ResetContents();  // a stage that is repeated may train: its weights would diverge
    if (sequence_seconds_ < kLongSequence) RunSequence();  // its own pages were mapped anew
    const std::vector<Timed> in_network = TimeSequence();
    if (subject_.before_iteration) subject_.before_iteration();
    for (std::size_t i = 0; i < subject_.stages.size() && !Cancelled(); ++i) {
      StageMemory& stage = result->stages[i];
      if (!stage.reason.empty() || BudgetIsSpent()) {
        StageAt(i)();
        continue;
      }
      const Timed second_level = TimeOn(kSecondLevel, i, &stage);
      std::optional<Timed> last, hot;
      if (last_level && footprints_.size() > kLastLevel) last = TimeOn(kLastLevel, i, &stage);
      memory_.MapOwn(touched_[i]);
      if (NeedsHot(stage, in_network[i].all)) {
        hot = Repeated(i);
      } else {
        StageAt(i)();  // the later stages read its results
      }
      stage.rounds.push_back(RoundOf(in_network[i], second_level, last, hot));
    }
  }

  // Undisturbed times if all parts have them. A disturbed time beside an undisturbed one would
  // differ by the disturbance.
  static MemoryRound RoundOf(const Timed& in_network, const Timed& second_level,
                             const std::optional<Timed>& last, const std::optional<Timed>& hot) {
    const auto lost = [](const std::optional<Timed>& part) { return part ? part->lost : 0; };
    MemoryRound round;
    round.waited = std::max({in_network.lost, second_level.lost, lost(last), lost(hot)});
    const auto seconds = [&](const Timed& part) {
      return round.waited <= kMaxWaitedOfSample ? part.undisturbed : part.all;
    };
    round.in_network = seconds(in_network);
    round.second_level = seconds(second_level);
    if (last) round.last_level = seconds(*last);
    if (hot) round.hot = seconds(*hot);
    return round;
  }

  bool NeedsHot(const StageMemory& stage, double seconds) const {
    return options_.regime == MemoryRegime::kHot || !stage.code_bytes ||
           ColdCodeSeconds(*stage.code_bytes, kLeastHertz) > kColdCode * seconds;
  }

  Timed TimeOn(std::size_t footprint, std::size_t i, StageMemory* stage) {
    memory_.MapFootprint(footprint, touched_[i]);
    const Timed timed = Repeated(i);
    if (subject_.f32 && stage->reason.empty() && HasAbnormal(memory_.Written(footprint))) {
      stage->reason = "its values do not stay finite and normal on remapped memory";
    }
    return timed;
  }

  // The repetitions, after one that is not timed. Each is watched, unless a reading takes long
  // beside it; then an interruption does not change the median of many. Disturbed ones are
  // repeated.
  Timed Repeated(std::size_t i) {
    constexpr std::size_t kPatienceOfRepeats = 3;
    StageAt(i)();
    const bool watches = repeats_[i] * watch_.cost_seconds() < kMostWatching * kRepeatSeconds;
    const auto wanted = static_cast<std::size_t>(repeats_[i]);
    std::vector<double> all, undisturbed;
    Timed timed{.lost = watches ? 1.0 : 0.0};
    while (undisturbed.size() < wanted && all.size() < kPatienceOfRepeats * wanted) {
      if (watches) watch_.Begin();
      all.push_back(TimeOnce(i));
      const double lost = watches ? watch_.End(all.back()) : 0;
      timed.lost = std::min(timed.lost, lost);
      if (lost <= kMaxWaitedOfSample) undisturbed.push_back(all.back());
    }
    timed.all = Median(all);
    timed.undisturbed = undisturbed.empty() ? timed.all : Median(undisturbed);
    return timed;
  }

  const MemorySubject& subject_;
  const MemoryExperimentOptions& options_;
  const std::vector<FootprintSize>& footprints_;
  RemappedMemory memory_;
  TickClock clock_;
  std::uint64_t start_ = clock_.now();
  double budget_end_ = 0;  // of the phase, in seconds since start_
  double sequence_seconds_ = 0;
  LossWatch watch_;
  std::vector<TouchedPages> touched_;
  std::vector<int> repeats_;
};

}  // namespace

std::vector<FootprintSize> FootprintsFor(const std::vector<Cache>& caches, int threads) {
  Topology topology;
  topology.caches = caches;
  const auto l2 = static_cast<std::size_t>(CacheSize(topology, 2));
  if (l2 == 0) return {};
  // L2 also holds page tables, code and what is not remapped. Several cores may share it.
  const auto sharing = static_cast<std::size_t>(std::max(ThreadsSharing(topology, 2, threads), 1));
  std::vector<FootprintSize> footprints = {{.shared = l2 * 2 / 5, .per_writer = l2 / 4 / sharing}};
  const int last = LastCacheLevel(topology);
  if (last < 3) return footprints;
  // Beyond L2, but a small part of a cache that other guests and cores use as well.
  const auto size = static_cast<std::size_t>(CacheSize(topology, last));
  const FootprintSize beyond = {.shared = 4 * l2, .per_writer = 2 * l2};
  if (beyond.shared + beyond.per_writer * static_cast<std::size_t>(threads) <= size / 2) {
    footprints.push_back(beyond);
  }
  return footprints;
}

MemoryExperiment RunMemoryExperiment(const MemorySubject& subject, const std::vector<Cache>& caches,
                                     const MemoryExperimentOptions& options) {
  if (const std::string why = WhyNoRemapping(); !why.empty()) throw RemapError(why);
  const std::vector<FootprintSize> footprints = FootprintsFor(caches, subject.threads);
  if (footprints.empty()) throw RemapError("the size of the L2 cache is not known");
  return Experiment(subject, footprints, options).Run();
}

}  // namespace topdnn
