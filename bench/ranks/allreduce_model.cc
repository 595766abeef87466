#include "bench/ranks/allreduce_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace topdnn {

namespace {

// How often an algorithm pays the latency, and how many times the buffer's bytes it sends one after
// the other.
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

// Minimises the sum of (a x + b y - 1)^2 over the rows (a, b); x, y >= 0.
AllreduceModel Fit(AllreduceAlgorithm algorithm, std::span<const AllreducePoint> points) {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const AllreducePoint& point : points) {
    const Terms terms = TermsOf(algorithm, point.ranks);
    const double a = terms.messages / point.seconds;
    const double b = terms.buffers * static_cast<double>(point.bytes) / point.seconds;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  AllreduceModel model{algorithm, (a1 * bb - b1 * ab) / determinant,
                       (b1 * aa - a1 * ab) / determinant, 0};
  // The minimum with a negative parameter is replaced by that on the border.
  if (!(model.latency >= 0)) model = {algorithm, 0, b1 / bb, 0};
  if (!(model.seconds_per_byte >= 0)) model = {algorithm, a1 / aa, 0, 0};
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
