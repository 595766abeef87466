#include "harness/measure/undisturbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

constexpr std::array<std::string_view, kDisturbers> kDisturberNames = {
    "waited for a CPU",
    "were interrupted by other programs",
    "lost time to the hypervisor",
    "were stopped by a CPU quota",
    "ran while arithmetic was slow",
    "ran while memory was slow"};

// The lower of two rates as a share of the best; absent if neither rate or no best is known.
std::optional<double> LowerShare(const std::optional<double>& a, const std::optional<double>& b,
                                 const std::optional<double>& best) {
  if ((!a && !b) || !best || !(*best > 0)) return std::nullopt;
  return std::min(std::min(a.value_or(*best), b.value_or(*best)) / *best, 1.0);
}

// That of the cores: of arithmetic and of issuing instructions.
std::optional<double> LowerCoreShare(const QuietReading& a, const QuietReading& b,
                                     const QuietReading& best) {
  const auto flops = LowerShare(a.flops_per_second, b.flops_per_second, best.flops_per_second);
  const auto issue = LowerShare(a.instructions_per_second, b.instructions_per_second,
                                best.instructions_per_second);
  return flops && issue ? std::min(flops, issue) : flops ? flops : issue;
}

std::optional<double> UpperQuartile(std::span<const SpanMark> marks,
                                    std::optional<double> QuietReading::*rate) {
  std::vector<double> rates;
  for (const SpanMark& mark : marks) {
    if (mark.speed.*rate) rates.push_back(*(mark.speed.*rate));
  }
  if (rates.empty()) return std::nullopt;
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() * 3 / 4];
}

// The speeds that a quarter of the readings reach. Brief readings scatter, and the highest of a
// hundred is far above what the machine keeps up, so that every other one would look slow.
QuietReading HighSpeeds(std::span<const SpanMark> marks) {
  return {UpperQuartile(marks, &QuietReading::flops_per_second),
          UpperQuartile(marks, &QuietReading::bytes_per_second),
          UpperQuartile(marks, &QuietReading::instructions_per_second)};
}

// Calls `visit(begin, end, first, last)` for the samples between each mark and the next.
template <class Visit>
void ForEachSpan(std::span<const SpanMark> marks, std::size_t samples, const Visit& visit) {
  for (std::size_t m = 0; m + 1 < marks.size(); ++m) {
    const auto first = static_cast<std::size_t>(marks[m].iteration);
    const auto last = std::min(static_cast<std::size_t>(marks[m + 1].iteration), samples);
    if (first < last) visit(marks[m], marks[m + 1], first, last);
  }
}

bool KnowsPace(const SampleFacts& facts) {
  return facts.full_pace > 0 && facts.pace.size() == facts.samples;
}

using Verdicts = std::vector<std::optional<Disturber>>;

// The samples' own accounts, then those of the time between two marks.
// `full_pace`: see SampleFacts.
Verdicts JudgeEach(const SampleFacts& facts, bool by_speed, bool by_memory, double full_pace) {
  Verdicts verdicts(facts.samples);
  const bool knows_waiting = facts.waited.size() == facts.samples;
  for (std::size_t i = 0; i < facts.samples; ++i) {
    if (knows_waiting) {
      if (facts.waited[i] > kMaxWaitedOfSample) verdicts[i] = Disturber::kWaited;
    } else if (i < facts.switches.size() && facts.switches[i] > 0) {
      verdicts[i] = Disturber::kInterrupted;
    }
  }
  const bool knows_pace = KnowsPace(facts);
  for (std::size_t i = 0; by_speed && knows_pace && i < facts.samples; ++i) {
    const bool slow = facts.pace[i] < kMinPace * full_pace;
    if (slow && !verdicts[i]) verdicts[i] = Disturber::kSlowArithmetic;
  }
  const QuietReading best = HighSpeeds(facts.marks);
  ForEachSpan(
      facts.marks, facts.samples,
      [&](const SpanMark& begin, const SpanMark& end, std::size_t first, std::size_t last) {
        std::optional<Disturber> seen;
        const auto below = [](const std::optional<double>& share, double least) {
          return share && *share < least;
        };
        if (end.stolen > kMaxStolenOfSpan) {
          seen = Disturber::kStolen;
        } else if (end.throttled > kMaxThrottledOfSpan) {
          seen = Disturber::kThrottled;
        } else if (by_speed && !knows_pace &&
                   below(LowerCoreShare(begin.speed, end.speed, best), kMinArithmetic)) {
          seen = Disturber::kSlowArithmetic;
        } else if (by_memory && below(LowerShare(begin.speed.bytes_per_second,
                                                 end.speed.bytes_per_second, best.bytes_per_second),
                                      1 - kMemoryNoise)) {
          seen = Disturber::kSlowMemory;
        }
        for (std::size_t i = first; seen && i < last; ++i) {
          if (!verdicts[i]) verdicts[i] = seen;
        }
      });
  return verdicts;
}

