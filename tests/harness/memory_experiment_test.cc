// The memory experiment: shares from times, the split, and for which stages it does not hold.

#include "harness/experiments/memory_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "harness/exact/counter.h"
#include "harness/experiments/known_mixes.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::vector<MemoryRound> Rounds(std::size_t n, const MemoryRound& round) {
  return std::vector<MemoryRound>(n, round);
}

constexpr MemoryRound kRound = {.in_network = 10, .hot = 8, .second_level = 4, .last_level = 6};
constexpr double kTiny = 1e-12;

// By hand, before the error of 2.5 points: repeated, 4 of 8 wait, 2 of them for DRAM.
TEST(MemoryTimesTest, SharesWhenRepeated) {
  const auto shares = SharesOf(Rounds(6, kRound), MemoryRegime::kHot, {});
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->memory.low, 0.475, kTiny);
  EXPECT_NEAR(shares->memory.high, 0.525, kTiny);
  EXPECT_NEAR(shares->dram->low, 0.225, kTiny);
  EXPECT_NEAR(shares->dram->high, 0.275, kTiny);
  EXPECT_NEAR(shares->last_level->low, 0.225, kTiny);
}

// In the network 6 of 10 vanish, of which at least 4 are memory; with 1 for cold code at least 5.
TEST(MemoryTimesTest, SharesInTheNetwork) {
  auto shares = SharesOf(Rounds(6, kRound), MemoryRegime::kInNetwork, {});
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->memory.low, 0.375, kTiny);
  EXPECT_NEAR(shares->memory.high, 0.625, kTiny);
  shares = SharesOf(Rounds(6, kRound), MemoryRegime::kInNetwork,
                    {.cold_code_seconds = 1, .kept_seconds = 1});
  EXPECT_NEAR(shares->memory.low, 0.475, kTiny);
  EXPECT_NEAR(shares->memory.high, 0.725, kTiny);  // the bytes that stayed may take 1 of 10
}

// Not repeated on its own pages: the lower end is that of the network, less what cold code may
// take.
TEST(MemoryTimesTest, ALongStageHasNoRepetitionOnItsOwnPages) {
  MemoryRound round = kRound;
  round.hot.reset();
  auto shares = SharesOf(Rounds(6, round), MemoryRegime::kInNetwork, {.cold_code_seconds = 1});
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->memory.low, 0.475, kTiny);
  EXPECT_NEAR(shares->memory.high, 0.625, kTiny);
  shares = SharesOf(Rounds(6, round), MemoryRegime::kInNetwork, {});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->memory.low, 0);
  EXPECT_FALSE(SharesOf(Rounds(6, round), MemoryRegime::kHot, {}));
}

// A repetition that takes longer than the stage in the network shows no more than the network does.
TEST(MemoryTimesTest, TheEndsAreInOrder) {
  MemoryRound round = kRound;
  round.hot = 20;
  const auto shares = SharesOf(Rounds(6, round), MemoryRegime::kInNetwork, {});
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->memory.low, 0.575, kTiny);
  EXPECT_NEAR(shares->memory.high, 0.625, kTiny);
}

TEST(MemoryTimesTest, FewRoundsOrNoTimeHaveNoShares) {
  EXPECT_FALSE(SharesOf(Rounds(5, kRound), MemoryRegime::kHot, {}));
  EXPECT_FALSE(SharesOf(Rounds(6, MemoryRound()), MemoryRegime::kHot, {}));
}

// Of 8 rounds, other work disturbed two.
TEST(MemoryTimesTest, DisturbedRoundsAreLeftOut) {
  std::vector<MemoryRound> rounds = Rounds(8, kRound);
  rounds[2].waited = 0.3;
  rounds[2].hot = 80;
  rounds[5].waited = 0.006;
  EXPECT_EQ(UndisturbedRounds(rounds).size(), 6u);
  for (const MemoryRound& round : UndisturbedRounds(rounds)) EXPECT_EQ(round.hot, 8);
  // An interval needs 6, so the one that was disturbed least is used.
  rounds[6].waited = 0.5;
  EXPECT_EQ(UndisturbedRounds(rounds).size(), 6u);
  for (const MemoryRound& round : UndisturbedRounds(rounds)) EXPECT_EQ(round.hot, 8);
}

TEST(MemoryTimesTest, WithoutALastLevelFootprintThereAreNoParts) {
  MemoryRound round = kRound;
  round.last_level.reset();
  const auto shares = SharesOf(Rounds(6, round), MemoryRegime::kHot, {});
  ASSERT_TRUE(shares);
  EXPECT_FALSE(shares->dram);
  EXPECT_FALSE(SplitOf(*shares, nullptr).contains("DRAM_Bound"));
}

