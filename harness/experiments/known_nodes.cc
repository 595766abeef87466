#include "harness/experiments/known_nodes.h"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "harness/bounds/topdown_bounds.h"
#include "harness/bounds/topdown_tree.h"
#include "harness/counters/clock.h"
#include "harness/exact/counter.h"
#include "harness/experiments/core_experiment.h"
#include "harness/hot/core_model.h"
#include "harness/hot/describe_loops.h"
#include "harness/machine/clock.h"
#include "harness/statistics/interval.h"
#include "harness/statistics/summary.h"

namespace topdnn {

#if defined(__x86_64__)

namespace {

constexpr int kTimedRuns = 9;
constexpr std::int64_t kIterations = 200'000;
// Two readings of the core's clock, and the ends of a run.
constexpr double kTruthError = 0.02;

struct KnownLoop {
  const char* name;
  int operations;  // of an iteration
  void (*run)(std::int64_t iterations);
};

// The last two instructions are one operation.
#define TOPDNN_LOOP(body) "1:\n" body "dec %0\n jnz 1b\n"
#define TOPDNN_EIGHT(op)                                                     \
  op " %%xmm15, %%xmm0\n" op " %%xmm15, %%xmm1\n" op " %%xmm15, %%xmm2\n" op \
     " %%xmm15, %%xmm3\n" op " %%xmm15, %%xmm4\n" op " %%xmm15, %%xmm5\n" op \
     " %%xmm15, %%xmm6\n" op " %%xmm15, %%xmm7\n"
#define TOPDNN_VECTORS \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm15", "cc", "memory"

void Independent(std::int64_t n) {
  asm volatile("xorps %%xmm15, %%xmm15\n" TOPDNN_LOOP(TOPDNN_EIGHT("mulps") TOPDNN_EIGHT("mulps"))
               : "+r"(n)
               :
               : TOPDNN_VECTORS);
}

void Chain(std::int64_t n) {
  asm volatile("xorps %%xmm0, %%xmm0\n" TOPDNN_LOOP("mulps %%xmm0, %%xmm0\n mulps %%xmm0, %%xmm0\n"
                                                    "mulps %%xmm0, %%xmm0\n mulps %%xmm0, %%xmm0\n")
               : "+r"(n)
               :
               : TOPDNN_VECTORS);
}

void Loads(std::int64_t n) {
  alignas(64) static const float line[16] = {};
  asm volatile(TOPDNN_LOOP("movaps (%1), %%xmm0\n movaps 16(%1), %%xmm1\n movaps 32(%1), %%xmm2\n"
                           "movaps 48(%1), %%xmm3\n movaps (%1), %%xmm4\n movaps 16(%1), %%xmm5\n"
                           "movaps 32(%1), %%xmm6\n movaps 48(%1), %%xmm7\n")
               : "+r"(n)
               : "r"(line)
               : TOPDNN_VECTORS);
}

void Divider(std::int64_t n) {
  static const float ones[4] = {1, 1, 1, 1};
  asm volatile("movups (%1), %%xmm0\n movups (%1), %%xmm15\n" TOPDNN_LOOP(
                   "divps %%xmm15, %%xmm0\n divps %%xmm15, %%xmm0\n")
               : "+r"(n)
               : "r"(ones)
               : TOPDNN_VECTORS);
}

#undef TOPDNN_LOOP
#undef TOPDNN_EIGHT
#undef TOPDNN_VECTORS

constexpr KnownLoop kLoops[] = {{"independent multiplications", 17, Independent},
                                {"chain of multiplications", 5, Chain},
                                {"loads from L1", 9, Loads},
                                {"divisions", 3, Divider}};

// What a branch depends on: a random bit, a bit that repeats with a period of 25, or no bit.
struct BranchBits {
  std::uint64_t random = 0, repeated = 0;  // 64 or 0
};

void RunBranches(std::int64_t n, BranchBits bits) {
  constexpr std::int64_t kPeriod = 25;
  constexpr std::int64_t kSetBits = 8;  // one after the other
  // The compiler must not know the bits: it would leave out what does not change the branch.
  asm volatile("" : "+r"(bits.random), "+r"(bits.repeated));
  std::uint64_t state = 88172645463325252U;
  std::uint64_t sum = 0;
  for (std::int64_t left = n; left > 0; left -= kPeriod) {
    for (std::int64_t k = 0; k < kPeriod; ++k) {
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;       // xorshift64 (Marsaglia, J. Statistical Software 8(14), 2003)
      asm volatile("" : "+r"(k));  // (the compiler does not unroll the loop)
      const std::uint64_t repeated = k < kSetBits ? 64 : 0;
      const std::uint64_t bit = (state & bits.random) | (repeated & bits.repeated);
      asm volatile("test $64, %1\n jz 2f\n add $1, %0\n 2:" : "+r"(sum) : "r"(bit) : "cc");
    }
  }
}

CoreWork WorkOf(const ExactCounts& counts) {
  CoreWork work;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  work.instructions = number(counts.instructions - counts.openmp_instructions);
  work.slow_instructions = number(counts.slow_instructions);
  work.fusible_instructions = number(counts.fusible_instructions);
  work.instruction_bytes = number(counts.instruction_bytes);
  work.conditional_branches = number(counts.conditional_branches);
  work.predicted_branches = number(counts.conditional_branches + counts.indirect_branches);
  work.taken_branches = number(counts.branches_taken());
  work.missed_branches = number(counts.missed_branches);
  work.code_blocks = number(counts.blocks);
  work.system_calls = number(counts.system_calls);
  work.loads = number(counts.loads);
  work.stores = number(counts.stores);
  work.code_bytes = number(counts.code_bytes);
  for (const auto& element : counts.fp) {
    for (std::size_t width = 0; width < work.fp.size(); ++width) {
      work.fp[width] += number(element[width]);
    }
  }
  return work;
}

// The slots that the code takes at most. Absent if the costs of its instructions cannot be
// measured, or were measured beside other work.
std::optional<double> MeasuredSlots(const BlockProfile& blocks, const CorePipeline& pipeline) {
  const ExecutedCode code = ReadExecutedCode(blocks);
  FormExamples examples;
  AddFormExamples(code, examples);
  FormCosts costs;
  const std::string why = MeasureFormCosts(examples, costs);
  if (!why.empty() || !AgreesWithSlots(costs.dispatch_width, pipeline)) return std::nullopt;
  return MostSlots(code, costs);
}

// Median seconds of a run, and the clock's ends around the runs.
template <class Run>
std::pair<double, Interval> TimeOf(const Run& run) {
  const TickClock clock = BestClock();
  Interval hertz = {1e18, 0};
  std::vector<double> seconds;
  for (int k = 0; k < kTimedRuns; ++k) {
    const double now = ReadCoreHertz().value_or(0);
    hertz = {std::min(hertz.low, now), std::max(hertz.high, now)};
    const std::uint64_t start = clock.now();
    run();
    seconds.push_back(clock.SecondsBetween(start, clock.now()).value_or(0));
  }
  return {Median(seconds), hertz};
}

// Of two times, measured in turn: the clock may change between longer runs of each.
template <class Run, class Other>
double MedianRatio(const Run& run, const Other& other) {
  const TickClock clock = BestClock();
  std::vector<double> ratios;
  for (int k = 0; k < kTimedRuns; ++k) {
    const std::uint64_t start = clock.now();
    run();
    const std::uint64_t middle = clock.now();
    other();
    ratios.push_back(static_cast<double>(middle - start) /
                     static_cast<double>(clock.now() - middle));
  }
  return Median(ratios);
}

// The tree from counts alone, and the time that it is of.
struct CountedTree {
  TreeOrReason made;
  double cycles_low = 0, cycles_high = 0;
};

template <class Run>
CountedTree TreeByCounts(Run run, const CorePipeline& pipeline, const CoreRates& rates) {
  CountedTree tree;
  BlockProfile blocks;
  const ExactCounts counts = ExactCounter::Count(run, &blocks);  // (also warms up)
  const auto [seconds, hertz] = TimeOf(run);
  tree.cycles_low = seconds * hertz.low;
  tree.cycles_high = seconds * hertz.high;
  CoreTime time;
  time.hertz_low = hertz.low;
  time.hertz_high = hertz.high;
  time.instruction_cache = 32 << 10;
  CoreWork work = WorkOf(counts);
  work.most_slots = MeasuredSlots(blocks, pipeline);
  const std::optional<CountedShares> shares =
      CountShares(work, time, {seconds, seconds}, pipeline, rates);
  if (!counts.complete || !shares) {
    tree.made.reason =
        counts.complete ? "the slots or the clock are not known" : counts.incomplete_reason;
    return tree;
  }
  TreeEvidence evidence;
  evidence.retiring = shares->retiring;
  evidence.core = shares->core;
  evidence.bad_speculation = Interval{0, shares->bad_speculation};
  evidence.frontend = shares->frontend;
  tree.made = BuildTree(evidence);
  return tree;
}

MixResult NodeOf(const CountedTree& tree, TreeNode node, const std::string& loop, Interval truth) {
  MixResult result{.name = std::string(NameOf(node)) + " of " + loop,
                   .threads = 1,
                   .truth = truth,
                   .reason = tree.made.reason};
  if (tree.made.tree && (*tree.made.tree)[node]) {
    const NodeShare& share = *(*tree.made.tree)[node];
    result.measured = Interval{share.low, share.high};
  }
  JudgeMix(result);
  return result;
}

void AddLoop(const KnownLoop& loop, const CorePipeline& pipeline, const CoreRates& rates,
             std::vector<MixResult>& results) {
  const auto run = [&loop] { loop.run(kIterations); };
  const CountedTree tree = TreeByCounts(run, pipeline, rates);
  const double slots = static_cast<double>(loop.operations) * kIterations / pipeline.slots;
  const Interval retiring = {slots / tree.cycles_high, slots / tree.cycles_low};
  results.push_back(NodeOf(tree, TreeNode::kRetiring, loop.name,
                           {retiring.low - kTruthError, retiring.high + kTruthError}));
  results.push_back(NodeOf(tree, TreeNode::kCoreBound, loop.name,
                           {1 - retiring.high - kTruthError, 1 - retiring.low + kTruthError}));
  results.push_back(NodeOf(tree, TreeNode::kMemoryBound, loop.name, {0, kTruthError}));
}

void AddBranches(const CorePipeline& pipeline, const CoreRates& rates,
                 std::vector<MixResult>& results) {
  const auto add = [&](const char* name, BranchBits bits) {
    const auto run = [bits] { RunBranches(kIterations, bits); };
    const CountedTree tree = TreeByCounts(run, pipeline, rates);
    const double share = std::max(0.0, 1 - MedianRatio([] { RunBranches(kIterations, {}); }, run));
    results.push_back(
        NodeOf(tree, TreeNode::kBadSpeculation, name, {share - kTruthError, share + kTruthError}));
  };
  add("a branch on random bits", {.random = 64});
  add("a branch with a period of 25", {.repeated = 64});
}

void WorkAlone(std::int64_t steps) {
  for (std::int64_t k = 0; k < steps; ++k) asm volatile("" : "+r"(k));
}

// One thread works four times as long as each of the others.
MixResult RunImbalance(int threads) {
  constexpr std::int64_t kTimesAsLong = 4;
  constexpr std::int64_t kSteps = 400'000;
  const double shares = static_cast<double>(kTimesAsLong + threads - 1);
  const double truth = 1 - shares / static_cast<double>(kTimesAsLong * threads);
  MixResult result{.name = "Waiting of an imbalance", .threads = threads, .truth = {truth, truth}};
  auto region = [threads] {
#pragma omp parallel num_threads(threads)
    WorkAlone(omp_get_thread_num() == 0 ? kTimesAsLong * kSteps : kSteps);
  };
  const std::vector<TimedStage> stages = {{result.name, Action::Of(region)}};
  const CoreSubject subject = {
      .stages = stages, .tensors = {}, .threads = threads, .before_iteration = {}};
  const std::vector<StageCore> measured = RunCoreExperiment(subject, {.seconds = 2});
  result.measured = WaitingShare(measured.front().waiting, measured.front().teams);
  if (!result.measured) result.reason = measured.front().reason;
  JudgeMix(result);
  return result;
}

}  // namespace

std::vector<MixResult> RunKnownNodes(const CorePipeline& pipeline, const CoreRates& rates,
                                     int threads,
                                     const std::function<void(std::string_view)>& say) {
  std::vector<MixResult> results;
  if (!ExactCounter::Probe().works || pipeline.slots <= 0) return results;
  for (const KnownLoop& loop : kLoops) {
    say(loop.name);
    AddLoop(loop, pipeline, rates, results);
  }
  say("branches");
  AddBranches(pipeline, rates, results);
  if (threads > 1) results.push_back(RunImbalance(threads));
  return results;
}

#else  // another architecture

std::vector<MixResult> RunKnownNodes(const CorePipeline&, const CoreRates&, int,
                                     const std::function<void(std::string_view)>&) {
  return {};
}

#endif

}  // namespace topdnn