Selection SelectionOf(const Verdicts& verdicts) {
  Selection selection{.kept = {}, .left_out = {}};
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i]) {
      ++selection.left_out.at(static_cast<std::size_t>(*verdicts[i]));
    } else {
      selection.kept.push_back(i);
    }
  }
  selection.undisturbed = selection.kept.size();
  selection.enough = AreEnough(selection.undisturbed, verdicts.size());
  return selection;
}

// The indices of the `keep` samples of least cost, ascending.
template <class Cost>
std::vector<std::size_t> IndicesOfLeast(std::size_t keep, std::size_t samples, const Cost& cost) {
  std::vector<std::size_t> order(samples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  order.resize(std::min(keep, samples));
  std::sort(order.begin(), order.end());
  return order;
}

// Keeps the samples whose threads waited for the least share of their time.
void KeepLeastDisturbed(const SampleFacts& facts, const Verdicts& verdicts, Selection& selection) {
  const auto tenth =
      static_cast<std::size_t>(std::ceil(kEnoughShare * static_cast<double>(facts.samples)));
  const std::size_t keep = std::min(facts.samples, std::max(kLeastSamples, tenth));
  const auto cost = [&](std::size_t i) {
    return i < facts.waited.size()
               ? facts.waited[i]
               : static_cast<double>(i < facts.switches.size() ? facts.switches[i] : 0);
  };
  selection.kept = IndicesOfLeast(keep, facts.samples, cost);
  for (const std::size_t i : selection.kept) {
    if (verdicts[i]) --selection.left_out.at(static_cast<std::size_t>(*verdicts[i]));
  }
}

Selection Select(const SampleFacts& facts, bool by_memory) {
  const double best = std::max(facts.best_pace, facts.full_pace);
  Selection selection = SelectionOf(JudgeEach(facts, true, by_memory, best));
  if (!selection.enough && best > facts.full_pace) {
    selection = SelectionOf(JudgeEach(facts, true, by_memory, facts.full_pace));
  }
  selection.by_memory = by_memory;
  return selection;
}

// The median, or the lower quartile if slow ones were not left out: of a mixture, the median may be
// one of the fast ones, while the median time is longer.
std::optional<double> MiddleOf(std::vector<double> speeds, bool without_slow) {
  if (speeds.empty()) return std::nullopt;
  std::sort(speeds.begin(), speeds.end());
  return QuantileOfSorted(speeds, without_slow ? 0.5 : 0.25);
}

}  // namespace

std::string_view NameOf(Disturber disturber) {
  return kDisturberNames.at(static_cast<std::size_t>(disturber));
}

bool AreEnough(std::size_t kept, std::size_t samples) {
  if (kept >= kEnoughSamples || kept == samples) return true;
  return kept >= kLeastSamples &&
         static_cast<double>(kept) >= kEnoughShare * static_cast<double>(samples);
}

std::int64_t Selection::LeftOut() const {
  return std::accumulate(left_out.begin(), left_out.end(), std::int64_t{0});
}

Selection SelectBySpeed(const SampleFacts& facts) { return Select(facts, true); }

