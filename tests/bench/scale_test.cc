// Data-parallel steps: buckets, the division of a step's time, sums over ranks in one process, and
// the figures and refusals of `topdnn scale`. The numbers are computed by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/ranks/buckets.h"
#include "bench/ranks/mpi_transport.h"
#include "bench/ranks/parallel_step.h"
#include "bench/studies/scale/scale_agreement.h"
#include "bench/studies/scale/scale_figures.h"
#include "bench/studies/scale/scale_run.h"
#include "harness/text/errors.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<Bucket>& buckets) {
  std::vector<std::string> names;
  for (const Bucket& bucket : buckets) names.push_back(bucket.Name());
  return names;
}

TEST(Buckets, FillInTheOrderInWhichGradientsAreComplete) {
  const std::vector<GradientBlock> blocks = {
      {"conv1", nullptr, 10, 9}, {"conv2", nullptr, 20, 7}, {"fc", nullptr, 30, 5}};
  const auto exact = MakeBuckets(blocks, 4 * 50, Wire::kF32);
  EXPECT_THAT(NamesOf(exact), ElementsAre("fc conv2", "conv1"));
  EXPECT_EQ(exact[0].elements, 50);
  EXPECT_EQ(exact[0].last_stage, 7U);
  EXPECT_EQ(exact[1].last_stage, 9U);
  EXPECT_THAT(NamesOf(MakeBuckets(blocks, 4 * 50 - 1, Wire::kF32)),
              ElementsAre("fc", "conv2 conv1"));
  EXPECT_THAT(NamesOf(MakeBuckets(blocks, 1, Wire::kF32)), ElementsAre("fc", "conv2", "conv1"));
  // Half as many bytes.
  EXPECT_THAT(NamesOf(MakeBuckets(blocks, 2 * 60, Wire::kBf16)), ElementsAre("fc conv2 conv1"));
}

TEST(Buckets, PackAndUnpackKeepTheOrder) {
  std::vector<float> first = {1, 2}, second = {3};
  const Bucket bucket = {{{"a", first.data(), 2, 0}, {"b", second.data(), 1, 0}}, 3, 0};
  std::vector<float> wire(3);
  EXPECT_TRUE(PackGradients(bucket, Wire::kF32, wire.data()));
  EXPECT_THAT(wire, ElementsAre(1, 2, 3));
  UnpackGradients(bucket, Wire::kF32, wire.data(), 0.5F);
  EXPECT_THAT(first, ElementsAre(0.5F, 1));
  EXPECT_THAT(second, ElementsAre(1.5F));
}

TEST(Buckets, FindGradientsThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> first = {1, bad}, second = {3};
    const Bucket bucket = {{{"a", first.data(), 2, 0}, {"b", second.data(), 1, 0}}, 3, 0};
    std::vector<float> wire(3);
    EXPECT_FALSE(PackGradients(bucket, Wire::kF32, wire.data()));
  }
}

// A rank of two, with a clock that only its own calls advance. Beginning a sum takes 2 s, and the
// sum is finished 25 s later. Asking for progress takes 1 s. The other rank adds 3 to each element.
class TimedRank final : public Transport {
 public:
  TimedRank() { group_ = 2; }

  int rank() const override { return 0; }
  int ranks() const override { return 2; }
  std::string library() const override { return "timed"; }
  void ChooseGroup(int ranks) override { group_ = ranks; }
  void BeginSum(int request, void* data, std::int64_t elements, Wire /*wire*/) override {
    now_ += 2;
    ends_[request] = now_ + 25;
    for (std::int64_t i = 0; i < elements; ++i) static_cast<float*>(data)[i] += 3;
  }
  bool IsFinished(int request) override {
    now_ += 1;
    return now_ >= ends_.at(request);
  }
  void Sum(std::span<double> /*values*/) override {}
  void Barrier() override {}
  std::vector<std::string> Gather(const std::string& text) override { return {text, text}; }
  void Abort(int /*status*/) override { std::abort(); }

  double now_ = 0;

 private:
  std::map<int, double> ends_;
};

// Forward 10 s, backward of `b` 20 s, backward of `a` 30 s, update 5 s.
struct TimedStep {
  explicit TimedStep(TimedRank& rank)
      : step({4, 3,
              [&rank](std::size_t i) {
                rank.now_ += std::vector<double>{10, 20, 30, 5}[i];
              }},
             MakeBuckets({{"a", a.data(), 1, 2}, {"b", b.data(), 1, 1}}, 4, Wire::kF32), Wire::kF32,
             rank, [&rank] { return rank.now_; }) {}

