// The policies of a cosched on a machine whose speed changes between them: their simulations, and
// which of them compare. The runs are made up, with figures worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/studies/cosched/cosched_check.h"
#include "bench/studies/cosched/cosched_compare.h"
#include "bench/studies/cosched/cosched_measure.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kRounding = 1e-9;

TraceJob Job(const std::string& network, std::int64_t steps, double arrival = 0) {
  return {.network = network, .steps = steps, .arrival = arrival};
}

SpeedCheck StepOf(double seconds) {
  return {.curves = {{.network = "n", .step_seconds = {{1, seconds}}}}};
}

// A job of 4 steps of a second at 0, and one of 2 steps at 10, on one CPU.
CoschedResult Result() {
  CoschedResult result;
  result.jobs = {Job("n", 4), Job("n", 2, 10)};
  result.model.curves = {{.network = "n", .step_seconds = {{1, 1}}}};
  result.model_source = "measured";
  return result;
}

// The second job ends at this time.
CoschedPolicy RunOf(double end) {
  Schedule schedule;
  schedule.jobs = {{.arrival = 0, .begin = 0, .end = 4}, {.arrival = 10, .begin = 10, .end = end}};
  schedule.cpus = 1;
  return {.policy = FindPolicy("fcfs"), .real = schedule, .simulated = {}};
}

// Runs at the speeds 1, 0.5 and 1: their last jobs take 2, 4 and 2 s.
CoschedResult SlowInTheMiddle() {
  CoschedResult result = Result();
  for (const double seconds : {1.0, 2.0, 1.0}) {
    CoschedPolicy policy = RunOf(10 + 2 * seconds);
    AddSpeed(StepOf(seconds), StepOf(seconds), result, policy);
    SimulatePolicy(result, policy);
    result.policies.push_back(policy);
  }
  CompareSpeeds(result);
  return result;
}

TEST(CoschedSpeedTest, TheSimulationHasTheSpeedOfTheRun) {
  const CoschedResult result = SlowInTheMiddle();
  std::vector<double> simulated, speeds, alone;
  for (const CoschedPolicy& policy : result.policies) {
    simulated.push_back(*MetricsOf(*policy.simulated).makespan);
    speeds.push_back(policy.speed->mean());
    alone.push_back(*policy.real->jobs[0].alone);
    EXPECT_NEAR(*SimulationError(policy), 0, kRounding);
  }
  EXPECT_THAT(simulated, ElementsAre(12, 14, 12));
  EXPECT_THAT(speeds, ElementsAre(1, 0.5, 1));
  EXPECT_THAT(alone, ElementsAre(4, 8, 4));
}

// At the common speed of 1 the slow run would take 12 s, not 14 / 2: the arrivals stay.
TEST(CoschedSpeedTest, TheSlowRunIsMarkedAndEstimated) {
  const CoschedResult result = SlowInTheMiddle();
  EXPECT_NEAR(*result.common_speed, 1, kRounding);
  EXPECT_EQ(DoubtOf(result.policies[0]), "");
  EXPECT_THAT(DoubtOf(result.policies[1]), HasSubstr("speed 0.50 is not that of the other"));
  EXPECT_EQ(DoubtOf(result.policies[2]), "");
  for (const CoschedPolicy& policy : result.policies) {
    EXPECT_NEAR(*policy.common_makespan, 12, kRounding);
  }
  const auto json = CoschedJson(result);
  EXPECT_EQ(json["common_speed"], 1);
  const auto& slow = json["policies"][1];
  EXPECT_EQ(slow["status"], "DEGRADED");
  EXPECT_EQ(slow["machine_speed"]["before"], 0.5);
  EXPECT_EQ(slow["machine_speed"]["after"], 0.5);
  EXPECT_EQ(slow["machine_speed"]["mean"], 0.5);
  EXPECT_EQ(slow["machine_speed"]["simulated_with"]["curves"][0]["steps"][0]["seconds"], 2);
  EXPECT_EQ(slow["makespan"], 14);
  EXPECT_EQ(slow["common_speed_makespan"], 12);
  EXPECT_EQ(json["policies"][0]["status"], "OK");
  const std::string text = CoschedText(result, 8, {});
  EXPECT_THAT(text, AllOf(HasSubstr("speed  ~equal speed s"), HasSubstr("at the speed 1.00.")));
}

// A run with a job that failed did less than its work.
TEST(CoschedSpeedTest, ARunWithAFailedJobIsNotCompared) {
  CoschedResult result = Result();
  CoschedPolicy policy = RunOf(12);
  policy.real->jobs[1].failure = "died\x1b[2J";
  AddSpeed(StepOf(1), StepOf(1), result, policy);
  SimulatePolicy(result, policy);
  result.jobs[1].network = "n\x1b.onnx";
  result.policies.push_back(policy);
  CompareSpeeds(result);
  EXPECT_FALSE(SimulationError(result.policies[0]));
  EXPECT_FALSE(result.policies[0].common_makespan);
  EXPECT_THAT(
      CoschedText(result, 8, {}),
      AllOf(HasSubstr("2 n\\u{1b}.onnx infer FAILED: died\\u{1b}[2J"), Not(HasSubstr("\x1b"))));
}