// Three of nine rounds without the last cache: the parts are those of the other six, which is the
// least number.
TEST(MemoryTimesTest, ThePartsAreOfTheRoundsThatHaveThem) {
  MemoryRound without = kRound;
  without.last_level.reset();
  std::vector<MemoryRound> rounds = Rounds(6, kRound);
  rounds.insert(rounds.begin() + 2, 3, without);
  const auto shares = SharesOf(rounds, MemoryRegime::kHot, {});
  ASSERT_TRUE(shares);
  ASSERT_TRUE(shares->dram);
  EXPECT_NEAR(shares->dram->low, 0.225, kTiny);
  EXPECT_NEAR(shares->last_level->high, 0.275, kTiny);
  rounds.back().last_level.reset();
  EXPECT_FALSE(SharesOf(rounds, MemoryRegime::kHot, {})->dram);
}

TEST(MemoryTimesTest, NodesAreNarrowedByWhatTheOthersLeave) {
  const MemoryShares shares{.memory = {0.4, 0.5}, .last_level = {}, .dram = {}};
  const TopdownBounds counted = {{"Retiring", {0.3, 0.9, "counts"}},
                                 {"Core_Bound", {0.1, 0.8, "units"}},
                                 {"Bad_Speculation", {0, 0.1, "branches"}}};
  TopdownBounds split = SplitOf(shares, &counted);
  EXPECT_NEAR(split["Retiring"].high, 0.5, kTiny);      // 1 - 0.4 - 0.1
  EXPECT_NEAR(split["Core_Bound"].high, 0.3, kTiny);    // 1 - 0.4 - 0.3
  EXPECT_NEAR(split["Memory_Bound"].high, 0.5, kTiny);  // 0.6 would be left
  EXPECT_NEAR(split["Rest"].low, 0, kTiny);
  EXPECT_NEAR(split["Rest"].high, 0.2, kTiny);
  EXPECT_THAT(split["Memory_Bound"].basis, HasSubstr("experiment"));
  EXPECT_THAT(split["Retiring"].basis, HasSubstr("bound: counts"));
  EXPECT_FALSE(split.contains("Bad_Speculation"));
  const TopdownBounds retiring = {{"Retiring", {0.3, 0.9, "counts"}}};
  split = SplitOf(shares, &retiring);
  EXPECT_NEAR(split["Core_Bound"].low, 0, kTiny);
  EXPECT_NEAR(split["Core_Bound"].high, 0.3, kTiny);
  EXPECT_NEAR(split["Rest"].high, 0.3, kTiny);
  split = SplitOf(shares, nullptr);
  EXPECT_FALSE(split.contains("Core_Bound"));
  EXPECT_NEAR(split["Rest"].low, 0.5, kTiny);
  EXPECT_NEAR(split["Rest"].high, 0.6, kTiny);
}

// A bound from counts below the measured interval's upper end is used. A bound below the whole
// interval contradicts it, and is not used.
TEST(MemoryTimesTest, TheUpperEndIsNeverAboveThatOfTheBounds) {
  const MemoryShares shares{.memory = {0.2, 0.5}, .last_level = {}, .dram = {}};
  for (const char* name : {"Memory_Bound", "Memory_And_Frontend_Bound"}) {
    const auto high = [&](double bound) {
      const TopdownBounds counted = {{name, {0, bound, "counts"}}};
      return SplitOf(shares, &counted).at("Memory_Bound").high;
    };
    EXPECT_NEAR(high(0.3), 0.3, kTiny) << name;
    EXPECT_NEAR(high(0.7), 0.5, kTiny) << name;
    EXPECT_NEAR(high(0.1), 0.5, kTiny) << name;
  }
}

// 10 KB of code: 157 lines of 300 cycles at 3 GHz, 15.7 us, and 2 us for the team.
TEST(MemoryTimesTest, ColdCode) { EXPECT_NEAR(ColdCodeSeconds(10048, 3e9), 17.7e-6, 1e-9); }

TEST(FootprintsTest, FitL2AndAPartOfTheLastCache) {
  const Cache l2 = {.level = 2, .type = "unified", .size = 1 << 20};
  const Cache l3 = {.level = 3, .type = "unified", .size = 32 << 20};
  const std::vector<FootprintSize> both = FootprintsFor({l2, l3}, 2);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_LT(both[0].shared + both[0].per_writer, std::size_t{1} << 20);
  EXPECT_GT(both[1].shared, std::size_t{1} << 20);
  EXPECT_LE(both[1].shared + 2 * both[1].per_writer, std::size_t{16} << 20);
  // 4 MiB shared and 2 MiB for each writer must fit half of the last cache.
  EXPECT_EQ(FootprintsFor({l2, l3}, 6).size(), 2U);
  EXPECT_EQ(FootprintsFor({l2, l3}, 7).size(), 1U);
  EXPECT_EQ(FootprintsFor({l2}, 2).size(), 1U);
  EXPECT_TRUE(FootprintsFor({}, 2).empty());
}

