// The speed of the machine around the runs of policies, with figures worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/scheduling/machine_speed.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kRounding = 1e-9;

SpeedCurve Curve(const std::string& network, const std::map<int, double>& steps,
                 double startup = 0) {
  return {.network = network, .step_seconds = steps, .startup_seconds = startup};
}

TraceJob JobOf(const std::string& network, std::int64_t steps) {
  return {.network = network, .steps = steps};
}

// Kind a: 10 steps of 2 s and 1 s at widths 1 and 2, now 4 s and 2 s: 30 s become 60 s. Kind b: 30
// steps of 1 s at both widths, as before: 60 s. So 90 s become 120 s.
TEST(MachineSpeedTest, IsThatOfTheStepsOfAllJobs) {
  SpeedModel model;
  model.curves = {Curve("a", {{1, 2}, {2, 1}}), Curve("b", {{1, 1}, {2, 1}})};
  const std::vector<TraceJob> jobs = {JobOf("a", 4), JobOf("b", 30), JobOf("a", 6)};
  const SpeedCheck check = {.curves = {Curve("a", {{1, 4}, {2, 2}}), Curve("b", {{1, 1}, {2, 1}})},
                            .failure = {}};
  EXPECT_NEAR(*SpeedAt(jobs, model, check), 90.0 / 120, kRounding);
  // One kind and one width.
  EXPECT_NEAR(*SpeedAt(jobs, model, {.curves = {Curve("a", {{2, 0.5}})}}), 2, kRounding);
  EXPECT_FALSE(SpeedAt(jobs, model, {.curves = {}, .failure = "it died"}));
  EXPECT_FALSE(SpeedAt(jobs, model, {.curves = {Curve("c", {{1, 1}})}}));
}

// A step of 1 s before and of 3 s after: the mean speed is (1 + 1/3) / 2 steps a second, which is a
// step of 1.5 s. Width 2 is not checked: its time becomes 3/4, like that of width 1.
TEST(MachineSpeedTest, TheModelHasTheMeanSpeed) {
  SpeedModel model;
  model.curves = {Curve("a", {{1, 2}, {2, 1}}, 7), Curve("b", {{1, 6}}, 3)};
  model.curves[0].change_seconds = 0.4;
  model.losses = {{2, 0.9}};
  const SpeedCheck before = {.curves = {Curve("a", {{1, 1}})}};
  const SpeedCheck after = {.curves = {Curve("a", {{1, 3}})}};
  const SpeedModel around = ModelAround(model, before, after, {.before = 1, .after = 2});
  EXPECT_NEAR(around.curves[0].step_seconds.at(1), 1.5, kRounding);
  EXPECT_NEAR(around.curves[0].step_seconds.at(2), 0.75, kRounding);
  EXPECT_NEAR(around.curves[0].change_seconds, 0.3, kRounding);
  EXPECT_NEAR(around.curves[0].startup_seconds, 5.25, kRounding);
  // The kind that is not checked has the speed of the machine.
  EXPECT_NEAR(around.curves[1].step_seconds.at(1), 4, kRounding);
  EXPECT_NEAR(around.curves[1].startup_seconds, 2, kRounding);
  ASSERT_EQ(around.losses.size(), 1u);
  EXPECT_EQ(around.losses[0].efficiency, 0.9);
}

// Width 1 is as fast as in the model, and width 2 half as fast: a start-up is not slower.
TEST(MachineSpeedTest, AStartIsSerial) {
  SpeedModel model;
  model.curves = {Curve("a", {{1, 2}, {2, 1}}, 7)};
  const SpeedCheck check = {.curves = {Curve("a", {{1, 2}, {2, 2}})}};
  EXPECT_NEAR(ModelAround(model, check, check, {}).curves[0].startup_seconds, 7, kRounding);
}

