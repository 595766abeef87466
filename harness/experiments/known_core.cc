#include "harness/experiments/known_core.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "harness/counters/clock.h"
#include "harness/exact/counter.h"
#include "harness/experiments/core_experiment.h"

namespace topdnn {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmall = 8U << 10;  // L1 holds it beside everything else
constexpr std::size_t kLarge = std::size_t{128} << 20;
constexpr std::size_t kLeastAccesses = 1U << 15;
constexpr int kTruthRounds = 9;
constexpr Interval kNothing = {0, 0.1};

using Vector = float __attribute__((vector_size(16)));
volatile float sink;

// Reads the buffer's lines in order, from its start again where it ends.
struct StreamOfLines {
  std::span<const Vector> buffer;  // a power of two of lines
  std::size_t accesses;

  void operator()() const {
    constexpr std::size_t kVectors = kLine / sizeof(Vector);
    const std::size_t mask = buffer.size() - 1;
    Vector sums[kVectors] = {};
    for (std::size_t i = 0; i < accesses; ++i) {
      const Vector* line = &buffer[(i * kVectors) & mask];
      for (std::size_t k = 0; k < kVectors; ++k) sums[k] += line[k];
    }
    sink = sums[0][0] + sums[1][1] + sums[2][2] + sums[3][3];
  }
};

// Each step waits for the one before it.
struct ChainOfSteps {
  std::span<const Vector> buffer;
  std::size_t accesses;

  void operator()() const {
    const std::size_t mask = buffer.size() - 1;
    Vector sum = {};
    for (std::size_t i = 0; i < accesses; ++i) sum = sum * 0.5F + buffer[i & mask];
    sink = sum[0];
  }
};

// Memory with normal values, in a power of two of lines.
std::vector<Vector> Filled(std::size_t bytes) {
  return std::vector<Vector>(std::bit_floor(bytes) / sizeof(Vector), Vector{1, 2, 3, 4});
}

template <class Code>
double SecondsOf(const Code& code, const TickClock& clock) {
  code();
  const std::uint64_t start = clock.now();
  code();
  return clock.SecondsBetween(start, clock.now()).value_or(0);
}

// 1 - time(small) / time(large), joined with `before`.
Interval Truth(const StreamOfLines& large, const StreamOfLines& small, const Interval* before) {
  const TickClock clock = BestClock();
  std::vector<double> shares;
  for (int round = 0; round < kTruthRounds; ++round) {
    const double fast = SecondsOf(small, clock);
    const double slow = SecondsOf(large, clock);
    if (slow > 0) shares.push_back(1 - fast / slow);
  }
  Interval truth = MedianInterval(shares).value_or(Interval{0, 1});
  truth = {std::max(0.0, truth.low), std::max(0.0, truth.high)};
  if (before == nullptr) return truth;
  return {std::min(truth.low, before->low), std::max(truth.high, before->high)};
}

template <class Code>
void Measure(Code code, std::span<const Vector> memory, MixResult* result) {
  const std::vector<TimedStage> stages = {{result->name, Action::Of(code)}};
  const CoreSubject subject = {
      .stages = stages, .tensors = {std::as_bytes(memory)}, .threads = 1, .before_iteration = {}};
  const std::vector<StageCore> measured = RunCoreExperiment(subject, {.seconds = 2});
  const StageCore& stage = measured.front();
  result->reason = stage.reason;
  if (!stage.reason.empty()) return;
  const CoreJudgement judged =
      JudgeCore(stage.rounds, stage.counts, stage.cost, 0, stage.undisturbed);
  result->reason = judged.reason;
  if (judged.result) result->measured = judged.result->beyond_l1;
}

MixResult RunStream(const std::string& name, std::size_t bytes) {
  MixResult result{.name = name, .threads = 1, .truth = kNothing};
  try {
    const std::vector<Vector> small = Filled(kSmall);
    const std::vector<Vector> large = Filled(bytes);
    const std::size_t accesses = std::max(kLeastAccesses, large.size() * sizeof(Vector) / kLine);
    const StreamOfLines on_large{large, accesses};
    const StreamOfLines on_small{small, accesses};
    const bool waits = bytes > kSmall;
    if (waits) result.truth = Truth(on_large, on_small, nullptr);
    Measure(on_large, large, &result);
    if (waits) result.truth = Truth(on_large, on_small, &result.truth);
  } catch (const std::bad_alloc&) {
    result.reason = "not enough memory";
  }
  return result;
}

MixResult RunChain() {
  MixResult result{.name = "chain of multiply-adds", .threads = 1, .truth = kNothing};
  const std::vector<Vector> small = Filled(kSmall);
  Measure(ChainOfSteps{small, kLeastAccesses}, small, &result);
  return result;
}

}  // namespace

std::vector<MixResult> RunKnownCore(const std::vector<Cache>& caches,
                                    const std::function<void(std::string_view)>& say) {
  Topology topology;
  topology.caches = caches;
  const auto l2 = static_cast<std::size_t>(CacheSize(topology, 2));
  const auto last = static_cast<std::size_t>(CacheSize(topology, LastCacheLevel(topology)));
  std::vector<std::pair<std::string, std::size_t>> streams = {{"stream that L1 holds", kSmall}};
  if (l2 > 0) streams.emplace_back("stream that L2 holds", l2 / 4);
  if (last >= 16 * l2 && l2 > 0) streams.emplace_back("stream that the last cache holds", 4 * l2);
  streams.emplace_back("stream from memory", kLarge);
  std::vector<MixResult> results;
  const Availability available = ExactCounter::Probe();
  const auto add = [&](const std::string& name, const std::function<MixResult()>& run) {
    say("core experiment: " + name);
    results.push_back(
        available.works ? run() : MixResult{.name = name, .truth = {}, .reason = available.reason});
    JudgeMix(results.back());
  };
  add("chain of multiply-adds", RunChain);
  for (const auto& stream : streams) {
    add(stream.first, [&stream] { return RunStream(stream.first, stream.second); });
  }
  return results;
}

}  // namespace topdnn