// Alder Lake-N: four cores share 2 MiB. What they share and four writers' parts must fit.
TEST(FootprintsTest, FitAnL2OfSeveralCores) {
  const std::vector<Cache> caches = {{1, "data", 32 << 10, 64, 4, 1},
                                     {2, "unified", 2 << 20, 64, 1, 4}};
  for (const std::size_t threads : {1U, 2U, 4U}) {
    const FootprintSize inside = FootprintsFor(caches, static_cast<int>(threads)).at(0);
    EXPECT_LT(inside.shared + threads * inside.per_writer, std::size_t{2} << 20) << threads;
  }
}

TEST(KnownMixesTest, WithoutTheSizeOfL2NoneIsMeasured) {
  for (const MixResult& mix : RunKnownMixes({}, 1, [](std::string_view) {})) {
    EXPECT_EQ(mix.verdict, Status::kSkipped) << mix.name;
    EXPECT_EQ(mix.reason, "the size of L2 is not reported");
  }
}

TEST(KnownMixesTest, TheTruthMustOverlap) {
  MixResult mix = {.name = "m", .truth = {0.30, 0.35}, .measured = Interval{0.34, 0.4}};
  JudgeMix(mix);
  EXPECT_EQ(mix.verdict, Status::kOk);
  mix.measured = Interval{0.36, 0.4};
  JudgeMix(mix);
  EXPECT_EQ(mix.verdict, Status::kDegraded);
  mix.measured.reset();
  mix.reason.clear();
  JudgeMix(mix);
  EXPECT_EQ(mix.verdict, Status::kSkipped);
  EXPECT_FALSE(mix.reason.empty());
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

constexpr std::size_t kFloats = std::size_t{1} << 20;

// Stages over one array of floats.
class Stages {
 public:
  Stages()
      : data_(static_cast<float*>(mmap(nullptr, kFloats * sizeof(float), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    for (std::size_t i = 0; i < kFloats; ++i) data_[i] = 0.001F * static_cast<float>(i % 100);
  }
  ~Stages() { munmap(data_, kFloats * sizeof(float)); }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  float* data() const { return data_; }
  StageMemory Run(const Action& stage) const {
    const std::vector<TimedStage> stages = {{"s", stage}};
    MemorySubject subject;
    subject.stages = stages;
    subject.memory = {{reinterpret_cast<std::byte*>(data_), kFloats * sizeof(float)}};
    MemoryExperimentOptions options;
    options.seconds = 0.01;
    options.compare_instructions = ExactCounter::Probe().works;
    const Cache l2 = {.level = 2, .type = "unified", .size = 256 << 10};
    return RunMemoryExperiment(subject, {l2}, options).stages.at(0);
  }

 private:
  float* data_;
};

TEST(MemoryExperimentTest, TimesARegionAndLeavesItsMemoryAlone) {
  const Stages stages;
  const std::vector<float> before(stages.data(), stages.data() + kFloats);
  auto twice = [&stages] {
    for (std::size_t i = 0; i < kFloats; ++i) stages.data()[i] *= 1.0001F;
  };
  const StageMemory result = stages.Run(Action::Of(twice));
  EXPECT_EQ(result.reason, "");
  // (beside other work, fewer rounds than an interval needs may be undisturbed)
  ASSERT_FALSE(result.rounds.empty());
  EXPECT_GT(result.rounds[0].hot, 0);
  EXPECT_GT(result.rounds[0].second_level, 0);
  EXPECT_EQ(result.remapped_bytes, kFloats * sizeof(float));
  EXPECT_EQ(std::vector<float>(stages.data(), stages.data() + kFloats), before);
}

TEST(MemoryExperimentTest, WorkThatDependsOnValuesIsRefused) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << "the exact counter does not work here";
  const Stages stages;
  volatile float sink = 0;
  auto branches = [&] {
    float sum = 0;
    for (std::size_t i = 0; i < kFloats; ++i) {
      if (stages.data()[i] > 0.05F) {
        for (int k = 0; k < 4; ++k) asm volatile("nop");
      }
      sum += stages.data()[i];
    }
    sink = sum;
  };
  EXPECT_THAT(stages.Run(Action::Of(branches)).reason, HasSubstr("its work depends on its values"));
}

TEST(MemoryExperimentTest, ValuesThatDoNotStayNormalAreRefused) {
  const Stages stages;
  auto grows = [&stages] {
    for (std::size_t i = 0; i < kFloats; ++i) stages.data()[i] *= 1e6F;
  };
  EXPECT_THAT(stages.Run(Action::Of(grows)).reason, HasSubstr("do not stay finite and normal"));
}

TEST(MemoryExperimentTest, AShortRegionIsRefused) {
  const Stages stages;
  auto one = [&stages] { stages.data()[0] += 1; };
  EXPECT_THAT(stages.Run(Action::Of(one)).reason, HasSubstr("too short"));
}

#endif

}  // namespace
}  // namespace topdnn
