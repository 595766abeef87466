#include "harness/results/groups.h"

#include <gtest/gtest.h>

namespace topdnn {
namespace {

StageSamples Samples(std::vector<double> seconds) {
  StageSamples samples;
  samples.seconds = std::move(seconds);
  return samples;
}

Record Stage(const std::string& pass, const StageSamples& samples) {
  Record record;
  record.pass = pass;
  record.seconds = Summarize(samples.seconds);
  record.flops = 6e9;
  record.ceiling_flops_per_second = 4e9;
  return record;
}

// Three iterations of an update and two forward stages, which are slow in different iterations.
struct GroupsExample {
  std::vector<StageSamples> samples = {Samples({1, 1, 9}), Samples({1, 9, 1}), Samples({2, 2, 2})};
  Report report;

  GroupsExample() {
    report.stages = {Stage("forward", samples[0]), Stage("forward", samples[1]),
                     Stage("update", samples[2])};
    report.step.seconds = Summarize(std::vector<double>{4, 12, 12});
  }
};

TEST(GroupsTest, AGroupsTimeIsTheMedianOfItsSumsPerIteration) {
  GroupsExample example;
  AddGroups(example.samples, example.report);
  ASSERT_EQ(example.report.groups.size(), 2u);
  const GroupSummary& forward = example.report.groups[0];
  EXPECT_EQ(forward.name, "forward");
  EXPECT_EQ(forward.stages, 2);
  EXPECT_EQ(forward.seconds, 10);  // of 2, 10, 10; the sum of the medians is 2
  ASSERT_TRUE(forward.per_iteration);
  EXPECT_EQ(forward.per_iteration->min, 2);
  EXPECT_EQ(forward.per_iteration->n, 3);
  EXPECT_DOUBLE_EQ(forward.gflops.value(), 1.2);  // 12e9 in 10 s
  EXPECT_DOUBLE_EQ(forward.peak_fraction.value(), 0.3);
  EXPECT_EQ(example.report.remainder_seconds, 0);  // 12 - 10 - 2
}

// As a stage's: of the operations that were executed, if those are fewer. 9e9 of 12e9 in 10 s.
TEST(GroupsTest, TheShareOfPeakIsOfTheExecutedOperations) {
  GroupsExample example;
  double flops = 0;
  for (Record& stage : example.report.stages) {
    if (stage.pass != "forward" || !stage.flops) continue;
    stage.flops_counted = *stage.flops * 0.75;
    flops += *stage.flops;
  }
  ASSERT_EQ(flops, 12e9);
  AddGroups(example.samples, example.report);
  EXPECT_DOUBLE_EQ(example.report.groups[0].gflops.value(), 1.2);
  EXPECT_DOUBLE_EQ(example.report.groups[0].peak_fraction.value(), 0.225);
}

// Ten iterations of two forward stages, one disturbed in the first, one in the last of them.
TEST(GroupsTest, ATotalIsOfTheIterationsThatAreUndisturbedForEachStage) {
  std::vector<StageSamples> samples(2, Samples({50, 1, 1, 1, 1, 1, 1, 1, 1, 50}));
  const auto select = [](std::vector<double> waited, StageSamples& stage) {
    stage.selection = SelectUndisturbed({.samples = 10, .waited = waited});
  };
  select({1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, samples[0]);
  select({0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, samples[1]);
  Report report;
  report.stages = {Stage("forward", samples[0]), Stage("forward", samples[1])};
  AddGroups(samples, report);
  EXPECT_EQ(report.groups[0].per_iteration->n, 8);
  EXPECT_EQ(report.groups[0].seconds, 2);
  // Too few in common: the sum of the medians.
  select({0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, samples[0]);
  select({1, 1, 1, 1, 1, 0, 0, 0, 0, 0}, samples[1]);
  AddGroups(samples, report);
  EXPECT_FALSE(report.groups[0].per_iteration);
  EXPECT_EQ(report.groups[0].seconds, 2);
}

TEST(GroupsTest, IsolatedStagesHaveASumOfMediansAndNoSpread) {
  GroupsExample example;
  AddGroups({}, example.report);
  EXPECT_EQ(example.report.groups[0].seconds, 2);
  EXPECT_FALSE(example.report.groups[0].per_iteration);
  EXPECT_EQ(example.report.remainder_seconds, 8);  // 12 - 2 - 2
  // Samples with fewer stages or different lengths do not belong to the report.
  AddGroups(std::span(example.samples).first(2), example.report);
  EXPECT_EQ(example.report.groups.size(), 2u) << "the earlier groups are replaced";
  EXPECT_EQ(example.report.groups[0].seconds, 2);
  example.samples[1].seconds.pop_back();
  AddGroups(example.samples, example.report);
  EXPECT_EQ(example.report.groups[0].seconds, 2);
}

TEST(GroupsTest, AFailedStageLeavesItsGroupWithoutATime) {
  GroupsExample example;
  example.report.stages[1].status = Status::kFailed;
  AddGroups(example.samples, example.report);
  EXPECT_FALSE(example.report.groups[0].seconds);
  EXPECT_FALSE(example.report.groups[0].per_iteration);
  EXPECT_FALSE(example.report.groups[0].gflops);
  EXPECT_EQ(example.report.groups[1].seconds, 2);
  EXPECT_FALSE(example.report.remainder_seconds);
}

TEST(GroupsTest, NoTimeGivesNoRate) {
  GroupsExample example;
  for (StageSamples& samples : example.samples) samples.seconds = {0, 0, 0};
  AddGroups(example.samples, example.report);
  EXPECT_EQ(example.report.groups[0].seconds, 0);
  EXPECT_FALSE(example.report.groups[0].gflops);
  EXPECT_FALSE(example.report.groups[0].peak_fraction);
}

TEST(GroupsTest, BackwardPassesAreOneGroupAndOthersFollow) {
  GroupsExample example;
  example.report.stages[0].pass = "backward_data";
  example.report.stages[1].pass = "backward_weights";
  example.report.stages[2].pass = "reorder";
  example.report.stages.push_back(Stage("other", example.samples[0]));
  example.report.stages[3].ceiling_flops_per_second = 1;
  example.report.stages[1].ceiling_flops_per_second = 5e9;
  example.report.stages[2].flops.reset();
  AddGroups({}, example.report);
  ASSERT_EQ(example.report.groups.size(), 3u);
  EXPECT_EQ(example.report.groups[0].name, "backward");
  EXPECT_EQ(example.report.groups[0].stages, 2);
  EXPECT_FALSE(example.report.groups[0].peak_fraction);  // two ceilings
  EXPECT_EQ(example.report.groups[1].name, "reorder");
  EXPECT_FALSE(example.report.groups[1].gflops);
  EXPECT_EQ(example.report.groups[2].name, "other");
}

}  // namespace
}  // namespace topdnn
