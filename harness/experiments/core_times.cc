#include "harness/experiments/core_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

// Two calls that wait for each other's threads differ in their instructions; a redirected one may
// differ by this many times as much.
constexpr double kNaturalFactor = 3;
// The path of an allocation differs by some hundred instructions from call to call.
constexpr double kFewInstructions = 250;

double Clamp(double share) { return std::clamp(share, 0.0, 1.0); }

// Seconds without what translation adds.
struct Times {
  std::vector<double> native, translated, work, redirected, delivered;
};

// What the judgement needs.
struct Judged {
  Times times;
  double to_native = 0;                            // T/N
  std::optional<Interval> ratio, off, redirected;  // R/T, T/N, R
  std::optional<double> delivered;                 // at most
};

// Others only lengthen a time, that of delivery by up to 1.8 where a core is shared. The least one
// may be wrong, if the clock was read late.
std::optional<double> SecondLeast(std::vector<double> seconds) {
  if (seconds.size() < 2) return std::nullopt;
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

// Ratios are taken within a round.
Judged OfRounds(std::span<const CoreRound> rounds, const TranslationCost& cost) {
  Judged judged;
  Times& times = judged.times;
  std::vector<double> to_native, to_work;
  for (const CoreRound& round : rounds) {
    const double translated = round.translated - cost.whole;
    const double work = round.translated_work - cost.work;
    const double redirected = round.redirected_work - cost.work;
    const double delivered = round.delivered_work - cost.work;
    if (!(round.native > 0 && translated > 0 && work > 0 && redirected > 0)) continue;
    times.native.push_back(round.native);
    times.translated.push_back(translated);
    times.work.push_back(work);
    times.redirected.push_back(redirected);
    if (delivered > 0) times.delivered.push_back(delivered);
    to_native.push_back(translated / round.native);
    to_work.push_back(redirected / work);
  }
  if (!to_native.empty()) judged.to_native = Median(to_native);
  judged.ratio = MedianInterval(to_work);
  judged.off = MedianInterval(to_native);
  judged.redirected = MedianInterval(times.redirected);
  judged.delivered = SecondLeast(times.delivered);
  return judged;
}

std::vector<double> Without(double cost, std::vector<double> seconds) {
  for (double& one : seconds) one -= cost;
  return seconds;
}

Interval RatioOf(const Interval& a, const Interval& b) { return {a.low / b.high, a.high / b.low}; }

// Absent if a time has too few samples, or none without what translation adds.
std::optional<Judged> OfSamples(const CoreSamples& samples, const TranslationCost& cost) {
  Judged judged;
  Times& times = judged.times;
  times = {.native = samples.native,
           .translated = Without(cost.whole, samples.translated),
           .work = Without(cost.work, samples.translated_work),
           .redirected = Without(cost.work, samples.redirected_work),
           .delivered = Without(cost.work, samples.delivered_work)};
  const std::optional<Interval> native = MedianInterval(times.native);
  const std::optional<Interval> translated = MedianInterval(times.translated);
  const std::optional<Interval> work = MedianInterval(times.work);
  judged.redirected = MedianInterval(times.redirected);
  for (const auto& of : {native, translated, work, judged.redirected}) {
    if (!of || !(of->low > 0)) return std::nullopt;
  }
  judged.ratio = RatioOf(*judged.redirected, *work);
  judged.off = RatioOf(*translated, *native);
  judged.to_native = Median(times.translated) / Median(times.native);
  judged.delivered = SecondLeast(times.delivered);
  return judged;
}

bool SameInstructions(const CoreCounts& counts, double instructions) {
  const double allowed =
      std::max({kSameCoreInstructions * counts.instructions, kFewInstructions,
                kNaturalFactor * std::abs(counts.instructions_again - counts.instructions)});
  return std::abs(instructions - counts.instructions) <= allowed;
}

}  // namespace

