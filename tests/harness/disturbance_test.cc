// Reads the kernel's accounts, and decides which disturbances change a median.

#include "harness/measure/disturbance.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(DisturbanceTest, ParsesProcStat) {
  const auto time = ParseMachineTime("cpu  10 1 5 100 7 2 3 4 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->stolen, 4u);
  EXPECT_EQ(time->wanted, 10u + 1 + 5 + 2 + 3 + 4);
  EXPECT_FALSE(ParseMachineTime("cpu 1 2 3\n"));
  EXPECT_FALSE(ParseMachineTime(""));
}

Disturbance Quiet() {
  Disturbance seen;
  seen.seconds = 1;
  seen.iterations = 100;
  return seen;
}

TEST(DisturbanceTest, WithoutObservationsItIsOk) {
  EXPECT_EQ(JudgeDisturbance(Quiet()).status, Status::kOk);
  EXPECT_EQ(JudgeDisturbance({}).status, Status::kOk);
  EXPECT_TRUE(JudgeDisturbance(Quiet()).reason.empty());
}

TEST(DisturbanceTest, StealCountsAboveItsShareAndItsResolution) {
  Disturbance seen = Quiet();
  seen.machine_time = MachineTime{.stolen = 20, .wanted = 1000};
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);  // exactly 2 %
  seen.machine_time->stolen = 21;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.machine_time = MachineTime{.stolen = 4, .wanted = 20};  // 20 %, but 4 ticks
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.machine_time = MachineTime{.stolen = 5, .wanted = 20};
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
}

TEST(DisturbanceTest, SwitchesCountWhenManyIterationsLoseTime) {
  Disturbance seen = Quiet();
  seen.switched_iterations = 10;
  seen.involuntary_switches = 100;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);  // exactly 10 %
  seen.switched_iterations = 11;
  const Verdict verdict = JudgeDisturbance(seen);
  EXPECT_EQ(verdict.status, Status::kDegraded);
  EXPECT_NE(verdict.reason.find("11 of 100"), std::string::npos);
  seen.switched_excess = 0.009;  // the undisturbed iterations have nearly the same median
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.switched_excess = 0.02;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.seconds = 60;  // 100 slices of 3 ms are 0.5 % of a minute
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
}

// Samples that were judged one by one leave only the speeds to the whole run.
TEST(DisturbanceTest, JudgedSamplesAreNotJudgedAgain) {
  Disturbance seen = Quiet();
  seen.machine_time = MachineTime{.stolen = 200, .wanted = 1000};
  seen.scheduler_time = SchedulerTime{.running = 500, .waiting = 500};
  seen.throttled_seconds = 0.5;
  seen.switched_iterations = 90;
  seen.involuntary_switches = 900;
  EXPECT_EQ(JudgeWholeRun(seen).status, Status::kDegraded);
  seen.judged = true;
  EXPECT_EQ(JudgeWholeRun(seen).status, Status::kOk);
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
}

constexpr Interval kAnyShare = {.low = 0, .high = 1};

// Memory at 61 % of its best condemns what waits for memory, and a clock that moved the rest.
TEST(SpeedsTest, WhatMovedCondemnsOnlyWhatDependsOnIt) {
  const Speeds slow_memory = {.clock_change = 0.01, .arithmetic = 0.99, .memory = 0.61};
  EXPECT_EQ(JudgeSpeeds(slow_memory, {.low = 0, .high = 0.05}).status, Status::kOk);
  EXPECT_EQ(JudgeSpeeds(slow_memory, {.low = 0, .high = 0.25}).status, Status::kOk);  // 0.0975
  const Verdict waits = JudgeSpeeds(slow_memory, {.low = 0.7, .high = 0.9});
  EXPECT_EQ(waits.status, Status::kDegraded);
  EXPECT_EQ(waits.reason, "a probe of memory ran at 61 % of the best known speed of this machine");
  EXPECT_EQ(JudgeSpeeds(slow_memory, kAnyShare).status, Status::kDegraded);
  const Speeds faster_clock = {.clock_change = 0.05, .arithmetic = 1.0, .memory = 1.0};
  EXPECT_EQ(JudgeSpeeds(faster_clock, {.low = 0, .high = 0.05}).status, Status::kDegraded);
  EXPECT_EQ(JudgeSpeeds(faster_clock, {.low = 0.7, .high = 0.9}).status, Status::kOk);  // 0.015
  EXPECT_EQ(JudgeSpeeds({}, kAnyShare).status, Status::kOk);
}

