// A model of the time of an allreduce, fitted to measured times, and of a data-parallel step on
// more ranks than there are. All functions are pure.

#ifndef TOPDNN_BENCH_RANKS_ALLREDUCE_MODEL_H_
#define TOPDNN_BENCH_RANKS_ALLREDUCE_MODEL_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace topdnn {

// Algorithms of allreduce (Thakur, Rabenseifner and Gropp 2005, "Optimization of Collective
// Communication Operations in MPICH", section 4).
enum class AllreduceAlgorithm { kRing, kRecursiveDoubling, kRabenseifner };
inline constexpr AllreduceAlgorithm kAllreduceAlgorithms[] = {
    AllreduceAlgorithm::kRing, AllreduceAlgorithm::kRecursiveDoubling,
    AllreduceAlgorithm::kRabenseifner};
std::string_view NameOf(AllreduceAlgorithm algorithm);

// A measured allreduce.
struct AllreducePoint {
  int ranks = 2;
  std::int64_t bytes = 0;
  double seconds = 0;
};

struct AllreduceModel {
  AllreduceAlgorithm algorithm = AllreduceAlgorithm::kRing;
  double latency = 0;           // seconds of a message without content
  double seconds_per_byte = 0;  // of a message, with the addition of its content
  // The root of the mean squared relative error at the points of the fit.
  double residual = 0;

  double SecondsOf(int ranks, std::int64_t bytes) const;
};

// Least squares of the relative errors, with parameters of 0 or more. One model per algorithm, the
// one that fits best first. At least two points of different sizes. With one number of ranks the
// algorithms cannot be distinguished: their residuals are equal.
std::vector<AllreduceModel> FitAllreduce(std::span<const AllreducePoint> points);

// A bucket of gradients in the backward pass.
struct ReadyBucket {
  double ready = 0;  // seconds of stages before its gradients are complete
  std::int64_t bytes = 0;
};

// The seconds of communication that a step exposes: the buckets are summed one after the other,
// each as soon as it is ready, without the help of the thread that computes. `compute`: seconds of
// stages before the update.
double ExposedSeconds(std::span<const ReadyBucket> buckets, double compute,
                      const AllreduceModel& model, int ranks);

// The expected longest of `ranks` times that are drawn from the samples. At least one sample.
double ExpectedLongest(std::span<const double> samples, int ranks);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_ALLREDUCE_MODEL_H_
