#include "harness/sharing/rounds.h"

#include <algorithm>
#include <numeric>

namespace topdnn {

namespace {

double SumOfIteration(const WindowSamples& window, std::size_t iteration) {
  const auto first =
      window.seconds.begin() + static_cast<std::ptrdiff_t>(iteration * window.stages);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(window.stages), 0.0);
}

std::vector<double> Iterations(const WindowSamples& window) {
  std::vector<double> seconds(window.iterations());
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = SumOfIteration(window, i);
  return seconds;
}

std::vector<double> TimesOfStage(const WindowSamples& window, std::size_t stage) {
  std::vector<double> seconds(window.iterations());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] = window.seconds[i * window.stages + stage];
  }
  return seconds;
}

std::optional<double> TimeOf(const std::vector<double>& seconds, WindowTime time) {
  if (seconds.empty()) return std::nullopt;
  if (time == WindowTime::kMedian) return Median(seconds);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

void Append(const std::vector<double>& more, std::vector<double>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

KindRounds RunRoundsOf(Group& group, const std::vector<WindowKind>& kinds,
                       const SharingRoundOptions& options, const WindowHooks& hooks) {
  using ByMember = std::vector<std::vector<WindowSamples>>;
  KindRounds rounds{.samples = std::vector<ByMember>(kinds.size(), ByMember(group.size())),
                    .cancelled = false};
  const double all = static_cast<double>(kinds.size()) * options.rounds;
  double done = 0;
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<std::vector<WindowSamples>> windows(kinds.size());
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::size_t turn = round % 2 == 0 ? k : kinds.size() - 1 - k;
      if (options.progress) options.progress(done++ / all);
      if (hooks.before) hooks.before(turn);
      auto samples =
          group.RunWindow(kinds[turn].active, options.window_seconds, kinds[turn].options);
      if (!samples) {
        rounds.cancelled = true;
        return rounds;
      }
      if (hooks.after) hooks.after(turn);
      windows[turn] = std::move(*samples);
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        rounds.samples[k][i].push_back(std::move(windows[k][i]));
      }
    }
  }
  return rounds;
}

SharingRounds RunSharingRounds(Group& group, const SharingRoundOptions& options,
                               const WindowHooks& hooks, const WindowOptions& window) {
  const std::size_t members = group.size();
  std::vector<WindowKind> kinds;
  for (std::size_t i = 0; i < members; ++i) {
    kinds.push_back({.active = std::vector<bool>(members, false), .options = window});
    kinds.back().active[i] = true;
  }
  kinds.push_back({.active = std::vector<bool>(members, true), .options = window});
  KindRounds all = RunRoundsOf(group, kinds, options, hooks);
  SharingRounds rounds{
      .solo = {}, .shared = std::move(all.samples[members]), .cancelled = all.cancelled};
  for (std::size_t i = 0; i < members; ++i) rounds.solo.push_back(std::move(all.samples[i][i]));
  return rounds;
}

std::vector<std::optional<double>> StageByRound(std::span<const WindowSamples> windows,
                                                std::size_t stage, WindowTime time) {
  std::vector<std::optional<double>> times;
  for (const WindowSamples& window : windows) {
    times.push_back(TimeOf(TimesOfStage(window, stage), time));
  }
  return times;
}

std::vector<std::optional<double>> IterationByRound(std::span<const WindowSamples> windows,
                                                    WindowTime time) {
  std::vector<std::optional<double>> times;
  for (const WindowSamples& window : windows) times.push_back(TimeOf(Iterations(window), time));
  return times;
}

std::optional<Summary> SummaryOfIterations(std::span<const WindowSamples> windows) {
  std::vector<double> all;
  for (const WindowSamples& window : windows) Append(Iterations(window), all);
  return SummaryIfAny(all);
}

std::optional<Summary> SummaryOfStage(std::span<const WindowSamples> windows, std::size_t stage) {
  std::vector<double> all;
  for (const WindowSamples& window : windows) Append(TimesOfStage(window, stage), all);
  return SummaryIfAny(all);
}

std::optional<Slowdown> SlowdownOf(std::span<const std::optional<double>> solo,
                                   std::span<const std::optional<double>> shared) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(solo.size(), shared.size()); ++round) {
    if (!solo[round] || !shared[round] || !(*solo[round] > 0)) continue;
    ratios.push_back(*shared[round] / *solo[round]);
  }
  const std::optional<Interval> interval = MedianInterval(ratios);
  if (!interval) return std::nullopt;
  return Slowdown{.median = Median(ratios), .ci95 = *interval};
}

SharingVerdict VerdictOf(const std::optional<Slowdown>& slowdown) {
  if (!slowdown) return SharingVerdict::kUnknown;
  if (slowdown->ci95.low > 1) return SharingVerdict::kSlower;
  return slowdown->ci95.high < 1 ? SharingVerdict::kFaster : SharingVerdict::kSame;
}

}  // namespace topdnn