TEST(SpeedsTest, ALossWithinTheNoiseOfMemoryIsNone) {
  const Speeds speeds = {.clock_change = {}, .arithmetic = {}, .memory = 0.71};
  EXPECT_EQ(JudgeSpeeds(speeds, {.low = 1, .high = 1}).status, Status::kOk);
  EXPECT_EQ(InfluenceOf(speeds, {.low = 1, .high = 1}).low, 1);
}

// By hand: half of the time waits for memory, which ran at 60 %: at its best speed, 0.2 of the time
// would be saved. The clock rose by 4 %, which changed the other half by 2 % at most.
TEST(SpeedsTest, TheInfluenceOfWhatMovedIsAnInterval) {
  const Speeds speeds = {.clock_change = 0.04, .arithmetic = 1.0, .memory = 0.6};
  const Interval influence = InfluenceOf(speeds, {.low = 0.5, .high = 0.5});
  EXPECT_NEAR(influence.low, 1 - 0.5 * 0.04 - 0.5 * 0.4, 1e-12);
  EXPECT_NEAR(influence.high, 1.02, 1e-12);
  const Interval none = InfluenceOf({}, kAnyShare);
  EXPECT_EQ(none.low, 1);
  EXPECT_EQ(none.high, 1);
  EXPECT_EQ(InfluenceOf({.clock_change = 5.0, .arithmetic = {}, .memory = {}}, kAnyShare).low, 0);
}

TEST(SpeedsTest, AreThoseAroundTheMeasurement) {
  Disturbance seen;
  EXPECT_FALSE(SpeedsAround(seen).clock_change);
  seen.core_hertz_before = 3e9;
  seen.core_hertz_after = 2.7e9;
  seen.arithmetic_ratio = 0.9;
  seen.memory_ratio = 0.6;
  EXPECT_NEAR(*SpeedsAround(seen).clock_change, -0.1, 1e-12);
  EXPECT_EQ(SpeedsAround(seen).arithmetic, 0.9);
  EXPECT_EQ(SpeedsAround(seen).memory, 0.6);
}

TEST(DisturbanceTest, AClockChangeInEitherDirectionCounts) {
  Disturbance seen = Quiet();
  seen.core_hertz_before = 3e9;
  for (const double factor : {0.975, 1.0, 1.025}) {
    seen.core_hertz_after = 3e9 * factor;
    EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk) << factor;
  }
  for (const double factor : {0.96, 1.04}) {
    seen.core_hertz_after = 3e9 * factor;
    EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded) << factor;
  }
  seen.core_hertz_before = 0;  // not known
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
}

TEST(DisturbanceTest, EveryReasonIsGiven) {
  Disturbance seen = Quiet();
  seen.quiet_ratio = 0.9;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.quiet_ratio = 0.8;
  seen.machine_time = MachineTime{.stolen = 100, .wanted = 1000};
  const Verdict verdict = JudgeDisturbance(seen);
  EXPECT_NE(verdict.reason.find("stole 10.0 %"), std::string::npos);
  EXPECT_NE(verdict.reason.find("80 %"), std::string::npos);
}

// The kernel's line for a thread: time on a CPU, time waiting for a CPU, time slices.
TEST(DisturbanceTest, ParsesSchedstat) {
  const auto time = ParseSchedulerTime("176011 42331833 2\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->running, 176011u);
  EXPECT_EQ(time->waiting, 42331833u);
  EXPECT_FALSE(ParseSchedulerTime("176011 42331833\n"));
  EXPECT_FALSE(ParseSchedulerTime(""));
}

TEST(DisturbanceTest, SchedulerTimesOfThreadsAreSummed) {
  const TestFolder folder;
  for (const auto& [thread, text] : {std::pair{"11", "100 7 3"}, {"12", "200 5 1"}}) {
    std::filesystem::create_directories(folder.path() / thread);
    std::ofstream(folder.path() / thread / "schedstat") << text << "\n";
  }
  std::filesystem::create_directories(folder.path() / "13");  // the thread ended
  const auto time = ReadSchedulerTime(folder.path());
  ASSERT_TRUE(time);
  EXPECT_EQ(time->running, 300u);
  EXPECT_EQ(time->waiting, 12u);
  EXPECT_FALSE(ReadSchedulerTime(folder.path() / "none"));
}

TEST(DisturbanceTest, AKernelWithoutAccountsShowsZeros) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path() / "11");
  std::ofstream(folder.path() / "11" / "schedstat") << "0 0 0\n";
  EXPECT_FALSE(ReadSchedulerTime(folder.path()));
}

