#include "bench/ranks/allreduce_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/statistics/relative_fit.h"

namespace topdnn {

namespace {

// What an algorithm does in sequence: messages, which pay the latency once each, and bytes sent, as
// a multiple of the buffer's bytes.
struct Terms {
  double messages = 0;
  double buffers = 0;
};

Terms TermsOf(AllreduceAlgorithm algorithm, int ranks) {
  const double p = ranks;
  // Rounds of halving or doubling, rounded up.
  const double rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
  switch (algorithm) {
    case AllreduceAlgorithm::kRing:
      return {2 * (p - 1), 2 * (p - 1) / p};
    case AllreduceAlgorithm::kRecursiveDoubling:
      return {rounds, rounds};
    case AllreduceAlgorithm::kRabenseifner:
      return {2 * rounds, 2 * (p - 1) / p};
  }
  return {};
}

double ResidualOf(const AllreduceModel& model, std::span<const AllreducePoint> points) {
  double sum = 0;
  for (const AllreducePoint& point : points) {
    const double error = model.SecondsOf(point.ranks, point.bytes) / point.seconds - 1;
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

AllreduceModel Fit(AllreduceAlgorithm algorithm, std::span<const AllreducePoint> points) {
  std::vector<RelativeTerms> rows;
  for (const AllreducePoint& point : points) {
    const Terms terms = TermsOf(algorithm, point.ranks);
    rows.push_back({terms.messages / point.seconds,
                    terms.buffers * static_cast<double>(point.bytes) / point.seconds});
  }
  const RelativeFit fit = FitRelative(rows);
  AllreduceModel model{algorithm, fit.x, fit.y, 0};
  model.residual = ResidualOf(model, points);
  return model;
}

}  // namespace

std::string_view NameOf(AllreduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllreduceAlgorithm::kRing:
      return "ring";
    case AllreduceAlgorithm::kRecursiveDoubling:
      return "recursive doubling";
    case AllreduceAlgorithm::kRabenseifner:
      return "Rabenseifner";
  }
  return "";
}

double AllreduceModel::SecondsOf(int ranks, std::int64_t bytes) const {
  if (ranks < 2) return 0;
  const Terms terms = TermsOf(algorithm, ranks);
  return terms.messages * latency + terms.buffers * static_cast<double>(bytes) * seconds_per_byte;
}

std::vector<AllreduceModel> FitAllreduce(std::span<const AllreducePoint> points) {
  std::vector<AllreduceModel> models;
  for (const AllreduceAlgorithm algorithm : kAllreduceAlgorithms) {
    models.push_back(Fit(algorithm, points));
  }
  std::stable_sort(models.begin(), models.end(),
                   [](const auto& a, const auto& b) { return a.residual < b.residual; });
  return models;
}

double ExposedSeconds(std::span<const ReadyBucket> buckets, double compute,
                      const AllreduceModel& model, int ranks) {
  double end = 0;
  for (const ReadyBucket& bucket : buckets) {
    end = std::max(end, bucket.ready) + model.SecondsOf(ranks, bucket.bytes);
  }
  return std::max(end - compute, 0.0);
}

double ExpectedLongest(std::span<const double> samples, int ranks) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  // The k-th smallest of n is the longest with the probability (k/n)^ranks - ((k-1)/n)^ranks.
  const auto n = static_cast<double>(sorted.size());
  double expected = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const auto at = static_cast<double>(k);
    expected += sorted[k] * (std::pow((at + 1) / n, ranks) - std::pow(at / n, ranks));
  }
  return expected;
}

}  // namespace topdnn
