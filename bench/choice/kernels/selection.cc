#include "bench/choice/kernels/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "bench/choice/races/quiet_race.h"
#include "bench/choice/races/selection_cache.h"
#include "bench/command_line/interrupt.h"
#include "bench/workload/workload.h"
#include "harness/counters/clock.h"
#include "harness/measure/mark_overhead.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// The backend whose own choice is the default, if it has one.
constexpr std::string_view kDefault = "onednn";
constexpr double kRaceSeconds = 1.5;
constexpr int kMinRounds = 7;
constexpr int kMaxRounds = 31;
// A candidate is dropped if its best run is this much slower than the best of all: after some
// rounds, or after its first run if no disturbance could explain the factor and the time.
constexpr double kHopelessAtOnce = 3;
constexpr double kHopelessAtOnceSeconds = 0.02;
constexpr int kRoundsBeforeDropping = 2;
constexpr double kHopeless = 1.3;
// A sample lasts at least this long, so that the cost of a clock reading is negligible.
constexpr double kMinSampleSeconds = 2e-4;
// A user would not notice a smaller difference.
constexpr double kMinGain = 0.01;

// Candidates that are equal in these fields are the same kernel.
std::string SignatureOf(const Kernel& kernel) {
  std::string signature = kernel.implementation();
  for (const KernelOperand& operand : kernel.operands())
    signature += " " + operand.desc.layout.tag();
  return signature;
}

// A library's plain loops for layouts that it has no optimized code for ("ref:any"). A run takes up
// to a thousand times as long as another variant's: 47 s compared with 0.07 s.
bool IsPlainLoopsOfLibrary(const Kernel& kernel) {
  return kernel.implementation().rfind("ref", 0) == 0;
}

class Race {
 public:
  Race(std::span<KernelCase* const> cases, std::span<const std::string> names)
      : clock_(BestClock()) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      runners_.push_back({cases[i], 1, true});
      times_.push_back({names[i], {}});
    }
  }

  std::vector<CandidateTimes> Run(double seconds) {
    std::vector<double> once;
    for (Runner& runner : runners_) {
      once.push_back(Sample(runner));
      runner.repetitions = static_cast<int>(kMinSampleSeconds / std::max(once.back(), 1e-7)) + 1;
    }
    Drop(once, kHopelessAtOnce, kHopelessAtOnceSeconds);
    double elapsed = 0;
    for (int round = 0; round < kMaxRounds && !Interrupted(); ++round) {
      if (round >= kMinRounds && elapsed > seconds) break;
      for (std::size_t i = 0; i < runners_.size(); ++i) {
        // The order alternates, so that no candidate always follows the same other candidate.
        const std::size_t at = round % 2 == 0 ? i : runners_.size() - 1 - i;
        if (!runners_[at].in_race) continue;
        times_[at].seconds.push_back(Sample(runners_[at]));
        elapsed += 2 * times_[at].seconds.back() * runners_[at].repetitions;
      }
      if (round + 1 == kRoundsBeforeDropping) Drop(BestTimes(), kHopeless, 0);
    }
    return std::move(times_);
  }

 private:
  struct Runner {
    KernelCase* kernel;
    int repetitions;
    bool in_race;
  };

  // Seconds per run. The first run is not timed: it refills the caches that other candidates
  // emptied, and meanwhile the workers of other thread pools go to sleep.
  double Sample(const Runner& runner) const {
    for (int i = 0; i < runner.repetitions; ++i) runner.kernel->Run();
    const std::uint64_t start = clock_.now();
    for (int i = 0; i < runner.repetitions; ++i) runner.kernel->Run();
    const std::uint64_t end = clock_.now();
    return static_cast<double>(end - start) * clock_.seconds_per_tick / runner.repetitions;
  }

  // The least time of each candidate so far, including those that were dropped.
  std::vector<double> BestTimes() const {
    std::vector<double> best;
    for (const CandidateTimes& times : times_) {
      best.push_back(times.seconds.empty()
                         ? std::numeric_limits<double>::infinity()
                         : *std::min_element(times.seconds.begin(), times.seconds.end()));
    }
    return best;
  }

  // The default is never dropped, since the others are compared with it.
  void Drop(const std::vector<double>& best, double factor, double seconds) {
    const double fastest = *std::min_element(best.begin(), best.end());
    for (std::size_t i = 1; i < runners_.size(); ++i) {
      if (best[i] > factor * fastest + seconds) runners_[i].in_race = false;
    }
  }

  TickClock clock_;
  std::vector<Runner> runners_;
  std::vector<CandidateTimes> times_;
};

