// The metrics of a group, the division of CPUs and the ratios of rounds, worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

#include "harness/sharing/cpu_shares.h"
#include "harness/sharing/group_metrics.h"
#include "harness/sharing/rounds.h"

namespace topdnn {
namespace {

using testing::ElementsAre;

constexpr double kTiny = 1e-12;

// Two workloads progress at 1 / 2 and 4 / 5 of their speed alone. STP 0.5 + 0.8 = 1.3, ANTT
// (2 + 1.25) / 2 = 1.625, fairness 0.5 / 0.8 = 0.625.
TEST(GroupMetricsTest, OfTwoWorkloads) {
  const std::vector<SharingTimes> workloads = {{.solo = 1, .shared = 2}, {.solo = 4, .shared = 5}};
  EXPECT_NEAR(SystemThroughput(workloads).value(), 1.3, kTiny);
  EXPECT_NEAR(AverageTurnaround(workloads).value(), 1.625, kTiny);
  EXPECT_NEAR(Fairness(workloads).value(), 0.625, kTiny);
}

TEST(GroupMetricsTest, WithoutLoss) {
  const std::vector<SharingTimes> workloads = {{1, 1}, {4, 4}, {0.5, 0.5}};
  EXPECT_EQ(SystemThroughput(workloads), 3);
  EXPECT_EQ(AverageTurnaround(workloads), 1);
  EXPECT_EQ(Fairness(workloads), 1);
}

// Time sharing of one CPU by n programs: each takes n times as long, so STP stays 1 and ANTT is n.
TEST(GroupMetricsTest, OfProgramsThatTakeTurns) {
  const std::vector<SharingTimes> workloads = {{1, 4}, {2, 8}, {3, 12}, {4, 16}};
  EXPECT_EQ(SystemThroughput(workloads), 1);
  EXPECT_EQ(AverageTurnaround(workloads), 4);
  EXPECT_EQ(Fairness(workloads), 1);
}

TEST(GroupMetricsTest, AreAbsentWithoutTimes) {
  for (const std::vector<SharingTimes>& workloads :
       {std::vector<SharingTimes>{},
        {{0, 1}},
        {{1, 0}},
        {{1, 1}, {-1, 1}},
        {{1, std::numeric_limits<double>::quiet_NaN()}}}) {
    EXPECT_FALSE(SystemThroughput(workloads));
    EXPECT_FALSE(AverageTurnaround(workloads));
    EXPECT_FALSE(Fairness(workloads));
  }
}

using Cores = std::vector<std::vector<int>>;

TEST(CpuSharesTest, WholeCoresIfTheySuffice) {
  const Cores cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  const auto shares = ShareCpus(cores, std::vector<CpuWish>(3));
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->cpus,
              ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_FALSE(shares->share_cores);
}

TEST(CpuSharesTest, SingleCpusOtherwise) {
  const Cores cores = {{0, 2}, {1, 3}};
  const auto shares = ShareCpus(cores, std::vector<CpuWish>(3));
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->cpus, ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3)));
  EXPECT_TRUE(shares->share_cores);
}

TEST(CpuSharesTest, ThreadsAreALeastNumber) {
  const Cores cores = {{0}, {1}, {2}, {3}, {4}};
  const std::vector<CpuWish> wishes = {{.cpus = {}, .threads = 3}, {}};
  const auto shares = ShareCpus(cores, wishes);
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->cpus, ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4)));
  EXPECT_FALSE(ShareCpus(
      cores, std::vector<CpuWish>{{.cpus = {}, .threads = 3}, {.cpus = {}, .threads = 3}}));
}

TEST(CpuSharesTest, NamedCpusAreNotGivenToOthers) {
  const Cores cores = {{0, 2}, {1, 3}};
  const auto shares = ShareCpus(
      cores, std::vector<CpuWish>{{.cpus = {0, 1}, .threads = 0}, {.cpus = {1}, .threads = 0}, {}});
  ASSERT_TRUE(shares);
  EXPECT_THAT(shares->cpus, ElementsAre(ElementsAre(0, 1), ElementsAre(1), ElementsAre(2, 3)));
  EXPECT_TRUE(shares->share_cores);
}