// The first step ends after 1.5 s, and the process 0.75 s after its last step began. With steps of
// 0.5 s, the start takes 1 s and the end 0.25 s.
TEST(StartupSecondsTest, HasNoStep) {
  EXPECT_EQ(StartupSeconds(1.5, 0.75, 0.5), 1.25);
  EXPECT_EQ(StartupSeconds(0.25, 0.25, 0.5), 0);
}

TEST(CoschedSpeedTest, WithOneSpeedThereIsNoEstimateInTheTable) {
  CoschedResult result = Result();
  result.policies.push_back(RunOf(12));
  AddSpeed(StepOf(1), StepOf(1), result, result.policies[0]);
  SimulatePolicy(result, result.policies[0]);
  CompareSpeeds(result);
  EXPECT_THAT(CoschedText(result, 8, {}), AllOf(HasSubstr("  speed  "), Not(HasSubstr("~equal"))));
}

// Before the run, the machine is as fast as in the model, and afterwards a third as fast. The mean
// speed is 2/3.
TEST(CoschedSpeedTest, AChangeDuringTheRunIsMarked) {
  CoschedResult result = Result();
  result.policies.push_back(RunOf(13));
  AddSpeed(StepOf(1), StepOf(3), result, result.policies[0]);
  SimulatePolicy(result, result.policies[0]);
  CompareSpeeds(result);
  EXPECT_NEAR(*MetricsOf(*result.policies[0].simulated).makespan, 13, kRounding);
  EXPECT_EQ(DoubtOf(result.policies[0]),
            "the machine's speed changed during its run (from 1.00 to 0.33)");
  // There is no policy to compare it with.
  EXPECT_THAT(CoschedText(result, 8, {}), Not(HasSubstr("~equal")));
}

TEST(CoschedSpeedTest, TimesOfStepsBesideOtherProgramsAreDoubtful) {
  CoschedResult result = Result();
  result.policies.push_back(RunOf(12));
  SimulatePolicy(result, result.policies[0]);
  result.model_others = 0.05;
  EXPECT_EQ(CoschedJson(result)["speed_status"], "OK");
  EXPECT_THAT(CoschedText(result, 8, {}), Not(HasSubstr("DEGRADED")));
  result.model_others = 0.4;
  EXPECT_EQ(CoschedJson(result)["speed_status"], "DEGRADED");
  EXPECT_THAT(CoschedText(result, 8, {}),
              HasSubstr("times of steps: DEGRADED: other programs, or the host, had 40 % "));
}

TEST(CoschedSpeedTest, EveryDoubtIsSaid) {
  CoschedResult result = Result();
  result.policies.push_back(RunOf(12));
  SpeedCheck busy = StepOf(2);
  busy.others = 0.2;
  AddSpeed(StepOf(1), busy, result, result.policies[0]);
  SimulatePolicy(result, result.policies[0]);
  result.policies[0].real->others = 0.1;
  CompareSpeeds(result);
  EXPECT_THAT(DoubtOf(result.policies[0]),
              AllOf(HasSubstr("had 10 % "), HasSubstr("; other programs, or the host, had 20 % "),
                    HasSubstr("was measured; the machine's speed changed")));
}

TEST(CoschedSpeedTest, ASpeedThatIsNotKnownIsSaid) {
  CoschedResult result = Result();
  result.policies = {RunOf(12), RunOf(12)};
  AddSpeed(StepOf(1), {.curves = {}, .failure = "the job died"}, result, result.policies[0]);
  for (CoschedPolicy& policy : result.policies) SimulatePolicy(result, policy);
  result.policies[1].real->others = 0.5;
  CompareSpeeds(result);
  EXPECT_EQ(DoubtOf(result.policies[0]),
            "the machine's speed around its run is not known: the job died");
  EXPECT_THAT(DoubtOf(result.policies[1]), HasSubstr("had 50 % of the CPUs"));
  EXPECT_NEAR(*MetricsOf(*result.policies[0].simulated).makespan, 12, kRounding);
  const auto json = CoschedJson(result);
  EXPECT_TRUE(json["common_speed"].is_null());
  EXPECT_TRUE(json["policies"][0]["machine_speed"].is_null());
  EXPECT_TRUE(json["policies"][0]["common_speed_makespan"].is_null());
  EXPECT_THAT(CoschedText(result, 8, {}), Not(HasSubstr("speed:")));
}

// The four with the most time of steps, in their order; the small ones are left out.
TEST(CoschedSpeedTest, ChecksTheKindsWithTheMostWork) {
  SpeedModel model;
  std::vector<TraceJob> jobs;
  const std::vector<std::pair<double, int>> kinds = {{1, 3}, {9, 1}, {2, 3},
                                                     {1, 1}, {1, 4}, {2, 1}};
  for (const auto& [seconds, steps] : kinds) {
    const std::string name = std::string("k") + std::to_string(jobs.size());
    model.curves.push_back({.network = name, .step_seconds = {{1, seconds}}});
    jobs.push_back(Job(name, steps));
  }
  jobs.push_back(Job("k5", 1));
  std::vector<std::string> names;
  for (const TraceJob& kind : KindsToCheck(jobs, model)) names.push_back(kind.network);
  EXPECT_THAT(names, ElementsAre("k1", "k2", "k4", "k5"));
}

}  // namespace
}  // namespace topdnn
