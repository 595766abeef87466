// Bounds worked out by hand, and bounds of kernels whose bottleneck is known by construction: the
// truth has to lie inside. The truth comes from another source than the bounds: what a kernel was
// written to execute, and how much longer it takes than its twin without the bottleneck.

#include "harness/bounds/topdown_bounds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/counters/source.h"
#include "harness/machine/clock.h"
#include "harness/machine/machine.h"
#include "harness/measure.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/core_rates.h"
#include "harness/probes/team.h"
#include "harness/stage_record.h"

namespace topdnn {
namespace {

CoreRates SixWide() {
  CoreRates rates;
  rates.slots = 6;
  rates.fp = {4, 4, 4, 2};
  rates.loads = 3;
  rates.stores = 2;
  rates.memory_operations = 3;
  rates.load_bytes = 64;
  rates.store_bytes = 32;
  rates.taken_branches = 0.5;
  rates.mispredict_cycles = 16;
  return rates;
}

// 1e6 cycles within the noise that the bounds allow for.
CoreTime OneMillionCycles() {
  return {.seconds = 1e-3,
          .threads = 1,
          .hertz_low = 1e9,
          .hertz_high = 1e9,
          .instruction_cache = 32768};
}

TEST(TopdownBounds, AreWorkedOutFromCountsAndRates) {
  CoreWork work;
  work.instructions = 1.2e6;
  work.conditional_branches = 0.1e6;
  work.taken_branches = 0.05e6;
  work.minority_branches = 1000;
  work.fp[kPacked512] = 1.8e6;  // 0.9e6 cycles at 2 a cycle
  work.code_bytes = 4096;
  const auto bounds = BoundTopdown(work, OneMillionCycles(), SixWide());
  ASSERT_TRUE(bounds);
  EXPECT_NEAR(bounds->at("Retiring").low, 1.1 / (6 * 1.02), 1e-12);
  EXPECT_NEAR(bounds->at("Retiring").high, 1.2 * 1.15 / (6 * 0.98), 1e-12);
  EXPECT_NEAR(bounds->at("Bad_Speculation").high, 1000 * 16 * 1.25 / 0.98e6, 1e-12);
  const double core = 0.9 / 1.02 - 1.2 * 1.15 / (6 * 0.98) - 1000 * 16 * 1.25 / 0.98e6;
  EXPECT_NEAR(bounds->at("Core_Bound").low, core, 1e-12);
  EXPECT_NEAR(bounds->at("Core_Bound").high, 1 - bounds->at("Retiring").low, 1e-12);
  EXPECT_THAT(bounds->at("Core_Bound").basis, testing::HasSubstr("floating-point units"));
  EXPECT_NEAR(bounds->at("Frontend_Bound").high, 0.05e6 / 0.5 / 0.98e6, 1e-12);
  EXPECT_EQ(bounds->at("Memory_Bound").low, 0);
  EXPECT_NEAR(bounds->at("Memory_Bound").high, 1 - bounds->at("Retiring").low - core, 1e-12);
}

TEST(TopdownBounds, NameMemoryByEliminationOnly) {
  CoreWork work;
  work.instructions = 1e6;
  work.code_bytes = 4096;
  const auto has = [&](const CoreTime& time, const char* node) {
    return BoundTopdown(work, time, SixWide())->contains(node);
  };
  EXPECT_TRUE(has(OneMillionCycles(), "Memory_Bound"));
  EXPECT_FALSE(has(OneMillionCycles(), "Memory_And_Frontend_Bound"));
  CoreTime two = OneMillionCycles();
  two.threads = 2;
  EXPECT_FALSE(has(two, "Memory_Bound"));
  EXPECT_FALSE(has(two, "Frontend_Bound"));
  CoreTime unknown_cache = OneMillionCycles();
  unknown_cache.instruction_cache = 0;
  EXPECT_FALSE(has(unknown_cache, "Memory_Bound"));
  work.code_bytes = 20000;
  EXPECT_TRUE(has(OneMillionCycles(), "Memory_And_Frontend_Bound"));
}

TEST(TopdownBounds, BytesThatNoCacheHoldsAreTimeOfMemory) {
  CoreWork work;
  work.instructions = 0.1e6;
  work.loads = 0.3e6;  // 0.1e6 cycles
  CoreTime time = OneMillionCycles();
  time.memory_bytes = 9e6;
  time.memory_bytes_per_second = 10e9;  // 0.9e-3 s
  const auto bounds = BoundTopdown(work, time, SixWide());
  EXPECT_NEAR(bounds->at("Memory_And_Frontend_Bound").low,
              0.9 - 0.1 / 1.02 - 0.1 * 1.15 / (6 * 0.98), 1e-12);
  EXPECT_LE(bounds->at("Core_Bound").high, 1 - bounds->at("Memory_And_Frontend_Bound").low);
}

TEST(TopdownBounds, MemoryIsWhatNoChainOfInstructionsExplains) {
  CoreWork work;
  work.instructions = 0.02e6;
  work.slow_instructions = 100;
  work.code_bytes = 64;
  CoreRates rates = SixWide();
  rates.link_cycles = 11;
  const auto bounds = BoundTopdown(work, OneMillionCycles(), rates);
  const double chain = (0.02e6 * 11 + 100 * 100) / 0.98e6;
  EXPECT_NEAR(bounds->at("Core_Bound").high, chain, 1e-12);
  EXPECT_NEAR(bounds->at("Memory_Bound").low, 1 - 0.02 * 1.15 / (6 * 0.98) - chain, 1e-12);
}

TEST(TopdownBounds, StayFractionsWhateverTheCounts) {
  CoreWork work;
  work.instructions = 1e9;
  work.minority_branches = 1e9;
  work.loads = 1e9;
  const auto bounds = BoundTopdown(work, OneMillionCycles(), SixWide());
  for (const auto& [name, bound] : *bounds) {
    EXPECT_GE(bound.low, 0) << name;
    EXPECT_LE(bound.low, bound.high) << name;
    EXPECT_LE(bound.high, 1) << name;
    EXPECT_FALSE(bound.basis.empty()) << name;
  }
}

TEST(TopdownBounds, AreAbsentWithoutTheirCeilings) {
  CoreWork work;
  work.instructions = 1e6;
  EXPECT_FALSE(BoundTopdown(work, OneMillionCycles(), CoreRates()));
  CoreTime no_clock = OneMillionCycles();
  no_clock.hertz_low = no_clock.hertz_high = 0;
  EXPECT_FALSE(BoundTopdown(work, no_clock, SixWide()));
}

TEST(CoreWork, IsAbsentWhenAnyOfItsCountsIs) {
  std::map<std::string, std::optional<double>> events;
  for (const char* name :
       {"instructions", "openmp_instructions", "conditional_branches", "branches_taken",
        "minority_branches", "indirect_branches", "loads", "stores", "load_bytes", "store_bytes",
        "code_bytes", "slow_instructions", "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE",
        "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF"}) {
    events[std::string("exact/") + name] = 5;
  }
  ASSERT_TRUE(CoreWorkOf(events));
  EXPECT_EQ(CoreWorkOf(events)->instructions, 0);  // those of the OpenMP runtime are not its own
  EXPECT_EQ(CoreWorkOf(events)->fp[kPacked512], 10);
  EXPECT_EQ(CoreWorkOf(events)->loads, 5);
  for (auto& [name, value] : events) {
    value.reset();
    EXPECT_FALSE(CoreWorkOf(events)) << name;
    value = 5;
  }
  EXPECT_FALSE(CoreWorkOf({}));
}

// ---- Kernels of known behaviour
// ------------------------------------------------------------------

struct KnownKernel {
  const char* what;
  const char* probe;
  bool in_memory;  // its working set is DRAM's; otherwise `bytes`
  std::size_t bytes;
  const char* node;  // where the slots go that do not retire
  const char* twin;  // the same but for the bottleneck, in L1; null: nothing else is in its way
};

constexpr KnownKernel kKernels[] = {
    {"dependent FMA", "core/fp/chain", false, 8192, "Core_Bound", nullptr},
    {"independent FMA", "fma/avx2/f32/registers", false, 8192, "Core_Bound", nullptr},
    {"L1 triad", "triad/avx2", false, 8192, "Core_Bound", nullptr},
    {"DRAM triad", "triad/avx2", true, 0, "Memory_Bound", "triad/avx2"},
    {"pointer chase", "chase", true, 0, "Memory_Bound", "chase"},
    {"random branches", "branch/random", false, 1 << 20, "Bad_Speculation", "branch/taken"}};

struct ProbeRun {
  const Probe* probe;
  ProbeBuffers* buffers;
  std::int64_t iterations;
  void operator()() const noexcept { probe->run(*buffers, iterations); }
};

struct Measured {
  Record record;
  std::int64_t iterations = 0;
  CoreTime time;
  Verdict verdict;
  double SecondsEach() const { return time.seconds / static_cast<double>(iterations); }
};

// Some 2 ms of a probe, timed and, with a source, counted.
Measured Measure(const Probe& probe, std::size_t bytes, CounterSource* exact) {
  ProbeBuffers buffers(bytes);
  probe.prepare(probe, buffers, Fill::kReals, 7);
  Measured measured;
  const TickClock clock = BestClock();
  double seconds = 0;
  for (measured.iterations = 64; seconds < 1e-3; measured.iterations *= 2) {
    const std::uint64_t begin = clock.now();
    probe.run(buffers, 2 * measured.iterations);
    seconds = static_cast<double>(clock.now() - begin) * clock.seconds_per_tick;
  }
  ProbeRun run{&probe, &buffers, measured.iterations};
  const TimedStage stage{probe.name, Action::Of(run)};
  MeasureOptions options;
  options.iterations = 15;
  options.most_warmup_iterations = 3;
  if (exact != nullptr) options.sources = {exact};
  options.core_hertz = []() -> std::optional<double> { return CoreClock().hz; };
  const SequenceSamples samples = MeasureSequence({&stage, 1}, options);
  measured.verdict = JudgeDisturbance(samples.disturbance);
  measured.record = RecordOf(samples.step, samples.events, measured.verdict, "isolated-hot");
  AddRunCounts(samples.step, samples.run_events, measured.record);
  const double before = *samples.disturbance.core_hertz_before;
  const double after = *samples.disturbance.core_hertz_after;
  measured.time = {.seconds = measured.record.seconds->median,
                   .threads = 1,
                   .hertz_low = std::min(before, after),
                   .hertz_high = std::max(before, after),
                   .instruction_cache = 32768};
  return measured;
}

// The truths of a kernel that lie outside their bounds; empty: none does.
std::string Outside(const TopdownBounds& bounds, const std::map<std::string, double>& truths) {
  std::string outside;
  for (const auto& [node, truth] : truths) {
    const auto found = bounds.find(node);
    if (found == bounds.end()) {
      outside += fmt::format("{} has no bounds; ", node);
    } else if (truth < found->second.low || truth > found->second.high) {
      outside += fmt::format("{} is {:.3f}, outside {:.3f} to {:.3f}; ", node, truth,
                             found->second.low, found->second.high);
    }
  }
  return outside;
}

// What is known of the kernel, as fractions of the slots.
std::map<std::string, double> Truths(const KnownKernel& kernel, const Probe& probe,
                                     const Measured& measured, const CoreRates& rates) {
  const double cycles = measured.time.seconds * measured.time.hertz_high;
  const double retiring = static_cast<double>(measured.iterations) *
                          (probe.work.instructions - 0.5 * probe.work.branches) /
                          (*rates.slots * cycles);
  std::map<std::string, double> truths = {
      {"Retiring", retiring}, {"Bad_Speculation", 0}, {"Memory_Bound", 0}};
  double lost = 1 - retiring;
  if (kernel.twin != nullptr) {
    const Measured twin = Measure(*FindProbe(kernel.twin), 8192, nullptr);
    lost = 1 - twin.SecondsEach() / measured.SecondsEach();
  }
  truths[kernel.node] = lost;
  return truths;
}

// Bytes a second that another kernel reads from memory.
double ReadBandwidth(std::size_t bytes) {
  const Probe* probe = WidestProbe(ProbeKind::kRead);
  ProbeTeam team(*probe, 1, bytes, 2e-3);
  double best = 0;
  for (int window = 0; window < 7; ++window) best = std::max(best, team.Window().value_or(0));
  return best * probe->work.bytes_loaded;
}

class KernelOfKnownBehaviour : public ::testing::TestWithParam<KnownKernel> {};

TEST_P(KernelOfKnownBehaviour, LiesInsideItsBounds) {
  const KnownKernel& kernel = GetParam();
  const Probe* probe = FindProbe(kernel.probe);
  ASSERT_NE(probe, nullptr);
  const std::string absent = WhyAbsent(*probe, MachineIsas());
  if (!absent.empty()) GTEST_SKIP() << absent;
  std::unique_ptr<CounterSource> exact;
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name == "exact" && offer.probe().works) exact = offer.open();
  }
  if (exact == nullptr) GTEST_SKIP() << "the exact counter does not work here";
  std::size_t bytes = kernel.bytes;
  std::string note;
  if (kernel.in_memory) {
    bytes =
        WorkingSet(ReadTopology(), "dram", 1, static_cast<std::size_t>(AvailableMemory()), note);
    if (!note.empty()) GTEST_SKIP() << note;
  }
  // A neighbour may disturb an attempt; on a quiet machine the first one holds.
  std::string disturbed;
  std::string outside;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const CoreRates rates = MeasureCoreRates(1);
    const Measured measured = Measure(*probe, bytes, exact.get());
    if (measured.verdict.status != Status::kOk) {
      disturbed = measured.verdict.reason;
      continue;
    }
    const auto work = CoreWorkOf(measured.record.events);
    ASSERT_TRUE(work) << measured.record.counts_reason;
    CoreTime time = measured.time;
    if (kernel.in_memory) {  // walked through in turn: nothing of it is still in a cache
      time.memory_bytes = measured.record.events.at("exact/load_bytes").value_or(0) +
                          measured.record.events.at("exact/store_bytes").value_or(0);
      time.memory_bytes_per_second = ReadBandwidth(bytes);
    }
    const auto bounds = BoundTopdown(*work, time, rates);
    ASSERT_TRUE(bounds);
    const std::map<std::string, double> truths = Truths(kernel, *probe, measured, rates);
    outside = Outside(*bounds, truths);
    std::string line = fmt::format("{:16}", kernel.what);
    for (const auto& [name, bound] : *bounds) {
      line += fmt::format("  {} {:.3f}..{:.3f}", name, bound.low, bound.high);
      if (truths.contains(name)) line += fmt::format(" (is {:.3f})", truths.at(name));
    }
    fmt::print("{}\n", line);
    if (outside.empty()) return;
  }
  if (outside.empty()) GTEST_SKIP() << "the machine is disturbed: " << disturbed;
  FAIL() << outside;
}

INSTANTIATE_TEST_SUITE_P(TopdownBounds, KernelOfKnownBehaviour, ::testing::ValuesIn(kKernels),
                         [](const ::testing::TestParamInfo<KnownKernel>& kernel) {
                           std::string name = kernel.param.what;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace topdnn
