// Simulated profiles: stages of 2 us to 0.5 ms, whose iterations depend on their neighbours, in
// runs that differ from each other as processes do.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "harness/statistics/time_differences.h"

namespace topdnn {
namespace {

constexpr int kStages = 30;
constexpr int kIterations = 200;

struct Machine {
  double run = 0.01;        // standard deviation of a run's log time, common to its stages
  double stage = 0.005;     // of a stage in a run: the placement of its pages
  double iteration = 0.02;  // of an iteration, in addition; half of it lasts for some iterations
};

// The stages' times in one run, and those of the step, in the last place.
std::vector<RunTimes> SimulateRun(std::mt19937& random, const Machine& machine, int slow_stage,
                                  double slowdown) {
  std::normal_distribution<double> normal;
  const double run = machine.run * normal(random);
  std::vector<RunTimes> stages(kStages + 1);
  stages.back().resize(kIterations, 0.0);
  for (int i = 0; i < kStages; ++i) {
    double seconds = 2e-6 * std::pow(250.0, i / (kStages - 1.0));
    if (i == slow_stage) seconds *= slowdown;
    const double own = run + machine.stage * normal(random);
    double slow = 0;
    for (int k = 0; k < kIterations; ++k) {
      constexpr double kMemory = 0.9;
      slow = kMemory * slow + std::sqrt(1 - kMemory * kMemory) * normal(random);
      const double noise = machine.iteration * (slow + normal(random)) / std::sqrt(2.0);
      stages[i].push_back(seconds * std::exp(own + noise));
      stages.back()[k] += stages[i].back();
    }
  }
  return stages;
}

struct Comparison {
  TimeDifferences found;
  int significant = 0;  // stages
};

// `runs` a side.
Comparison Compare(std::mt19937& random, const Machine& machine, int runs, int slow_stage,
                   double slowdown) {
  std::vector<TimedPair> pairs(kStages + 1);
  for (int run = 0; run < runs; ++run) {
    const std::vector<RunTimes> a = SimulateRun(random, machine, -1, 1);
    const std::vector<RunTimes> b = SimulateRun(random, machine, slow_stage, slowdown);
    for (int i = 0; i <= kStages; ++i) {
      pairs[i].a.push_back(a[i]);
      pairs[i].b.push_back(b[i]);
    }
  }
  const TimedPair step = pairs.back();
  pairs.pop_back();
  Comparison comparison{.found = EstimateDifferences(pairs, step, {0.0})};
  std::vector<TimeDifference*> all = {&*comparison.found.step};
  for (TimeDifference& stage : comparison.found.stages) all.push_back(&stage);
  Judge(all);
  for (const TimeDifference& stage : comparison.found.stages) {
    if (stage.significant) ++comparison.significant;
  }
  return comparison;
}

struct Counts {
  int pairs_with_alarms = 0;
  int found = 0;
  int covered = 0;  // intervals of the slow stage that contain the truth
};

Counts Repeat(int trials, int runs, double slowdown, const Machine& machine = {}) {
  std::mt19937 random(7);
  constexpr int kSlow = kStages - 3;
  Counts counts;
  for (int trial = 0; trial < trials; ++trial) {
    const Comparison own = Compare(random, machine, runs, slowdown == 1 ? -1 : kSlow, slowdown);
    const TimeDifference& slow = own.found.stages[kSlow];
    const int other = own.significant - (slow.significant && slowdown != 1 ? 1 : 0);
    if (other > 0) ++counts.pairs_with_alarms;
    if (slow.significant && *slow.ratio > 1) ++counts.found;
    if (slow.interval->low <= slowdown && slowdown <= slow.interval->high) ++counts.covered;
  }
  return counts;
}

TEST(TimeDifferencesTest, RunsOfOneProgramSeldomDiffer) {
  constexpr int kTrials = 60;
  EXPECT_LE(Repeat(kTrials, 1, 1).pairs_with_alarms, kTrials / 20);
  EXPECT_LE(Repeat(kTrials, 4, 1).pairs_with_alarms, kTrials / 20);
  // Runs and pages that differ more.
  EXPECT_LE(Repeat(kTrials, 1, 1, {.run = 0.1, .stage = 0.05}).pairs_with_alarms, kTrials / 20);
}

TEST(TimeDifferencesTest, AStageSlowedByFivePercentIsFound) {
  constexpr int kTrials = 40;
  const Machine quiet = {.stage = 0.003, .iteration = 0.01};
  const Counts one = Repeat(kTrials, 1, 1.05, quiet);
  EXPECT_GE(one.found, kTrials * 3 / 4);
  EXPECT_LE(one.pairs_with_alarms, kTrials / 20);
  EXPECT_GE(one.covered, kTrials * 19 / 20);
  // Several runs a side measure the spread, so it may be larger.
  const Counts several = Repeat(kTrials, 4, 1.05);
  EXPECT_GE(several.found, kTrials * 9 / 10);
  EXPECT_LE(several.pairs_with_alarms, kTrials / 20);
  EXPECT_GE(several.covered, kTrials * 9 / 10);
}

TEST(TimeDifferencesTest, AStageSlowedByLessThanTheSpreadIsNotFound) {
  EXPECT_EQ(Repeat(20, 1, 1.05, {.stage = 0.05}).found, 0);
}

// The same samples on both sides: a ratio of 1 within a narrow interval.
TEST(TimeDifferencesTest, EqualTimesAreEqual) {
  std::mt19937 random(1);
  std::vector<TimedPair> pairs;
  for (RunTimes& times : SimulateRun(random, {}, -1, 1))
    pairs.push_back({.a = {times}, .b = {times}});
  TimeDifferences found = EstimateDifferences(pairs, pairs.back(), {});
  EXPECT_DOUBLE_EQ(*found.common, 1);
  for (const TimeDifference& stage : found.stages) {
    EXPECT_DOUBLE_EQ(*stage.ratio, 1);
    EXPECT_DOUBLE_EQ(*stage.p, 1);
    EXPECT_DOUBLE_EQ(*stage.effect, 0);
    EXPECT_LT(stage.interval->high, 1.05);
  }
}

// All stages twice as slow: no stage differs from the others. The step differs if the machine's
// ceilings did not change, and cannot be shown to differ if they are not known or changed likewise.
TEST(TimeDifferencesTest, ACommonChangeIsThatOfTheStep) {
  std::mt19937 random(1);
  std::vector<TimedPair> pairs;
  for (const RunTimes& times : SimulateRun(random, {}, -1, 1)) {
    RunTimes slow = times;
    for (double& time : slow) time *= 2;
    pairs.push_back({.a = {times}, .b = {slow}});
  }
  const TimedPair step = pairs.back();
  pairs.pop_back();
  const auto significant = [&](const MachineChanges& machine) {
    TimeDifferences found = EstimateDifferences(pairs, step, machine);
    std::vector<TimeDifference*> all = {&*found.step};
    for (TimeDifference& stage : found.stages) all.push_back(&stage);
    Judge(all);
    for (const TimeDifference& stage : found.stages) {
      EXPECT_FALSE(stage.significant);
      EXPECT_LT(stage.interval->low, 1);
      EXPECT_GT(stage.interval->high, 2);
    }
    EXPECT_NEAR(*found.common, 2, 1e-9);
    return found.step->significant;
  };
  EXPECT_TRUE(significant({0.0}));
  EXPECT_FALSE(significant({}));
  EXPECT_FALSE(significant({0.0, std::log(2.0)}));
}

TEST(TimeDifferencesTest, ADisturbedSideWidensItsInterval) {
  std::mt19937 random(1);
  const RunTimes a = SimulateRun(random, {}, -1, 1).back();
  RunTimes b = a;
  for (std::size_t i = 0; i < b.size(); i += 3) b[i] /= 3;
  const TimedPair quiet = {.a = {a}, .b = {b}};
  TimedPair disturbed = quiet;
  disturbed.b_disturbed = true;
  const auto interval = [](const TimedPair& pair) {
    return *EstimateDifferences({}, pair, {0.0}).step->interval;
  };
  EXPECT_LT(interval(disturbed).low, 0.5);
  EXPECT_GT(interval(quiet).low, 0.5);
}

// All iterations of a side were slower, so its own times do not show it; a probe beside them does.
TEST(TimeDifferencesTest, ASlowMachineWidensTheIntervalOfADisturbedSide) {
  std::mt19937 random(1);
  TimedPair pair = {.a = {SimulateRun(random, {}, -1, 1).back()}};
  pair.b = pair.a;
  for (double& time : pair.b.front()) time *= 1.5;
  const auto interval = [](const TimedPair& of) {
    return *EstimateDifferences({}, of, {0.0}).step->interval;
  };
  pair.b_speed = 0.6;  // of a side that is OK
  EXPECT_GT(interval(pair).low, 1.3);
  pair.b_disturbed = true;
  EXPECT_LT(interval(pair).low, 1.5 * 0.6);
  pair.a_disturbed = true;
  pair.a_speed = 0.5;
  EXPECT_GT(interval(pair).high, 1.5 / 0.5);
}

TEST(TimeDifferencesTest, AStageWithoutTimesHasNoDifference) {
  std::mt19937 random(1);
  std::vector<TimedPair> pairs;
  for (const RunTimes& times : SimulateRun(random, {}, -1, 1))
    pairs.push_back({.a = {times}, .b = {times}});
  pairs[2].b = {RunTimes{}};
  TimeDifferences found = EstimateDifferences(pairs, std::nullopt, {});
  EXPECT_FALSE(found.stages[2].ratio);
  EXPECT_FALSE(found.stages[2].p);
  EXPECT_TRUE(found.stages[3].ratio);
  EXPECT_FALSE(found.step);
}

// Below six stages nothing shows how much runs differ.
TEST(TimeDifferencesTest, FewStagesAreNotTested) {
  const RunTimes a(50, 1e-3);
  const RunTimes b(50, 2e-3);
  const TimeDifferences found =
      EstimateDifferences(std::vector<TimedPair>(5, {.a = {a}, .b = {b}}), std::nullopt, {});
  EXPECT_FALSE(found.spread);
  EXPECT_FALSE(found.stages[0].p);
  EXPECT_DOUBLE_EQ(*found.stages[0].ratio, 2);
}

// Neither other stages nor other times show how much a single time varies.
TEST(TimeDifferencesTest, ASingleTimeOfFewStagesHasNoInterval) {
  const TimedPair single = {.a = {{1e-3, 1.1e-3}}, .b = {{2e-3}}};
  const TimedPair several = {.a = {{1e-3, 1.1e-3}}, .b = {{2e-3, 2.1e-3}}};
  const TimeDifferences found = EstimateDifferences({single, several}, single, {0.0});
  EXPECT_TRUE(found.stages[0].ratio);
  EXPECT_FALSE(found.stages[0].interval);
  EXPECT_TRUE(found.stages[1].interval);
  EXPECT_TRUE(found.step->ratio);
  EXPECT_FALSE(found.step->interval);
}

}  // namespace
}  // namespace topdnn