  std::vector<float> a = {1}, b = {5};
  ParallelStep step;
};

TEST(ParallelStep, HidesASumBehindTheNextStage) {
  TimedRank rank;
  TimedStep timed(rank);
  const StepTimes times = timed.step.Run(/*overlap=*/true);
  EXPECT_EQ(times.compute, 65);
  EXPECT_EQ(times.exposed, 30);
  EXPECT_EQ(times.packing, 4);
  EXPECT_EQ(times.hidden, 30);
  EXPECT_EQ(times.seconds, 95);
  ASSERT_EQ(times.buckets.size(), 2U);
  // `b` begins at 30, is in progress from 32, and is found finished at 63.
  EXPECT_EQ(times.buckets[0].seconds, 33);
  EXPECT_EQ(times.buckets[0].exposed, 3);
  EXPECT_EQ(times.buckets[0].hidden, 30);
  // `a` begins at 63 and is finished at 90; no stage runs meanwhile.
  EXPECT_EQ(times.buckets[1].seconds, 27);
  EXPECT_EQ(times.buckets[1].exposed, 27);
  EXPECT_EQ(times.buckets[1].hidden, 0);
  EXPECT_EQ(timed.a[0], 2);  // (1 + 3) / 2
  EXPECT_EQ(timed.b[0], 4);  // (5 + 3) / 2
}

TEST(ParallelStep, ExposesEverythingWithoutOverlap) {
  TimedRank rank;
  TimedStep timed(rank);
  for (int i = 0; i < 2; ++i) {
    const StepTimes times = timed.step.Run(/*overlap=*/false);
    EXPECT_EQ(times.compute, 65);
    EXPECT_EQ(times.exposed, 54);
    EXPECT_EQ(times.hidden, 0);
    EXPECT_EQ(times.seconds, 119);
    for (const BucketTimes& bucket : times.buckets) {
      EXPECT_EQ(bucket.seconds, 27);
      EXPECT_EQ(bucket.exposed, 27);
      EXPECT_EQ(bucket.hidden, 0);
    }
  }
}

TEST(ParallelStep, OneRankCommunicatesNothing) {
  TimedRank rank;
  rank.ChooseGroup(1);
  TimedStep timed(rank);
  const StepTimes times = timed.step.Run(/*overlap=*/true);
  EXPECT_EQ(times.seconds, 65);
  EXPECT_EQ(times.exposed, 0);
  EXPECT_EQ(timed.a[0], 1);
}

// Ranks as threads of this process. The last one to begin a sum computes it.
class SharedSums {
 public:
  explicit SharedSums(int ranks) : ranks_(ranks) {}

  void Begin(int request, void* data, std::int64_t elements, Wire wire) {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& waiting = waiting_[request];
    waiting.push_back(data);
    if (static_cast<int>(waiting.size()) < ranks_) return;
    for (std::int64_t i = 0; i < elements; ++i) {
      float sum = 0;
      for (void* of : waiting) sum += Read(of, i, wire);
      for (void* of : waiting) Write(of, i, sum, wire);
    }
    waiting.clear();
    ++completed_[request];
  }
  bool IsFinished(int request, int times) {
    const std::lock_guard lock(mutex_);
    return completed_[request] >= times;
  }

 private:
  static float Read(void* data, std::int64_t i, Wire wire) {
    return wire == Wire::kF32 ? static_cast<float*>(data)[i]
                              : Bf16ToFloat(static_cast<std::uint16_t*>(data)[i]);
  }
  static void Write(void* data, std::int64_t i, float value, Wire wire) {
    if (wire == Wire::kF32) {
      static_cast<float*>(data)[i] = value;
    } else {
      static_cast<std::uint16_t*>(data)[i] = Bf16FromFloat(value);
    }
  }

  const int ranks_;
  std::mutex mutex_;
  std::map<int, std::vector<void*>> waiting_;
  std::map<int, int> completed_;
};

class ThreadRank final : public Transport {
 public:
  ThreadRank(SharedSums& sums, int rank, int ranks) : sums_(sums), rank_(rank) { group_ = ranks; }

