#include "harness/experiments/ratios.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "harness/statistics/summary.h"

namespace topdnn {

namespace {

bool ArePositive(std::span<const double> values, std::size_t count) {
  return values.size() == count &&
         std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

}  // namespace

std::optional<WidthResult> ScalingOf(std::span<const int> threads,
                                     std::span<const std::vector<double>> seconds) {
  if (threads.size() < 2 || threads.front() != 1 || seconds.size() != threads.size()) return {};
  if (threads.back() < 2) return {};
  const std::size_t rounds = seconds.front().size();
  WidthResult result;
  for (std::size_t w = 0; w < threads.size(); ++w) {
    if (rounds == 0 || !ArePositive(seconds[w], rounds)) return {};
    result.threads.push_back(threads[w]);
    result.seconds.push_back(Median(seconds[w]));
  }
  const double most = threads.back();
  std::vector<double> speedups, serial;
  for (std::size_t r = 0; r < rounds; ++r) {
    const double speedup = seconds.front()[r] / seconds.back()[r];
    speedups.push_back(speedup);
    serial.push_back(std::clamp((1 / speedup - 1 / most) / (1 - 1 / most), 0.0, 1.0));
  }
  const std::optional<Interval> speedup = MedianInterval(speedups);
  const std::optional<Interval> share = MedianInterval(serial);
  if (!speedup || !share) return {};
  result.speedup = *speedup;
  result.serial_share = *share;
  return result;
}

std::optional<Interval> FactorOf(std::span<const double> seconds, std::span<const double> others) {
  if (!ArePositive(seconds, others.size()) || !ArePositive(others, seconds.size())) return {};
  std::vector<double> factors;
  for (std::size_t r = 0; r < seconds.size(); ++r) factors.push_back(seconds[r] / others[r]);
  return MedianInterval(factors);
}

std::optional<BandwidthResult> SensitivityOf(const std::string& resource,
                                             std::span<const double> alone,
                                             std::span<const BesideReaders> beside) {
  if (beside.empty()) return {};
  std::vector<double> slowdowns, slopes, taken;
  for (std::size_t r = 0; r < alone.size(); ++r) {
    const bool counts =
        alone[r] > 0 && std::all_of(beside.begin(), beside.end(), [r](auto& level) {
          return level.seconds.at(r) > 0 && level.taken.at(r) > 0 && std::isfinite(level.taken[r]);
        });
    if (!counts) continue;
    double products = 0;
    double squares = 0;
    for (const BesideReaders& level : beside) {
      products += level.taken[r] * (level.seconds[r] / alone[r] - 1);
      squares += level.taken[r] * level.taken[r];
    }
    slopes.push_back(products / squares);
    slowdowns.push_back(beside.back().seconds[r] / alone[r]);
    taken.push_back(beside.back().taken[r]);
  }
  const std::optional<Interval> slowdown = MedianInterval(slowdowns);
  const std::optional<Interval> slope = MedianInterval(slopes);
  if (!slowdown || !slope) return {};
  return BandwidthResult{
      .resource = resource, .taken = Median(taken), .slowdown = *slowdown, .slope = *slope};
}

}  // namespace topdnn