Selection SelectUndisturbed(const SampleFacts& facts) {
  for (const bool by_memory : {true, false}) {
    Selection strict = Select(facts, by_memory);
    if (strict.enough) return strict;
  }
  const Verdicts verdicts = JudgeEach(facts, false, false, facts.full_pace);
  Selection selection = SelectionOf(verdicts);
  selection.by_speed = selection.by_memory = false;
  if (selection.kept.empty()) KeepLeastDisturbed(facts, verdicts, selection);
  return selection;
}

std::vector<std::size_t> SelectRounds(std::span<const double> waited) {
  const auto undisturbed = static_cast<std::size_t>(std::count_if(
      waited.begin(), waited.end(), [](double share) { return share <= kMaxWaitedOfSample; }));
  return IndicesOfLeast(std::max(undisturbed, kLeastSamples), waited.size(),
                        [&](std::size_t i) { return waited[i]; });
}

bool NeedMoreRounds(std::span<const StageRounds> stages) {
  constexpr double kFew = 0.05;
  double total = 0;
  double few = 0;
  for (const StageRounds& stage : stages) {
    total += stage.seconds;
    if (stage.undisturbed < kLeastSamples) few += stage.seconds;
  }
  return few > kFew * total;
}

Speeds SpeedsOf(const Selection& selection, const SampleFacts& facts, const QuietReading& best) {
  const QuietReading known = Best(best, HighSpeeds(facts.marks));
  Speeds shares;
  const std::size_t samples = selection.kept.empty() ? 0 : selection.kept.back() + 1;
  const bool knows_pace = KnowsPace(facts);
  shares.by_pace = knows_pace;
  if (knows_pace) {
    const double full = std::max(facts.full_pace, best.instructions_per_second.value_or(0));
    const auto pace = MiddleOf(ValuesAt(facts.pace, selection.kept), selection.by_speed);
    if (pace) shares.arithmetic = std::min(1.0, *pace / full);
  }
  std::vector<double> memory;  // by kept sample
  ForEachSpan(facts.marks, samples,
              [&](const SpanMark& begin, const SpanMark& end, std::size_t first, std::size_t last) {
                const auto from =
                    std::lower_bound(selection.kept.begin(), selection.kept.end(), first);
                const auto to = std::lower_bound(from, selection.kept.end(), last);
                if (from == to) return;
                const auto cores = LowerCoreShare(begin.speed, end.speed, known);
                if (!knows_pace && cores) {
                  shares.arithmetic = std::min(shares.arithmetic.value_or(1.0), *cores);
                }
                const auto share = LowerShare(begin.speed.bytes_per_second,
                                              end.speed.bytes_per_second, known.bytes_per_second);
                if (share) memory.insert(memory.end(), static_cast<std::size_t>(to - from), *share);
              });
  shares.memory = MiddleOf(std::move(memory), selection.by_memory);
  return shares;
}

std::vector<double> ValuesAt(std::span<const double> values, std::span<const std::size_t> indices) {
  std::vector<double> at;
  at.reserve(indices.size());
  for (const std::size_t i : indices) at.push_back(values[i]);
  return at;
}

std::map<std::string, std::int64_t> ReasonsOf(const Selection& selection) {
  std::map<std::string, std::int64_t> reasons;
  for (std::size_t d = 0; d < kDisturbers; ++d) {
    if (selection.left_out[d] > 0) reasons[std::string(kDisturberNames[d])] = selection.left_out[d];
  }
  return reasons;
}

std::string WhyTooFew(const Selection& selection) {
  if (selection.enough) return "";
  const std::size_t samples = selection.kept.size() + static_cast<std::size_t>(selection.LeftOut());
  std::string reasons;
  for (std::size_t d = 0; d < kDisturbers; ++d) {
    if (selection.left_out[d] == 0) continue;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", selection.left_out[d],
                           kDisturberNames[d]);
  }
  if (selection.undisturbed > 0) {
    return fmt::format("only {} of {} samples are undisturbed; of the others {}",
                       selection.undisturbed, samples, reasons);
  }
  return fmt::format(
      "no sample of {} is undisturbed, so its figures are those of the {} least "
      "disturbed{}{}",
      samples, selection.kept.size(), reasons.empty() ? "" : "; of the others ", reasons);
}

}  // namespace topdnn
