// One rank's part of `topdnn scale`: its plan, its images, its steps.

#ifndef TOPDNN_BENCH_STUDIES_SCALE_SCALE_RUN_H_
#define TOPDNN_BENCH_STUDIES_SCALE_SCALE_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/ranks/parallel_step.h"
#include "bench/studies/scale/scale.h"
#include "datasets/loader.h"

namespace topdnn {

// The first stage of a training plan that updates a parameter. All later ones do, too. Throws
// std::runtime_error if they do not.
std::size_t FirstUpdateOf(const Plan& plan);

// The gradients of a training plan, one block per layer.
std::vector<GradientBlock> GradientBlocksOf(const Plan& plan);

// Images first, first + 1, ... of a batch.
Batch PartOf(const Batch& batch, std::int64_t first, std::int64_t images);

// How fast a sum of so many elements is, alone and without waiting for slow ranks.
struct SumSpeed {
  std::int64_t elements = 0;
  std::vector<double> seconds;
};

// What a rank has measured.
struct RankSamples {
  std::vector<StepTimes> steps;  // the timed ones
  // The share of their time in which the rank had a CPU. Absent with several threads, which sleep
  // when they wait for each other for long.
  std::optional<double> on_cpu{};
};

struct GroupRun {
  int ranks = 1;
  std::int64_t global_batch = 0;
  std::vector<double> losses;        // of the global batch, by step, with the untimed first ones
  std::vector<RankSamples> samples;  // by rank
  std::vector<SumSpeed> speeds;      // of the buckets' sizes and of large buffers; one rank: empty
  std::vector<Bucket> buckets;
  std::int64_t bucket_bytes = 0;  // at most
  std::string source;             // of the images
  std::string wrong;              // what is wrong with the result; one line, or empty
  bool complete = true;           // false: interrupted
  bool shares_cpus = false;       // its ranks have more threads than CPUs
};

// The untimed steps at the start.
inline constexpr int kWarmUpSteps = 5;

class RankRun {
 public:
  // Plans and allocates the network for this rank's part of the batch, and checks each stage
  // against the reference. Throws UsageError, and std::runtime_error for a stage that disagrees.
  RankRun(const ScaleOptions& options, std::int64_t global_batch, Transport& transport);
  ~RankRun();

  const Workload& workload() const { return workload_; }
  const Plan& plan() const { return *workload_.plan; }

  // Trains with all ranks of the group, and collects what they measure. Rank 0 returns all of it,
  // the others nothing. All ranks call it; those outside of the group wait, with a null `run`.
  static std::optional<GroupRun> Train(RankRun* run, Transport& transport);

 private:
  struct Result {
    GroupRun group;
    RankSamples own;
    double cpu_seconds = 0;   // of the timed steps
    double wall_seconds = 0;  // of the same
    double parameter_sum = 0;
    double parameter_size = 0;  // sum of absolute values
  };

  Result Steps();
  void MeasureSums(std::vector<SumSpeed>& speeds);
  // Runs the next step. Returns false if it is the last one.
  bool Step(Result& result, bool timed);

  const ScaleOptions& options_;
  Transport& transport_;
  std::int64_t global_batch_;
  Workload workload_;
  std::string source_;
  std::vector<Batch> batches_;  // this rank's parts
  std::size_t next_ = 0;
  std::int64_t bucket_bytes_ = 0;
  std::unique_ptr<ParallelStep> step_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_SCALE_SCALE_RUN_H_