std::optional<Interval> WaitingShare(std::span<const CoreRound> rounds,
                                     const TranslationCost& teams) {
  constexpr double kError = 0.01;
  std::vector<double> shares, doubts;
  for (const CoreRound& round : rounds) {
    const double whole = round.translated - teams.whole;
    if (!(whole > 0)) continue;
    shares.push_back((round.idle - teams.whole) / whole);
    // (what following a team costs is measured with an empty one)
    doubts.push_back(kError + teams.whole / 2 / whole);
  }
  const std::optional<Interval> share = MedianInterval(shares);
  if (!share) return std::nullopt;
  const double doubt = Median(doubts);
  return Interval{Clamp(share->low - doubt), Clamp(share->high + doubt)};
}

std::string WhyNotTheSameWork(const CoreCounts& counts) {
  if (!SameInstructions(counts, counts.instructions_redirected)) {
    return fmt::format(
        "its values decide what it executes: {:.6g} instructions on its data, {:.6g} on lines in "
        "L1",
        counts.instructions, counts.instructions_redirected);
  }
  const double bytes = counts.redirected_bytes + counts.kept_bytes;
  if (!(bytes > 0)) return "no vector instruction reads or writes its data";
  const double kept = counts.kept_bytes / bytes;
  if (kept > kMostKept) {
    return fmt::format(
        "{:.0f} % of the bytes of its data are moved by instructions that cannot be redirected "
        "(integers, gathers, tiles, strings)",
        kept * 100);
  }
  return "";
}

CoreJudgement JudgeCore(std::span<const CoreRound> rounds, const CoreCounts& counts,
                        const TranslationCost& cost, double hertz, const CoreSamples& undisturbed) {
  if (std::string why = WhyNotTheSameWork(counts); !why.empty()) return {{}, std::move(why)};
  const Judged of_rounds = OfRounds(rounds, cost);
  const Judged judged = OfSamples(undisturbed, cost).value_or(of_rounds);
  const Times& times = judged.times;
  const std::optional<Interval>& ratio = judged.ratio;
  const std::optional<Interval>& seconds = judged.redirected;
  if (!ratio || !seconds) {
    return {{},
            times.work.empty() && !rounds.empty()
                ? "too short: it takes no longer than following its threads does"
                : fmt::format("too few rounds for an interval: {}", times.work.size())};
  }
  if (judged.off->low > 1 + kMostOffNative || judged.off->high < 1 - kMostOffNative) {
    return {{},
            fmt::format("its translated code takes {:.2f} x as long as its own", judged.to_native)};
  }
  if (ratio->low > 1 + kCoreShareError) {
    return {{},
            fmt::format("it takes {:.2f} to {:.2f} x as long with its data in L1", ratio->low,
                        ratio->high)};
  }
  // An access that crosses lines takes a load port, or a store port, once more.
  const double crossings = hertz > 0 ? counts.crossings_added / hertz : 0;
  const double error = kCoreShareError + std::abs(crossings) / Median(times.work);
  CoreResult result;
  result.beyond_l1 = {Clamp(1 - ratio->high - error), Clamp(1 - ratio->low + error)};
  // The native code may take as much less or more than the translated one.
  const double least = std::clamp(1 / judged.to_native, 1 / (1 + kMostOffNative), 1.0);
  const double most = std::clamp(1 / judged.to_native, 1.0, 1 / (1 - kMostOffNative));
  result.core_seconds = {seconds->low * least - std::max(0.0, crossings),
                         seconds->high * most - std::min(0.0, crossings)};
  result.core_seconds.low = std::max(0.0, result.core_seconds.low);
  const std::optional<double> delivered = judged.delivered ? judged.delivered : of_rounds.delivered;
  if (delivered && SameInstructions(counts, counts.instructions_delivered)) {
    result.delivery_seconds = *delivered * most;
  }
  result.native_seconds = Median(times.native);
  result.translated_seconds = Median(times.work);
  result.redirected_seconds = Median(times.redirected);
  result.waiting_seconds = std::max(0.0, Median(times.translated) - Median(times.work));
  return {result, ""};
}

}  // namespace topdnn
