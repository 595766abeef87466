// The table of `topdnn corun`, and what its rounds say about the members and the group.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench/studies/corun/corun.h"
#include "bench/studies/corun/corun_table.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CorunTableTest, StagesAreSortedByLossAndMarkedOnlyWithEvidence) {
  const auto times = [](const char* name, double solo, double low, double median, double high) {
    const Summary summary{.median = solo, .min = solo, .p90 = solo, .n = 9};
    const Slowdown slowdown{.median = median, .ci95 = {low, high}};
    return CorunTimes{.name = name,
                      .pass = "forward",
                      .solo = summary,
                      .shared = summary,
                      .slowdown = slowdown,
                      .verdict = VerdictOf(slowdown)};
  };
  CorunGroup group;
  group.members.push_back(
      {.workload = "net",
       .cpus = {0},
       .iteration = times("iteration", 3e-3, 0.9, 1.3, 1.7),
       .stages = {times("little", 1e-3, 1.01, 1.1, 1.2), times("much", 1e-3, 1.2, 1.5, 1.8),
                  times("doubtful", 1e-3, 0.9, 1.2, 1.5)},
       .reason = {},
       .waited_alone = {},
       .waited_shared = {}});
  const std::string text = CorunTable(group, 15, Style{});
  EXPECT_LT(text.find("much"), text.find("doubtful"));
  EXPECT_LT(text.find("doubtful"), text.find("little"));
  EXPECT_THAT(text, HasSubstr("no difference found"));
  const auto line = [&text](const char* name) {
    const std::size_t at = text.find(std::string("\n") + name);
    return text.substr(at, text.find('\n', at + 1) - at);
  };
  EXPECT_THAT(line("much"), AllOf(HasSubstr("+0.5"), HasSubstr("slower")));
  EXPECT_THAT(line("little"), HasSubstr("slower"));
  EXPECT_THAT(line("doubtful"), testing::Not(HasSubstr("slower")));
  EXPECT_THAT(CorunTable(group, 1, Style{}), HasSubstr("the other 2 stages"));
  // What was disturbed has figures, but no verdict.
  group.members[0].status = Status::kDegraded;
  const std::string disturbed = CorunTable(group, 15, Style{});
  EXPECT_THAT(disturbed, HasSubstr("DEGRADED: disturbed, so without a verdict: factor 1.300"));
  EXPECT_THAT(disturbed, testing::Not(HasSubstr("slower")));
  group.members[0].iteration.slowdown.reset();
  group.members[0].reason = "no iteration began and ended within a window";
  EXPECT_THAT(CorunTable(group, 15, Style{}),
              HasSubstr("net (CPU 0): not measured: no iteration began and ended within a window"));
}

// Six rounds of one member with one stage: 1 s alone, 2 s beside the others.
SharingRounds RoundsThatWaited(double alone, double shared) {
  SharingRounds rounds{.solo = {{}}, .shared = {{}}, .cancelled = false};
  for (int round = 0; round < 6; ++round) {
    rounds.solo[0].push_back({.stages = 1, .seconds = {1}, .waited = alone});
    rounds.shared[0].push_back({.stages = 1, .seconds = {2}, .waited = shared});
  }
  return rounds;
}

TEST(CorunMembersTest, AWorkloadThatWaitedForOtherProgramsIsDegraded) {
  const auto status = [](double alone, double shared, WindowTime time) {
    const auto members = MembersOf(RoundsThatWaited(alone, shared), {{{"run", ""}}}, time);
    EXPECT_EQ(members[0].iteration.slowdown->median, 2);
    return members[0].status;
  };
  EXPECT_EQ(status(0.01, 0.01, WindowTime::kMedian), Status::kOk);
  EXPECT_EQ(status(0.05, 0, WindowTime::kMedian), Status::kDegraded);
  EXPECT_EQ(status(0, 0.05, WindowTime::kMedian), Status::kDegraded);
  EXPECT_EQ(status(0, 0.5, WindowTime::kMean), Status::kOk);  // a neighbour has the same CPU
  EXPECT_EQ(status(0.05, 0.5, WindowTime::kMean), Status::kDegraded);
}

TEST(CorunMembersTest, AMissingSlowdownHasAReason) {
  const auto reason = [](const SharingRounds& rounds, std::vector<MemberStage> stages) {
    const auto members = MembersOf(rounds, {std::move(stages)}, WindowTime::kMedian);
    EXPECT_EQ(members[0].status, Status::kSkipped);
    return members[0].reason;
  };
  EXPECT_THAT(reason({.solo = {{}}, .shared = {{}}, .cancelled = false}, {}),
              HasSubstr("interrupted"));
  SharingRounds rounds = RoundsThatWaited(0, 0);
  const std::vector<std::vector<WindowSamples>> idle = {std::vector<WindowSamples>(6)};
  EXPECT_THAT(reason({.solo = idle, .shared = idle, .cancelled = false}, {}),
              HasSubstr("no iterations"));
  rounds.shared[0][3].seconds.clear();
  EXPECT_THAT(reason(rounds, {{"run", ""}}), HasSubstr("fewer than 6 rounds"));
  for (WindowSamples& window : rounds.shared[0]) window.seconds.clear();
  EXPECT_THAT(reason(rounds, {{"run", ""}}), HasSubstr("no iteration began and ended"));
}

TEST(CorunMembersTest, TheGroupsMetricsAreThoseOfTheRounds) {
  CorunGroup group;
  AddMetrics(RoundsThatWaited(0, 0), WindowTime::kMedian, group);
  EXPECT_EQ(group.stp->median, 0.5);
  EXPECT_EQ(group.antt->median, 2);
  EXPECT_EQ(group.fairness->median, 1);
  AddMetrics({.solo = {{}}, .shared = {{}}, .cancelled = false}, WindowTime::kMedian, group);
  EXPECT_FALSE(group.stp);
}

}  // namespace
}  // namespace topdnn