TEST(MachineSpeedTest, TheLossesAreMeansOfTheChecks) {
  SpeedModel model;
  model.losses = {{1, 0.1}, {2, 0.2}};
  const SpeedCheck before = {.curves = {}, .losses = {{1, 0.6}, {2, 1}}};
  const SpeedCheck after = {.curves = {}, .losses = {{1, 0.8}, {2, 0.5}}};
  const SpeedModel around = ModelAround(model, before, after, {});
  ASSERT_EQ(around.losses.size(), 2u);
  EXPECT_EQ(around.losses[0].load, 1);
  EXPECT_NEAR(around.losses[0].efficiency, 0.7, kRounding);
  EXPECT_EQ(around.losses[1].load, 2);
  EXPECT_NEAR(around.losses[1].efficiency, 0.75, kRounding);
  EXPECT_EQ(ModelAround(model, before, {.curves = {}}, {}).losses[0].efficiency, 0.1);
}

TEST(MachineSpeedTest, OtherProgramsMakeACheckDoubtful) {
  EXPECT_EQ(CheckDoubt({.curves = {}}, {.curves = {}, .others = 0.05}), "");
  EXPECT_THAT(CheckDoubt({.curves = {}, .others = 0.3}, {.curves = {}, .others = 0.1}),
              HasSubstr("had 30 % of the CPUs' time"));
  EXPECT_THAT(CheckDoubt({.curves = {}}, {.curves = {}, .others = 0.1}), HasSubstr("had 10 %"));
}

// A width that the model does not have is added.
TEST(MachineSpeedTest, CheckedWidthsJoinTheModel) {
  SpeedModel model;
  model.curves = {Curve("a", {{1, 1}})};
  const SpeedCheck check = {.curves = {Curve("a", {{1, 1}, {2, 0.75}})}};
  const SpeedModel around = ModelAround(model, check, check, {});
  EXPECT_NEAR(around.curves[0].step_seconds.at(2), 0.75, kRounding);
}

TEST(MachineSpeedTest, ScalesAllTimes) {
  SpeedModel model;
  model.curves = {Curve("a", {{1, 4}, {2, 2}}, 8)};
  model.curves[0].change_seconds = 6;
  const SpeedModel scaled = ModelAtSpeed(model, 2);
  EXPECT_EQ(scaled.curves[0].step_seconds, (std::map<int, double>{{1, 2}, {2, 1}}));
  EXPECT_EQ(scaled.curves[0].startup_seconds, 4);
  EXPECT_EQ(scaled.curves[0].change_seconds, 3);
}

// Means 0.6, 1 and 3.
TEST(MachineSpeedTest, TheCommonSpeedIsTheMedian) {
  const std::vector<RunSpeed> speeds = {
      {.before = 2, .after = 4}, {.before = 0.4, .after = 0.8}, {.before = 1, .after = 1}};
  EXPECT_NEAR(CommonSpeed(speeds), 1, kRounding);
}

TEST(MachineSpeedTest, RunsAtOtherSpeedsAreDoubtful) {
  EXPECT_EQ(SpeedDoubt({.before = 1, .after = 1.09}, 1), "");
  EXPECT_EQ(SpeedDoubt({.before = 1.09, .after = 1}, 1), "");
  EXPECT_EQ(SpeedDoubt({.before = 1, .after = 1}, 1.09), "");
  const std::string changed = "changed during its run (from 1.00 to 0.90)";
  EXPECT_THAT(SpeedDoubt({.before = 1, .after = 0.9}, 0.95),
              AllOf(HasSubstr(changed), Not(HasSubstr("other policies"))));
  EXPECT_THAT(SpeedDoubt({.before = 0.9, .after = 1}, 0.95), HasSubstr("(from 0.90 to 1.00)"));
  const std::string other = "its machine speed 1.00 is not that of the other policies (1.20)";
  EXPECT_THAT(SpeedDoubt({.before = 1, .after = 1}, 1.2),
              AllOf(HasSubstr(other), Not(HasSubstr("changed"))));
  EXPECT_THAT(SpeedDoubt({.before = 1, .after = 1}, 0.8), HasSubstr("(0.80)"));
  EXPECT_THAT(SpeedDoubt({.before = 1, .after = 2}, 3),
              AllOf(HasSubstr("(from 1.00 to 2.00); "), HasSubstr("(3.00)")));
}

}  // namespace
}  // namespace topdnn
