#include "harness/probes/ceiling_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

double AllowedSpread(const Ceiling& ceiling) {
  return IsShared(ceiling) ? kMaxSharedSpread : kMaxSpread;
}

std::string RateText(const Ceiling& ceiling, double rate) {
  Ceiling shown = ceiling;
  shown.value = rate;
  return ValueText(shown);
}

// Judges a rate on several threads by the rate `fewer` of fewer threads, which `who` names.
Verdict JudgeAgainstFewer(const Ceiling& ceiling, double fewer, const std::string& who) {
  if (*ceiling.value >= fewer) return {};
  const bool lost = *ceiling.value < kMinOfFewer * fewer;
  return {lost ? Status::kInvalid : Status::kDegraded,
          fmt::format("{} on {} threads is lower than {} on {}", ValueText(ceiling),
                      ceiling.threads, RateText(ceiling, fewer), who)};
}

Verdict JudgeSpread(const Ceiling& ceiling) {
  const double spread = ceiling.spread.value_or(0);
  if (spread <= AllowedSpread(ceiling)) return {};
  return {spread > kInvalidSpread ? Status::kInvalid : Status::kDegraded,
          fmt::format("the median window is {:.0f} % worse; up to {:.0f} % is usual", 100 * spread,
                      100 * AllowedSpread(ceiling))};
}

// Judges threads on separate cores by the rate of one thread alone.
Verdict JudgeAgainstOne(const Ceiling& ceiling, int cores) {
  if (ceiling.threads < 2 || !ceiling.alone || IsLatency(ceiling)) return {};
  Verdict verdict = JudgeAgainstFewer(ceiling, *ceiling.alone, "one thread");
  const int busy_cores = std::min(ceiling.threads, cores);
  const double gain = *ceiling.value / *ceiling.alone;
  if (verdict.status != Status::kOk || IsShared(ceiling) || gain >= kMinOfCores * busy_cores) {
    return verdict;
  }
  // A virtual machine may present two hyperthreads of one core as two cores. Then all windows are
  // equally slow, and the threads have their CPUs all the time.
  const bool steady =
      ceiling.spread.value_or(1) <= kMaxSpread / 2 && ceiling.on_cpu.value_or(0) > 0.99;
  if (steady) return {};
  return {Status::kDegraded,
          fmt::format("{} threads on {} cores reach only {:.2f} x one thread: other work, a power "
                      "limit, or cores that share their units",
                      ceiling.threads, busy_cores, gain)};
}

// The one of undisturbed windows, if only one is and it is not lower: other work does not raise a
// rate, so a higher one would contradict it. Null: none.
const Ceiling* OnlyUndisturbed(const Ceiling& a, const Ceiling& b) {
  if (a.undisturbed == b.undisturbed) return nullptr;
  const Ceiling& own = a.undisturbed ? a : b;
  const Ceiling& other = a.undisturbed ? b : a;
  const bool lower = RatioOfRates(own, other) < 1 - AllowedSpread(own);
  return lower || own.verdict.status == Status::kInvalid ? nullptr : &own;
}

}  // namespace

bool IsLatency(const Ceiling& ceiling) { return ceiling.unit == "s"; }

bool IsShared(const Ceiling& ceiling) {
  return ceiling.operands == "llc" || ceiling.operands == "dram";
}

double RatioOfRates(const Ceiling& a, const Ceiling& b) {
  return IsLatency(a) ? *b.value / *a.value : *a.value / *b.value;
}

void KeepUndisturbedWindows(std::vector<double>& windows, std::vector<double>& on_cpu) {
  if (windows.size() != on_cpu.size()) return;
  std::vector<double> kept, kept_on_cpu;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (on_cpu[i] < kMinOnCpu) continue;
    kept.push_back(windows[i]);
    kept_on_cpu.push_back(on_cpu[i]);
  }
  if (kept.size() < static_cast<std::size_t>(kMinWindows)) return;
  windows = std::move(kept);
  on_cpu = std::move(kept_on_cpu);
}