SelectedVariant ByMeasurement(const KernelProblem& problem, int threads, bool& disturbed) {
  SelectedVariant selected;
  std::vector<Candidate> candidates = MakeCandidates(problem, threads);
  if (candidates.empty()) {
    selected.reason = "no backend has a kernel that agrees with the reference";
    return selected;
  }
  std::vector<KernelCase*> cases;
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    cases.push_back(candidate.kernel.get());
    names.push_back(candidate.variant.name);
  }
  QuietRace quiet(threads);
  const std::vector<CandidateTimes> times = RaceCandidates(cases, names, kRaceSeconds);
  disturbed = quiet.Disturbed();
  const Choice choice = ChooseCandidate(times);
  selected.variant = candidates[choice.index].variant;
  selected.error = candidates[choice.index].check.error;
  selected.gain = choice.gain;
  if (candidates.size() > 1) selected.against = candidates.front().variant.name;
  return selected;
}

}  // namespace

bool IsSelectable(const Op& op) {
  return op.Traits().layout_policy == LayoutPolicy::kChooses || op.kind() == "gemm";
}

std::string SelectedVariant::Describe() const {
  if (!variant) return "auto: " + reason;
  std::string text = "auto: " + variant->name;
  if (against == variant->name) {
    text += ", as none is faster";
  } else if (!against.empty()) {
    text += fmt::format(", {:.2f} x {}", gain, against);
  }
  if (!variant->algorithm.empty()) text += fmt::format(", error {:.1e}", error);
  if (remembered) text += ", remembered";
  return text;
}

Choice ChooseCandidate(std::span<const CandidateTimes> candidates) {
  Choice choice;
  double best = 1 - kMinGain;
  const std::vector<double>& incumbent = candidates.front().seconds;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const std::size_t rounds = std::min(candidates[i].seconds.size(), incumbent.size());
    if (rounds < static_cast<std::size_t>(kMinRounds)) continue;
    const MarkOverhead ratio =
        OverheadOf({candidates[i].seconds.data(), rounds}, {incumbent.data(), rounds});
    if (!ratio.interval || ratio.interval->high >= 0 || 1 + ratio.ratio >= best) continue;
    best = 1 + ratio.ratio;
    choice = {i, 1 / best};
  }
  return choice;
}

std::vector<CandidateTimes> RaceCandidates(std::span<KernelCase* const> cases,
                                           std::span<const std::string> names, double seconds) {
  const ThreadWidth width(cases.front()->threads());
  return Race(cases, names).Run(seconds);
}

std::vector<Candidate> MakeCandidates(const KernelProblem& problem, int threads) {
  std::vector<Variant> variants = Variants();
  std::stable_partition(variants.begin(), variants.end(),
                        [](const Variant& variant) { return variant.name == kDefault; });
  std::vector<Candidate> candidates;
  std::optional<Candidate> last_resort;
  std::set<std::string> known;
  const std::size_t needed = KernelProblem::BytesNeeded(*problem.op(), problem.execution());
  const std::size_t limit = MemoryLimit();  // 0: not known
  for (const Variant& variant : variants) {
    if (variant.backend == "reference") continue;
    // The first is certain to fit; others may not.
    if (!candidates.empty() && limit != 0 && needed > limit) break;
    if (!RequestOf(variant, problem.op(), problem.execution(), threads)) continue;
    auto made = KernelCase::Make(variant, problem, threads);
    if (std::holds_alternative<Refusal>(made)) continue;
    auto& kernel = std::get<std::unique_ptr<KernelCase>>(made);
    if (!known.insert(SignatureOf(kernel->kernel())).second) continue;
    if (IsPlainLoopsOfLibrary(kernel->kernel())) {
      if (!last_resort) last_resort = Candidate{variant, std::move(kernel), {}};
      continue;
    }
    const CaseCheck check = kernel->Check(problem);
    if (!check.agrees) continue;
    candidates.push_back({variant, std::move(kernel), check});
  }
  if (!candidates.empty() || !last_resort) return candidates;
  last_resort->check = last_resort->kernel->Check(problem);
  if (last_resort->check.agrees) candidates.push_back(*std::move(last_resort));
  return candidates;
}

SelectedVariant SelectVariant(const KernelProblem& problem, int threads) {
  const SelectionKey key = SelectionKey::Of(*problem.op(), problem.execution(), threads);
  SelectionCache& cache = SelectionCache::OfUser();
  if (const auto found = cache.Find(key)) {
    SelectedVariant selected;
    selected.variant = FindVariant(found->variant);
    selected.against = found->against;
    selected.gain = found->gain;
    selected.error = found->error;
    selected.remembered = true;
    // If the variant no longer exists, another one is chosen.
    if (selected.variant) return selected;
  }
  bool disturbed = false;
  SelectedVariant selected = ByMeasurement(problem, threads, disturbed);
  if (selected.variant && !disturbed && !Interrupted()) {
    cache.Add(key, {selected.variant->name, selected.against, selected.gain, selected.error});
  }
  return selected;
}

AutoVariant SelectingAuto() {
  return {.applies = IsSelectable, .choose = [](const KernelProblem& problem, int threads) {
            const SelectedVariant selected = SelectVariant(problem, threads);
            return AutoVariant::Chosen{selected.variant, selected.reason, selected.Describe()};
          }};
}

}  // namespace topdnn
