#include "harness/results/fed_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "harness/statistics/distributions.h"

namespace topdnn {

namespace {

constexpr std::size_t kLeastBlocks = 3;
constexpr std::size_t kMostBlocks = 10;
constexpr double kOutside = 0.05;  // of the interval

double Mean(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

StepPart PartOf(const std::vector<double>& samples) {
  return {.mean = Mean(samples), .ci95 = MeanInterval(samples), .seconds = Summarize(samples)};
}

}  // namespace

std::optional<Interval> MeanInterval(std::span<const double> samples) {
  const std::size_t blocks = std::min(samples.size() / 2, kMostBlocks);
  if (blocks < kLeastBlocks) return std::nullopt;
  std::vector<double> means;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = samples.size() * block / blocks;
    const std::size_t end = samples.size() * (block + 1) / blocks;
    means.push_back(Mean(samples.subspan(begin, end - begin)));
  }
  const double centre = Mean(means);
  double squares = 0;
  for (const double mean : means) squares += (mean - centre) * (mean - centre);
  const auto count = static_cast<double>(blocks);
  const double half = StudentQuantile(kOutside, static_cast<int>(blocks) - 1) *
                      std::sqrt(squares / (count - 1) / count);
  // Around the mean of all samples, which the blocks' mean approaches.
  const double mean = Mean(samples);
  return Interval{mean - half, mean + half};
}

void Summarize(FedStep& step) {
  std::vector<double> whole, compute, input_wait, other;
  for (const FedStepTimes& one : step.times) {
    whole.push_back(one.input_wait + one.compute + one.other);
    compute.push_back(one.compute);
    input_wait.push_back(one.input_wait);
    other.push_back(one.other);
  }
  step.step = PartOf(whole);
  step.compute = PartOf(compute);
  step.input_wait = PartOf(input_wait);
  step.other = PartOf(other);
}

}  // namespace topdnn
