// The judgement of the experiment on data in L1: figures worked out by hand.

#include "harness/experiments/core_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace topdnn {
namespace {

using testing::HasSubstr;

// 6 rounds of 100 us native and `translated` us, and 60 us redirected, but 62 in the first.
std::vector<CoreRound> CoreRounds(double translated = 101) {
  std::vector<CoreRound> rounds(6, {.native = 100e-6,
                                    .translated = translated * 1e-6,
                                    .translated_work = translated * 1e-6,
                                    .redirected_work = 60e-6});
  rounds[0].redirected_work = 62e-6;
  return rounds;
}

CoreCounts SameWork() {
  return {.instructions = 1e6,
          .instructions_again = 1e6,
          .instructions_redirected = 1e6,
          .redirected_bytes = 1e6};
}

TEST(CoreTimes, ShareBeyondL1) {
  const CoreJudgement judged = JudgeCore(CoreRounds(100), SameWork(), {}, 4e9);
  ASSERT_TRUE(judged.result) << judged.reason;
  // 6 rounds: the interval of the median is the smallest and the largest, 60 and 62 of 100, each
  // moved by the error of 2 points
  EXPECT_NEAR(judged.result->beyond_l1.low, 0.38 - 0.02, 1e-9);
  EXPECT_NEAR(judged.result->beyond_l1.high, 0.40 + 0.02, 1e-9);
  EXPECT_NEAR(judged.result->core_seconds.low, 60e-6, 1e-12);
  EXPECT_NEAR(judged.result->core_seconds.high, 62e-6, 1e-12);
  EXPECT_NEAR(judged.result->native_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(judged.result->translated_seconds, 100e-6, 1e-12);
  EXPECT_NEAR(judged.result->redirected_seconds, 60e-6, 1e-12);
  EXPECT_EQ(judged.result->waiting_seconds, 0);
}

// What translation costs is not known to be in R as well: the seconds reach to R / 1.05.
TEST(CoreTimes, TranslationWidensTheSeconds) {
  const CoreJudgement slower = JudgeCore(CoreRounds(105), SameWork(), {}, 4e9);
  ASSERT_TRUE(slower.result) << slower.reason;
  EXPECT_NEAR(slower.result->core_seconds.low, 60e-6 / 1.05, 1e-12);
  EXPECT_NEAR(slower.result->core_seconds.high, 62e-6, 1e-12);
  const CoreJudgement faster = JudgeCore(CoreRounds(95), SameWork(), {}, 4e9);
  ASSERT_TRUE(faster.result) << faster.reason;
  EXPECT_NEAR(faster.result->core_seconds.low, 60e-6, 1e-12);
  EXPECT_NEAR(faster.result->core_seconds.high, 62e-6 / 0.95, 1e-12);
}

// 3 us of starting teams belong to the translator, 10 us are waiting.
TEST(CoreTimes, WaitingAndTeamsAreLeftOut) {
  std::vector<CoreRound> rounds(6, {.native = 110e-6,
                                    .translated = 113e-6,
                                    .translated_work = 101e-6,
                                    .redirected_work = 51e-6});
  const CoreJudgement judged = JudgeCore(rounds, SameWork(), {.whole = 3e-6, .work = 1e-6}, 4e9);
  ASSERT_TRUE(judged.result) << judged.reason;
  EXPECT_NEAR(judged.result->beyond_l1.low, 0.5 - 0.02, 1e-9);
  EXPECT_NEAR(judged.result->beyond_l1.high, 0.5 + 0.02, 1e-9);
  EXPECT_NEAR(judged.result->waiting_seconds, 10e-6, 1e-12);
}

// 4e3 crossings fewer than in the region, a cycle each at 4 GHz: 1 us of 100.
TEST(CoreTimes, CrossingsWidenTheInterval) {
  CoreCounts counts = SameWork();
  counts.crossings_added = -4e3;
  const CoreJudgement judged = JudgeCore(CoreRounds(100), counts, {}, 4e9);
  ASSERT_TRUE(judged.result) << judged.reason;
  EXPECT_NEAR(judged.result->beyond_l1.low, 0.38 - 0.03, 1e-9);
  EXPECT_NEAR(judged.result->beyond_l1.high, 0.40 + 0.03, 1e-9);
  EXPECT_NEAR(judged.result->core_seconds.low, 60e-6, 1e-12);
  EXPECT_NEAR(judged.result->core_seconds.high, 63e-6, 1e-12);
}

TEST(CoreTimes, SharesStayWithin0And1) {
  std::vector<CoreRound> rounds(6, {100e-6, 100e-6, 100e-6, 101e-6});
  const CoreJudgement judged = JudgeCore(rounds, SameWork(), {}, 0);
  ASSERT_TRUE(judged.result) << judged.reason;
  EXPECT_EQ(judged.result->beyond_l1.low, 0);
  EXPECT_NEAR(judged.result->beyond_l1.high, 0.01, 1e-9);
}

TEST(CoreTimes, DeliveryIsTheSecondLeast) {
  std::vector<CoreRound> rounds = CoreRounds(100);
  for (CoreRound& round : rounds) round.delivered_work = 31e-6;
  rounds[2].delivered_work = 21e-6;
  rounds[4].delivered_work = 26e-6;
  CoreCounts counts = SameWork();
  counts.instructions_delivered = counts.instructions;
  const CoreJudgement judged = JudgeCore(rounds, counts, {.work = 1e-6}, 4e9);
  ASSERT_TRUE(judged.result) << judged.reason;
  ASSERT_TRUE(judged.result->delivery_seconds);
  EXPECT_NEAR(*judged.result->delivery_seconds, 25e-6, 1e-12);
  counts.instructions_delivered = counts.instructions - 1000;  // other branches without the work
  const CoreJudgement other = JudgeCore(rounds, counts, {.work = 1e-6}, 4e9);
  ASSERT_TRUE(other.result) << other.reason;
  EXPECT_FALSE(other.result->delivery_seconds);
}

CoreSamples Samples(std::size_t n) {
  return {.native = std::vector<double>(n, 100e-6),
          .translated = std::vector<double>(n, 102e-6),
          .translated_work = std::vector<double>(n, 82e-6),
          .redirected_work = std::vector<double>(n, 41e-6),
          .delivered_work = std::vector<double>(n, 20e-6)};
}

// 40 of 80 us, while all rounds had 60 of 100.
TEST(CoreTimes, UndisturbedSamplesTakeThePlaceOfTheRounds) {
  CoreCounts counts = SameWork();
  counts.instructions_delivered = counts.instructions;
  const TranslationCost cost = {.whole = 2e-6, .work = 1e-6};
  const CoreJudgement judged = JudgeCore(CoreRounds(100), counts, cost, 4e9, Samples(6));
  ASSERT_TRUE(judged.result) << judged.reason;
  EXPECT_NEAR(judged.result->beyond_l1.low, 1 - 40.0 / 81 - 0.02, 1e-9);
  EXPECT_NEAR(judged.result->beyond_l1.high, 1 - 40.0 / 81 + 0.02, 1e-9);
  EXPECT_NEAR(judged.result->core_seconds.low, 40e-6, 1e-12);
  EXPECT_NEAR(judged.result->waiting_seconds, 19e-6, 1e-12);
  EXPECT_NEAR(*judged.result->delivery_seconds, 19e-6, 1e-12);
  const CoreJudgement few = JudgeCore(CoreRounds(100), counts, {}, 4e9, Samples(5));
  ASSERT_TRUE(few.result) << few.reason;
  EXPECT_NEAR(few.result->core_seconds.low, 60e-6, 1e-12);
  EXPECT_FALSE(few.result->delivery_seconds) << "no round has it";
}

std::string WhyRefused(const std::vector<CoreRound>& rounds, const CoreCounts& counts) {
  const CoreJudgement judged = JudgeCore(rounds, counts, {}, 4e9);
  EXPECT_NE(judged.result.has_value(), !judged.reason.empty());
  return judged.reason;
}

TEST(CoreTimes, RefusesTranslatedCodeThatIsOffTheNativeTime) {
  EXPECT_THAT(WhyRefused(CoreRounds(107), SameWork()),
              HasSubstr("takes 1.07 x as long as its own"));
  EXPECT_THAT(WhyRefused(CoreRounds(93), SameWork()), HasSubstr("takes 0.93 x as long as its own"));
  EXPECT_EQ(WhyRefused(CoreRounds(105.9), SameWork()), "");
  std::vector<CoreRound> spread = CoreRounds(107);
  spread[3].translated = 105e-6;  // the interval of 6 rounds is the whole range
  EXPECT_EQ(WhyRefused(spread, SameWork()), "");
}

TEST(CoreTimes, RefusesOtherInstructions) {
  CoreCounts counts = SameWork();
  counts.instructions = counts.instructions_again = 2e6;
  counts.instructions_redirected = 2e6 + 399;
  EXPECT_EQ(WhyRefused(CoreRounds(), counts), "");
  counts.instructions_redirected = 2e6 + 410;
  EXPECT_THAT(WhyRefused(CoreRounds(), counts),
              HasSubstr("2e+06 instructions on its data, 2.00041e+06"));
  counts.instructions_again = 2e6 - 200;  // it differs by 200 itself
  EXPECT_EQ(WhyRefused(CoreRounds(), counts), "");
  // An allocation in a short call.
  counts = SameWork();
  counts.instructions = counts.instructions_again = 1000;
  counts.instructions_redirected = 1249;
  EXPECT_EQ(WhyRefused(CoreRounds(), counts), "");
  counts.instructions_redirected = 1251;
  EXPECT_THAT(WhyRefused(CoreRounds(), counts), HasSubstr("its values decide"));
}

TEST(CoreTimes, RefusesDataThatStaysWhereItIs) {
  CoreCounts counts = SameWork();
  counts.kept_bytes = 1e6 / 19.1;  // 4.98 % of the sum
  EXPECT_EQ(WhyRefused(CoreRounds(), counts), "");
  counts.kept_bytes = 1e6 / 9;
  EXPECT_THAT(WhyRefused(CoreRounds(), counts), HasSubstr("10 % of the bytes"));
  counts.redirected_bytes = counts.kept_bytes = 0;
  EXPECT_THAT(WhyRefused(CoreRounds(), counts), HasSubstr("no vector instruction"));
}

TEST(CoreTimes, RefusesWhatIsSlowerInL1) {
  std::vector<CoreRound> rounds(6, {100e-6, 100e-6, 100e-6, 103e-6});
  EXPECT_THAT(WhyRefused(rounds, SameWork()), HasSubstr("1.03 to 1.03 x as long"));
  rounds[3].redirected_work = 99e-6;  // within its spread
  EXPECT_EQ(WhyRefused(rounds, SameWork()), "");
}

TEST(CoreTimes, RefusesTooFewRounds) {
  std::vector<CoreRound> rounds = CoreRounds();
  rounds[0].native = 0;  // the clock went backwards
  EXPECT_THAT(WhyRefused(rounds, SameWork()), HasSubstr("too few rounds for an interval: 5"));
}

TEST(CoreTimes, RefusesWhatIsShorterThanFollowingItsThreads) {
  const CoreJudgement judged = JudgeCore(CoreRounds(), SameWork(), {.whole = 102e-6}, 4e9);
  EXPECT_FALSE(judged.result);
  EXPECT_THAT(judged.reason, HasSubstr("too short"));
}

}  // namespace
}  // namespace topdnn