void SummarizeWindows(std::vector<double> windows, std::vector<double> on_cpu, Ceiling& ceiling) {
  KeepUndisturbedWindows(windows, on_cpu);
  std::sort(windows.begin(), windows.end());
  std::sort(on_cpu.begin(), on_cpu.end());
  const bool latency = IsLatency(ceiling);
  const double value = QuantileOfSorted(windows, latency ? 0.1 : 0.9);
  const double median = QuantileOfSorted(windows, 0.5);
  ceiling.value = value;
  ceiling.median = median;
  ceiling.spread = latency ? 1 - value / median : 1 - median / value;
  ceiling.on_cpu = on_cpu.empty() ? std::nullopt : std::optional(QuantileOfSorted(on_cpu, 0.9));
  ceiling.windows = static_cast<int>(windows.size());
}

Verdict JudgeCeiling(const Ceiling& ceiling, int cores) {
  if (!ceiling.value) return ceiling.verdict;
  const double on_cpu = ceiling.on_cpu.value_or(1);
  if (on_cpu < kMinOnCpu) {
    return {
        Status::kInvalid,
        fmt::format("the threads had a CPU for only {:.0f} % of the time even in the best windows",
                    100 * on_cpu)};
  }
  Verdict verdict = JudgeSpread(ceiling);
  if (ceiling.windows > 0 && ceiling.windows < kMinWindows) {
    Worsen(verdict, Status::kDegraded,
           fmt::format("only {} of {} windows: the machine was too busy for more", ceiling.windows,
                       kMinWindows));
  }
  const Verdict against_one = JudgeAgainstOne(ceiling, cores);
  Worsen(verdict, against_one.status, against_one.reason);
  return verdict;
}

Ceiling KeepBetter(const Ceiling& first, const Ceiling& again) {
  if (!first.value || !again.value) return first.value ? first : again;
  if (const Ceiling* own = OnlyUndisturbed(first, again)) return *own;
  const double ratio = RatioOfRates(first, again);
  if (first.verdict.status == again.verdict.status) return ratio >= 1 ? first : again;
  const bool first_is_better = first.verdict.status < again.verdict.status;
  Ceiling better = first_is_better ? first : again;
  const Ceiling& other = first_is_better ? again : first;
  if (RatioOfRates(other, better) > 1 + AllowedSpread(better)) {
    Worsen(better.verdict, Status::kDegraded,
           fmt::format("another batch of windows reached {}", ValueText(other)));
  }
  return better;
}

Ceiling Reconcile(const Ceiling& before, const Ceiling& after) {
  if (!before.value || !after.value) return before.value ? before : after;
  if (const Ceiling* own = OnlyUndisturbed(before, after)) return *own;
  const double ratio = RatioOfRates(before, after);
  Ceiling kept = ratio >= 1 ? before : after;
  const bool before_is_better = before.verdict.status <= after.verdict.status;
  kept.verdict = before_is_better ? before.verdict : after.verdict;
  const double worse = std::min(ratio, 1 / ratio);
  if (worse < 1 - AllowedSpread(before)) {
    Worsen(kept.verdict, Status::kDegraded,
           fmt::format("{} before the run and {} after it", ValueText(before), ValueText(after)));
  }
  return kept;
}

void JudgeWidths(std::vector<Ceiling>& ceilings) {
  for (Ceiling& ceiling : ceilings) {
    if (!ceiling.value || IsLatency(ceiling)) continue;
    for (const Ceiling& fewer : ceilings) {
      if (fewer.name != ceiling.name || fewer.threads >= ceiling.threads || !fewer.value) continue;
      const std::string who =
          fewer.threads == 1 ? "one thread" : fmt::format("{} threads", fewer.threads);
      const Verdict verdict = JudgeAgainstFewer(ceiling, *fewer.value, who);
      if (verdict.status > ceiling.verdict.status) {
        Worsen(ceiling.verdict, verdict.status, verdict.reason);
      }
    }
  }
}

std::string ValueText(const Ceiling& ceiling) {
  if (!ceiling.value) return "n/a";
  if (IsLatency(ceiling)) return fmt::format("{:.1f} ns", *ceiling.value * 1e9);
  return fmt::format("{:.1f} G{}", *ceiling.value / 1e9, ceiling.unit);
}

}  // namespace topdnn