TEST(CpuSharesTest, MoreWorkloadsThanCpusHaveNone) {
  EXPECT_FALSE(ShareCpus({{0, 1}}, std::vector<CpuWish>(3)));
  EXPECT_FALSE(ShareCpus({{0}}, std::vector<CpuWish>{{.cpus = {0}, .threads = 0}, {}}));
}

std::vector<std::optional<double>> Times(std::vector<double> values) {
  return {values.begin(), values.end()};
}

// The interval of a median of six is from the smallest to the largest ratio of a round.
TEST(SlowdownTest, IsTheMedianOfTheRatiosOfTheRounds) {
  const auto slowdown = SlowdownOf(Times({1, 2, 4, 1, 2, 10}), Times({1.5, 3, 8, 1.25, 3, 15}));
  ASSERT_TRUE(slowdown);
  EXPECT_NEAR(slowdown->median, 1.5, kTiny);
  EXPECT_NEAR(slowdown->ci95.low, 1.25, kTiny);
  EXPECT_NEAR(slowdown->ci95.high, 2, kTiny);
  EXPECT_EQ(VerdictOf(slowdown), SharingVerdict::kSlower);
}

TEST(SlowdownTest, ARoundWithoutATimeIsLeftOut) {
  auto solo = Times({1, 1, 1, 1, 1, 1, 1});
  const auto shared = Times({2, 2, 2, 2, 2, 2, 7});
  solo[6].reset();
  ASSERT_TRUE(SlowdownOf(solo, shared));
  EXPECT_EQ(SlowdownOf(solo, shared)->ci95.high, 2);
  solo[5] = 0;
  EXPECT_FALSE(SlowdownOf(solo, shared));  // five are left
}

TEST(SlowdownTest, AnIntervalThatContainsOneIsNoSlowdown) {
  const auto verdict = [](double low, double high) {
    return VerdictOf(Slowdown{.median = (low + high) / 2, .ci95 = {low, high}});
  };
  EXPECT_EQ(verdict(0.99, 1.5), SharingVerdict::kSame);
  EXPECT_EQ(verdict(1, 1.5), SharingVerdict::kSame);
  EXPECT_EQ(verdict(1.01, 1.5), SharingVerdict::kSlower);
  EXPECT_EQ(verdict(0.8, 1), SharingVerdict::kSame);
  EXPECT_EQ(verdict(0.8, 0.9), SharingVerdict::kFaster);
  EXPECT_EQ(VerdictOf({}), SharingVerdict::kUnknown);
}

// Two stages; three iterations of 1 + 10, 2 + 20 and 6 + 30.
TEST(WindowSamplesTest, TimesOfStagesAndIterations) {
  const std::vector<WindowSamples> windows = {
      {.stages = 2, .seconds = {1, 10, 2, 20, 6, 30}, .waited = {}},
      {.stages = 2, .seconds = {}, .waited = {}}};
  EXPECT_THAT(StageByRound(windows, 0, WindowTime::kMedian), ElementsAre(2, std::nullopt));
  EXPECT_THAT(StageByRound(windows, 0, WindowTime::kMean), ElementsAre(3, std::nullopt));
  EXPECT_THAT(StageByRound(windows, 1, WindowTime::kMedian), ElementsAre(20, std::nullopt));
  EXPECT_THAT(IterationByRound(windows, WindowTime::kMedian), ElementsAre(22, std::nullopt));
  EXPECT_THAT(IterationByRound(windows, WindowTime::kMean), ElementsAre(23, std::nullopt));
  EXPECT_EQ(SummaryOfIterations(windows)->min, 11);
  EXPECT_EQ(SummaryOfStage(windows, 1)->n, 3);
  EXPECT_FALSE(SummaryOfIterations(std::vector<WindowSamples>(2)));
}

}  // namespace
}  // namespace topdnn
