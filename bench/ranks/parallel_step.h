// A step of synchronous data-parallel training: each rank computes the gradients of its part of the
// batch, the gradients are summed bucket by bucket, and every rank makes the same update.
//
// A bucket's sum begins when the backward pass has completed its gradients. It makes progress when
// this thread asks for it: after each stage, and while the thread waits. So the time of this thread
// divides into stages (`compute`), work and waiting for buckets (`exposed`), and little else.

#ifndef TOPDNN_BENCH_RANKS_PARALLEL_STEP_H_
#define TOPDNN_BENCH_RANKS_PARALLEL_STEP_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "bench/ranks/buckets.h"
#include "bench/ranks/transport.h"

namespace topdnn {

struct BucketTimes {
  double seconds = 0;  // from complete gradients until the update may use the sums
  double exposed = 0;  // of this thread: packing, asking for progress, waiting, unpacking
  double hidden = 0;   // of stages that ran while the sum was in progress
  double ready = 0;    // of the stages before the gradients are complete
  // The rest of `seconds` is time that this thread spent on other buckets.
};

struct StepTimes {
  double seconds = 0;
  double compute = 0;  // of the stages
  double update = 0;   // of those that update parameters
  double exposed = 0;  // of all buckets
  double packing = 0;  // of `exposed`: packing, beginning sums, and unpacking
  double hidden = 0;   // of stages that ran while any sum was in progress
  std::vector<BucketTimes> buckets;
  bool finite = true;  // all gradients of this rank
};

// The stages of a plan.
struct StepStages {
  std::size_t count = 0;
  std::size_t first_update = 0;  // this and all later stages update parameters
  std::function<void(std::size_t stage)> run;
};

class ParallelStep {
 public:
  // `now` returns seconds. The transport must outlive this object.
  ParallelStep(StepStages stages, std::vector<Bucket> buckets, Wire wire, Transport& transport,
               std::function<double()> now);

  // Runs a step. With one rank nothing is communicated. Throws RunFailure.
  StepTimes Run(bool overlap);

  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  struct Sum {
    std::vector<std::byte> memory;  // in the type of the wire
    double begin = 0;               // packing begins
    bool in_progress = false;
  };

  void Begin(std::size_t bucket, StepTimes& times);
  void Poll(std::size_t bucket, StepTimes& times);
  void Finish(std::size_t bucket, StepTimes& times);
  void Unpack(std::size_t bucket, StepTimes& times);
  bool AnyInProgress() const;
  // Adds the time since `since` to what the bucket exposes.
  void Expose(std::size_t bucket, double since, StepTimes& times) const;

  StepStages stages_;
  std::vector<Bucket> buckets_;
  Wire wire_;
  Transport& transport_;
  std::function<double()> now_;
  std::vector<Sum> sums_;  // by bucket
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_PARALLEL_STEP_H_