TEST(DisturbanceTest, OnlyAccountsThatGrewAreSpent) {
  KernelAccounts before;
  before.machine = MachineTime{.stolen = 5, .wanted = 100};
  before.scheduler = SchedulerTime{.running = 1000, .waiting = 10};
  before.throttled_seconds = 0.5;
  KernelAccounts after;
  after.machine = MachineTime{.stolen = 8, .wanted = 150};
  after.scheduler = SchedulerTime{.running = 4000, .waiting = 30};
  after.throttled_seconds = 0.75;
  Disturbance seen;
  AddSpent(before, after, seen);
  EXPECT_EQ(seen.machine_time->stolen, 3u);
  EXPECT_EQ(seen.machine_time->wanted, 50u);
  EXPECT_EQ(seen.scheduler_time->running, 3000u);
  EXPECT_EQ(seen.scheduler_time->waiting, 20u);
  EXPECT_DOUBLE_EQ(*seen.throttled_seconds, 0.25);
  Disturbance backwards;  // a thread ended, and the process left a group
  AddSpent(after, before, backwards);
  EXPECT_FALSE(backwards.machine_time);
  EXPECT_FALSE(backwards.scheduler_time);
  EXPECT_FALSE(backwards.throttled_seconds);
}

TEST(DisturbanceTest, AccountsWithAValueThatDecreasedAreOmitted) {
  KernelAccounts before;
  before.machine = MachineTime{.stolen = 5, .wanted = 100};
  before.scheduler = SchedulerTime{.running = 1000, .waiting = 10};
  const auto spent = [&before](MachineTime machine, SchedulerTime scheduler) {
    KernelAccounts after;
    after.machine = machine;
    after.scheduler = scheduler;
    Disturbance seen;
    AddSpent(before, after, seen);
    return seen;
  };
  EXPECT_FALSE(spent({.stolen = 4, .wanted = 150}, {}).machine_time);
  EXPECT_FALSE(spent({.stolen = 8, .wanted = 99}, {}).machine_time);
  EXPECT_FALSE(spent({}, {.running = 2000, .waiting = 9}).scheduler_time);
  EXPECT_FALSE(spent({}, {.running = 999, .waiting = 20}).scheduler_time);
  EXPECT_FALSE(spent({}, {.running = 1000, .waiting = 20}).scheduler_time) << "no thread ran";
  EXPECT_TRUE(spent({}, {.running = 1001, .waiting = 10}).scheduler_time);
}

TEST(DisturbanceTest, WaitingForACpuCountsAboveTwoPercent) {
  Disturbance seen = Quiet();
  seen.scheduler_time = SchedulerTime{.running = 980, .waiting = 20};
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.scheduler_time = SchedulerTime{.running = 979, .waiting = 21};
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.switched_excess = 0.005;  // the median equals that of the iterations without a switch
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.scheduler_time = SchedulerTime{.running = 890, .waiting = 110};
  const Verdict verdict = JudgeDisturbance(seen);
  EXPECT_EQ(verdict.status, Status::kDegraded) << "a neighbour that runs all the time";
  EXPECT_NE(verdict.reason.find("11 %"), std::string::npos);
}

TEST(DisturbanceTest, ThrottlingByAQuotaCounts) {
  Disturbance seen = Quiet();
  seen.throttled_seconds = 0.01;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kOk);
  seen.throttled_seconds = 0.03;
  EXPECT_EQ(JudgeDisturbance(seen).status, Status::kDegraded);
  seen.throttled_seconds = 0.25;  // in addition to the second that it ran
  Verdict verdict = JudgeDisturbance(seen);
  EXPECT_EQ(verdict.status, Status::kDegraded);
  EXPECT_NE(verdict.reason.find("CPU quota of the control group stopped it for 20 %"),
            std::string::npos);
  // Two threads ran for 3 s and were stopped for 1 s on both CPUs.
  seen.scheduler_time = SchedulerTime{.running = 6'000'000'000, .waiting = 0};
  seen.throttled_seconds = 2.0;
  verdict = JudgeDisturbance(seen);
  EXPECT_NE(verdict.reason.find("stopped it for 25 %"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