  int rank() const override { return rank_; }
  int ranks() const override { return group_; }
  std::string library() const override { return "threads"; }
  void ChooseGroup(int /*ranks*/) override {}
  void BeginSum(int request, void* data, std::int64_t elements, Wire wire) override {
    ++begun_[request];
    sums_.Begin(request, data, elements, wire);
  }
  bool IsFinished(int request) override {
    std::this_thread::yield();
    return sums_.IsFinished(request, begun_[request]);
  }
  void Sum(std::span<double> /*values*/) override {}
  void Barrier() override {}
  std::vector<std::string> Gather(const std::string& text) override { return {text}; }
  void Abort(int /*status*/) override { std::abort(); }

 protected:
  std::vector<int> Absent() override { return {0}; }

 private:
  SharedSums& sums_;
  int rank_;
  std::map<int, int> begun_;
};

TEST(ParallelStep, EachRankGetsTheMeanOfAllGradients) {
  constexpr int kRanks = 4;
  constexpr int kSteps = 20;
  for (const Wire wire : {Wire::kF32, Wire::kBf16}) {
    for (const bool overlap : {true, false}) {
      SharedSums sums(kRanks);
      std::vector<std::vector<float>> gradients(kRanks, std::vector<float>(3));
      std::vector<std::thread> threads;
      for (int r = 0; r < kRanks; ++r) {
        threads.emplace_back([&, r] {
          ThreadRank rank(sums, r, kRanks);
          float* const own = gradients[static_cast<std::size_t>(r)].data();
          ParallelStep step({3, 2,
                             [own, r](std::size_t stage) {
                               if (stage == 0) own[2] = static_cast<float>(r);  // 0 1 2 3: mean 1.5
                               if (stage == 1) own[0] = static_cast<float>(4 * r), own[1] = -1;
                             }},
                            MakeBuckets({{"a", own, 2, 1}, {"b", own + 2, 1, 0}}, 1, wire), wire,
                            rank, [] { return 0.0; });
          for (int i = 0; i < kSteps; ++i) EXPECT_TRUE(step.Run(overlap).finite);
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_THAT(gradients, Each(ElementsAre(6, -1, 1.5F)));
    }
  }
}

TEST(Transport, AWaitThatIsTooLongEndsWithTheRank) {
  SharedSums sums(2);
  ThreadRank rank(sums, 1, 2);
  rank.set_limit(0.01);
  float value = 1;
  rank.BeginSum(0, &value, 1, Wire::kF32);
  try {
    rank.Wait(0);
    FAIL() << "the other rank never begins";
  } catch (const RunFailure& error) {
    EXPECT_THAT(error.what(), HasSubstr("has waited 0.01 s for rank 0, which hangs"));
  }
}

Launch LaunchWith(const std::map<std::string, std::string>& variables) {
  return LaunchOf([&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, IsReadFromTheEnvironment) {
  EXPECT_FALSE(LaunchWith({}).by_mpi);
  EXPECT_FALSE(LaunchWith({{"SLURM_STEP_NUM_TASKS", "1"}}).by_mpi);
  const Launch mpirun =
      LaunchWith({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_TRUE(mpirun.by_mpi);
  EXPECT_EQ(mpirun.node_ranks, 2);
  EXPECT_TRUE(LaunchWith({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}).problem.empty());
  const Launch srun = LaunchWith({{"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_THAT(srun.problem, HasSubstr("srun --mpi=pmix"));
  EXPECT_TRUE(srun.first);
  EXPECT_FALSE(LaunchWith({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}).first);
  const Launch pmi = LaunchWith({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
  EXPECT_TRUE(pmi.old_pmi);
  EXPECT_EQ(pmi.ranks, 3);
  EXPECT_FALSE(pmi.first);
  EXPECT_FALSE(mpirun.old_pmi);
  EXPECT_EQ(mpirun.ranks, 4);
}

// As `man srun` writes SLURM_STEP_TASKS_PER_NODE.
TEST(Launch, CountsTheTasksOfSlurmOnANode) {
  const std::map<std::string, std::string> step = {{"PMIX_RANK", "5"},
                                                   {"SLURM_STEP_NUM_TASKS", "8"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1,4"}};
  for (const auto& [node, tasks] :
       std::map<std::string, int>{{"0", 2}, {"2", 2}, {"3", 1}, {"4", 4}}) {
    auto variables = step;
    variables["SLURM_NODEID"] = node;
    EXPECT_EQ(LaunchWith(variables).node_ranks, tasks) << node;
    EXPECT_FALSE(LaunchWith(variables).old_pmi);
  }
  for (const char* list : {"", "2(x3", "2(y3)", "x", "2,"}) {
    EXPECT_FALSE(TasksOfNode(list, 3)) << list;
  }
}

RankIdentity Identity(const std::string& host, const std::string& isa) {
  return {host, {4, 5}, 1, {{"CPU", "x"}, {"onednn isa", isa}}};
}

TEST(ScaleAgreement, NamesTheRankThatDiffers) {
  EXPECT_EQ(DifferenceOf({Identity("n1", "avx2"), Identity("n2", "avx2")}), "");
  EXPECT_EQ(
      DifferenceOf({Identity("n1", "avx512"), Identity("n1", "avx512"), Identity("n2", "avx2")}),
      "scale: rank 2 on n2 differs from rank 0 on n1 in onednn isa: 'avx2', not 'avx512'; "
      "start the same program on equal nodes");
  RankIdentity shorter = Identity("n2", "avx2");
  shorter.same.pop_back();
  EXPECT_THAT(DifferenceOf({Identity("n1", "avx2"), shorter}), HasSubstr("'none', not 'avx2'"));
}

TEST(ScaleAgreement, SaysWhenRanksShareCpus) {
  const RankIdentity rank = Identity("n1", "avx2");
  EXPECT_EQ(OversubscriptionOf({rank, rank}), "");
  EXPECT_EQ(OversubscriptionOf({rank, rank, Identity("n2", "avx2")}), "");
  EXPECT_THAT(OversubscriptionOf({rank, rank, rank}), HasSubstr("3 threads of the ranks share 2"));
  // Each rank may run on a CPU of its own: together they have two.
  RankIdentity first = rank;
  RankIdentity second = rank;
  first.cpus = {0};
  second.cpus = {7};
  EXPECT_EQ(OversubscriptionOf({first, second}), "");
  // All may run on the same CPU of many.
  EXPECT_THAT(OversubscriptionOf({first, first}), HasSubstr("2 threads of the ranks share 1 CPU "));
}

StepTimes TimesOf(double seconds, double compute, double exposed, double hidden) {
  return {seconds, compute, 0, exposed, 0, hidden, {{exposed + hidden, exposed, hidden, 0}}, true};
}

TEST(ScaleFigures, AreMeansOverRanksAndMediansOverSteps) {
  GroupRun run;
  run.ranks = 2;
  run.global_batch = 8;
  run.buckets = {{{{"fc", nullptr, 250, 0}}, 250, 0}};
  run.samples = {{{TimesOf(5, 3, 2, 1), TimesOf(5, 3, 2, 1), TimesOf(9, 3, 6, 1)}},
                 {{TimesOf(5.5, 5, 0, 3), TimesOf(5, 2, 3, 1), TimesOf(9, 9, 0, 3)}, 0.96}};
  run.speeds = {{250, {1, 2, 4}}, {1000, {4, 4, 4}}};
  const GroupFigures figures = FiguresOf(run, Wire::kF32);
  EXPECT_THAT(figures.step, ElementsAre(5.5, 5, 9));
  EXPECT_THAT(figures.compute, ElementsAre(4, 2.5, 6));
  EXPECT_THAT(figures.exposed, ElementsAre(1, 2.5, 3));
  EXPECT_THAT(figures.hidden, ElementsAre(2, 1, 2));
  ASSERT_EQ(figures.buckets.size(), 1U);
  EXPECT_EQ(figures.buckets[0].bytes, 1000);
  EXPECT_EQ(figures.buckets[0].exposed, 2.5);
  EXPECT_EQ(figures.buckets[0].seconds, 3.5);
  EXPECT_EQ(figures.buckets[0].alone, 2);
  EXPECT_EQ(figures.buckets[0].bytes_per_second, 500);
  // The best tenth: 4000 B in 4 s is 1000 B/s; 1000 B in 1.2 s is less.
  ASSERT_TRUE(figures.ceiling.has_value());
  EXPECT_EQ(figures.ceiling->bytes_per_second, 1000);
  EXPECT_EQ(figures.ceiling->bytes, 4000);
  EXPECT_EQ(figures.buckets[0].ceiling_share, 0.5);
  ASSERT_EQ(figures.rank.size(), 2U);
  EXPECT_EQ(figures.rank[1].compute, 5);
  EXPECT_THAT(*figures.rank[0].slowest, DoubleNear(1.0 / 3, 1e-12));
  EXPECT_THAT(*figures.rank[1].slowest, DoubleNear(2.0 / 3, 1e-12));
  EXPECT_EQ(figures.rank[1].excess, 0.25);  // 5 / 4 - 1; the median of 3 and 5 is 4
  EXPECT_EQ(DisturbanceOf(figures), "");
  GroupFigures disturbed = figures;
  disturbed.rank[1].on_cpu = 0.5;
  EXPECT_EQ(DisturbanceOf(disturbed),
            "rank 1 of 2 had a CPU for 50 % of its steps: other work ran there");
  GroupFigures wrong = figures;
  RemoveTimes(wrong);
  EXPECT_EQ(wrong.buckets[0].bytes, 1000);
  EXPECT_FALSE(wrong.buckets[0].seconds || wrong.buckets[0].alone || wrong.ceiling ||
               wrong.rank[0].compute);
  EXPECT_THAT(wrong.step, IsEmpty());
}

TEST(ScaleFigures, OneRankHasNoCommunication) {
  GroupRun run;
  run.buckets = {{{{"fc", nullptr, 250, 0}}, 250, 0}};
  run.samples = {{{TimesOf(5, 5, 0, 0)}}};
  const GroupFigures figures = FiguresOf(run, Wire::kBf16);
  EXPECT_EQ(figures.buckets[0].bytes, 500);
  EXPECT_FALSE(figures.buckets[0].seconds || figures.buckets[0].exposed);
  EXPECT_FALSE(figures.ceiling || figures.rank[0].exposed);
}

TEST(ScaleFigures, EfficiencyOfStrongAndWeakScaling) {
  const Speedup strong = SpeedupOf(8, 2.5, 4, /*weak=*/false);
  EXPECT_EQ(strong.images, 3.2);
  EXPECT_EQ(strong.efficiency, 0.8);
  const Speedup weak = SpeedupOf(8, 10, 4, /*weak=*/true);
  EXPECT_EQ(weak.images, 3.2);
  EXPECT_EQ(weak.efficiency, 0.8);
}

TEST(ScaleFigures, LossDifferenceIsRelativeAndOfTheFirstSteps) {
  EXPECT_THAT(LossDifference(std::vector<double>{2, 1.5}, std::vector<double>{2, 2, 7}),
              DoubleNear(0.25, 1e-12));
  std::vector<double> a(kComparedLosses + 1, 1.0), b = a;
  b.back() = 2;
  EXPECT_EQ(LossDifference(a, b), 0);
}

TEST(RankImages, PartsOfABatchAreConsecutive) {
  Batch batch;
  batch.images = {0, 1, 10, 11, 20, 21};
  batch.labels = {7, 8, 9};
  batch.valid = 2;
  const Batch part = PartOf(batch, 1, 2);
  EXPECT_THAT(part.images, ElementsAre(10, 11, 20, 21));
  EXPECT_THAT(part.labels, ElementsAre(8, 9));
  EXPECT_EQ(part.valid, 1);
}

TEST(GradientBlocks, AreThoseOfTheLayersInTheOrderOfTheBackwardPass) {
  WorkloadOptions options;
  options.network = "lenet5";
  options.batch = 2;
  options.threads = 1;
  const Workload workload = MakeWorkload(options, /*training=*/true);
  const auto buckets = MakeBuckets(GradientBlocksOf(*workload.plan), 1, Wire::kF32);
  std::vector<std::string> layers;
  for (const Stage& stage : workload.plan->stages()) {
    if (stage.pass == StagePass::kBackwardWeights) layers.push_back(stage.name);
  }
  EXPECT_THAT(layers, testing::Not(IsEmpty()));
  EXPECT_EQ(NamesOf(buckets), layers);
  for (const Bucket& bucket : buckets) {
    const Stage& last = workload.plan->stages()[bucket.last_stage];
    EXPECT_EQ(last.name, bucket.Name());
    EXPECT_EQ(last.pass, StagePass::kBackwardWeights);
  }
}

// Running statistics are updated in the forward pass, before the gradients exist.
TEST(FirstUpdate, FollowsTheBackwardPass) {
  WorkloadOptions options;
  options.network = "resnet18";
  options.batch = 2;
  options.size = 32;
  options.threads = 1;
  const Workload workload = PlanWorkload(options, /*training=*/true);
  const std::vector<Stage>& stages = workload.plan->stages();
  const std::size_t first = FirstUpdateOf(*workload.plan);
  EXPECT_EQ(stages[first].pass, StagePass::kUpdate);
  EXPECT_EQ(stages[first - 1].pass, StagePass::kBackwardWeights);
  std::size_t updates = 0;
  for (std::size_t i = 0; i < first; ++i) updates += stages[i].pass == StagePass::kUpdate ? 1 : 0;
  EXPECT_GT(updates, 0U);
}

}  // namespace
}  // namespace topdnn
