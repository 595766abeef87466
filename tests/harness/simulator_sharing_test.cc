// The simulator of co-scheduling policies, against recursions and schedules worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/scheduling/simulator.h"
#include "harness/scheduling/trace_generator.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kNearby = 1e-9;

// Steps of a second at width 1 that scale perfectly.
SpeedModel PerfectModel(int most = 16) {
  SpeedModel model;
  model.curves.push_back({.network = "n", .step_seconds = {}});
  for (int width = 1; width <= most; ++width) model.curves[0].step_seconds[width] = 1.0 / width;
  return model;
}

TraceJob JobAt(double arrival, std::int64_t steps, int max = 1, int min = 1, int priority = 0) {
  return {.network = "n",
          .steps = steps,
          .arrival = arrival,
          .priority = priority,
          .min_width = min,
          .max_width = max};
}

Schedule Scheduled(const char* policy, int cpus, const std::vector<TraceJob>& jobs,
                   const SpeedModel& model = PerfectModel()) {
  return Simulate(jobs, model, *FindPolicy(policy), {.cpus = cpus});
}

std::vector<double> EndsOf(const Schedule& schedule) {
  std::vector<double> ends;
  for (const JobRun& run : schedule.jobs) ends.push_back(run.end.value_or(-1));
  return ends;
}

auto Near(double value) { return DoubleNear(value, kNearby); }

// A job of 4 s at 0 and one of 2 s at 1 share a CPU. Until 1 the first does 1 s of its work. Then
// each has half: the second ends after 4 s, at 5, when the first has 1 s left, and ends at 6.
TEST(SimulatorTest, ProcessorSharingOfTwoJobs) {
  EXPECT_THAT(EndsOf(Scheduled("uncontrolled", 1, {JobAt(0, 4), JobAt(1, 2)})),
              ElementsAre(Near(6), Near(5)));
}

// Three at 0 with 1, 2 and 3 s share a CPU: 3 rounds of 1 s end the first at 3; the second has 1 s
// left and ends after 2 s at 5; the third ends at 6.
TEST(SimulatorTest, ProcessorSharingOfThreeJobs) {
  EXPECT_THAT(EndsOf(Scheduled("uncontrolled", 1, {JobAt(0, 1), JobAt(0, 2), JobAt(0, 3)})),
              ElementsAre(Near(3), Near(5), Near(6)));
}

// Lindley: the wait of a job is max(0, wait + service of the one before - the time between them).
// Services 3 1 2 4 1, arrivals 0 1 5 6 12: waits 0, 0+3-1 = 2, 2+1-4 < 0, 0+2-1 = 1, 1+4-6 < 0.
TEST(SimulatorTest, FcfsOnOneCpuHasTheWaitsOfLindley) {
  const Schedule schedule =
      Scheduled("fcfs", 1, {JobAt(0, 3), JobAt(1, 1), JobAt(5, 2), JobAt(6, 4), JobAt(12, 1)});
  std::vector<double> waits;
  for (const JobRun& run : schedule.jobs) waits.push_back(*WaitOf(run));
  EXPECT_THAT(waits, ElementsAre(Near(0), Near(2), Near(0), Near(1), Near(0)));
  EXPECT_THAT(EndsOf(schedule), ElementsAre(Near(3), Near(4), Near(7), Near(11), Near(13)));
}

// The same recursion for a long random trace.
TEST(SimulatorTest, FcfsFollowsTheRecursionForRandomJobs) {
  std::mt19937_64 random(3);
  std::vector<TraceJob> jobs;
  double arrival = 0;
  for (int j = 0; j < 2000; ++j) {
    jobs.push_back(JobAt(arrival, 1 + static_cast<std::int64_t>(random() % 9)));
    arrival += static_cast<double>(random() % 11);
  }
  const Schedule schedule = Scheduled("fcfs", 1, jobs);
  double wait = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (j > 0) {
      wait = std::max(0.0, wait + static_cast<double>(jobs[j - 1].steps) -
                               (jobs[j].arrival - jobs[j - 1].arrival));
    }
    ASSERT_NEAR(*WaitOf(schedule.jobs[j]), wait, 1e-6) << j;
  }
}

// 4 CPUs, jobs of width 4. Alone the first does 4 s of its 8 until 1, then each has 2 CPUs: the
// second (4 s of work) ends at 3, when the first has none left either.
TEST(SimulatorTest, EqualWidthsChangeAtAnArrival) {
  const Schedule schedule = Scheduled("equal", 4, {JobAt(0, 8, 4), JobAt(1, 4, 4)});
  EXPECT_THAT(EndsOf(schedule), ElementsAre(Near(3), Near(3)));
  ASSERT_EQ(schedule.jobs[0].segments.size(), 2u);
  EXPECT_EQ(schedule.jobs[0].segments[0].width, 4);
  EXPECT_EQ(schedule.jobs[0].segments[1].width, 2);
  EXPECT_NEAR(schedule.jobs[0].segments[1].begin, 1, kNearby);
  EXPECT_NEAR(schedule.cpu_seconds, 12, kNearby);
}

// A change costs 0.5 s. At 1 the first job has 4 s of work left. It changes to width 2 until 1.5,
// and does 3 s of work until 3, when the second job ends. It changes to width 4 until 3.5, and does
// the last 1 s of work in 0.25 s.
TEST(SimulatorTest, AChangeOfWidthCosts) {
  SpeedModel model = PerfectModel();
  model.curves[0].change_seconds = 0.5;
  EXPECT_THAT(EndsOf(Scheduled("equal", 4, {JobAt(0, 8, 4), JobAt(1, 4, 4)}, model)),
              ElementsAre(Near(3.75), Near(3)));
}

// Start-up takes a second of wall time at any width.
TEST(SimulatorTest, AStartCosts) {
  SpeedModel model = PerfectModel();
  model.curves[0].startup_seconds = 1;
  EXPECT_THAT(EndsOf(Scheduled("fcfs", 2, {JobAt(0, 4, 2), JobAt(0, 4, 2)}, model)),
              ElementsAre(Near(3), Near(6)));
}

// At load 2 the efficiency is 0.5: two jobs of 2 CPUs on 2 CPUs run at a quarter of their speed.
TEST(SimulatorTest, OverSubscriptionLoses) {
  SpeedModel model = PerfectModel();
  model.losses = {{2, 0.5}};
  EXPECT_THAT(EndsOf(Scheduled("uncontrolled", 2, {JobAt(0, 4, 2), JobAt(0, 4, 2)}, model)),
              ElementsAre(Near(8), Near(8)));
}

// The urgent job arrives last, and passes the one that waits.
TEST(SimulatorTest, AHigherPriorityPassesInTheQueue) {
  EXPECT_THAT(EndsOf(Scheduled("fcfs", 1, {JobAt(0, 4), JobAt(1, 2), JobAt(2, 3, 1, 1, 5)})),
              ElementsAre(Near(4), Near(9), Near(7)));
}

std::vector<TraceJob> RandomJobs(int count, int cpus, std::uint64_t seed) {
  const std::vector<NominalJob> kinds = {{"n", false, 1, 20000}};
  return GenerateTrace({.jobs = count, .seed = seed, .load_percent = 90, .cpus = cpus}, kinds);
}

// Little's law holds for every sample path that begins and ends empty: the mean number of jobs in
// the system, times the length, is the sum of their turnarounds. The left side is counted from the
// ends and arrivals in their order.
TEST(SimulatorTest, LittlesLaw) {
  const auto jobs = RandomJobs(300, 4, 5);
  for (const Policy& policy : Policies()) {
    const Schedule schedule = Simulate(jobs, PerfectModel(), policy, {.cpus = 4});
    std::vector<std::pair<double, int>> events;
    double turnaround = 0;
    for (const JobRun& run : schedule.jobs) {
      events.emplace_back(run.arrival, 1);
      events.emplace_back(*run.end, -1);
      turnaround += *TurnaroundOf(run);
    }
    std::sort(events.begin(), events.end());
    double area = 0;
    int inside = 0;
    for (std::size_t e = 0; e + 1 < events.size(); ++e) {
      inside += events[e].second;
      area += inside * (events[e + 1].first - events[e].first);
    }
    EXPECT_NEAR(area, turnaround, 1e-6 * turnaround) << policy.name;
  }
}

// Perfect scaling conserves work: the CPU time is the same for every policy, and each job's
// segments add up to its steps.
TEST(SimulatorTest, WorkIsConserved) {
  const auto jobs = RandomJobs(300, 4, 6);
  SpeedModel model = PerfectModel();
  for (const Policy& policy : Policies()) {
    const Schedule schedule = Simulate(jobs, model, policy, {.cpus = 4});
    double work = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      work += static_cast<double>(jobs[j].steps);
      if (!policy.own_cpus) continue;
      double done = 0;
      for (const WidthSegment& s : schedule.jobs[j].segments) done += s.width * (s.end - s.begin);
      ASSERT_NEAR(done, static_cast<double>(jobs[j].steps), 1e-6) << policy.name << " job " << j;
    }
    EXPECT_NEAR(schedule.cpu_seconds, work, 1e-6 * work) << policy.name;
  }
}

// On one CPU no policy can leave it idle while a job waits, so the makespan is the same for all.
TEST(SimulatorTest, OneCpuIsNeverIdleWhileAJobWaits) {
  auto jobs = RandomJobs(200, 1, 9);
  const double expected = *MetricsOf(Scheduled("fcfs", 1, jobs)).makespan;
  for (const Policy& policy : Policies()) {
    const Schedule schedule = Simulate(jobs, PerfectModel(), policy, {.cpus = 1});
    EXPECT_NEAR(*MetricsOf(schedule).makespan, expected, 1e-6 * expected) << policy.name;
  }
}

TEST(SimulatorTest, TenThousandJobsOnAThousandCpus) {
  const auto jobs = RandomJobs(10000, 1000, 1);
  for (const Policy& policy : Policies()) {
    const Schedule schedule =
        Simulate(jobs, PerfectModel(), policy, {.cpus = 1000, .part_width = 2});
    for (const JobRun& run : schedule.jobs) ASSERT_TRUE(run.end) << policy.name;
  }
}

TEST(SimulatorTest, AKindWithoutTimesIsNamed) {
  auto job = JobAt(0, 1);
  job.network = "unknown";
  EXPECT_THROW(Scheduled("fcfs", 1, {job}), std::invalid_argument);
}

// Amdahl with a serial share of 0.2: steps of 1, 0.6 and 0.4 s at widths 1, 2 and 4.
TEST(SpeedModelTest, TheFitFindsTheSerialShare) {
  const SpeedCurve curve{.network = "n", .step_seconds = {{1, 1.0}, {2, 0.6}, {4, 0.4}}};
  const AmdahlFit fit = FitAmdahl(curve.step_seconds);
  EXPECT_NEAR(fit.one, 1, kNearby);
  EXPECT_NEAR(fit.serial, 0.2, kNearby);
  EXPECT_NEAR(StepTimeAt(curve, 8), 0.3, kNearby);
}

TEST(SpeedModelTest, TheSerialShareIsWithinZeroAndOne) {
  EXPECT_EQ(FitAmdahl({{1, 1.0}, {2, 0.4}}).serial, 0);
  EXPECT_EQ(FitAmdahl({{1, 1.0}, {2, 1.5}}).serial, 1);
  EXPECT_EQ(FitAmdahl({{1, 1.0}}).serial, kAssumedSerialShare);
}

// Width 2 of 4 CPUs: one other thread uses half of the other CPUs, so half of the loss of 0.2. Load
// 1.5 is halfway between the efficiencies 0.8 and 0.4.
TEST(SpeedModelTest, LossesAreInterpolated) {
  const std::vector<LoadLoss> losses = {{1, 0.8}, {2, 0.4}};
  EXPECT_NEAR(RelativeSpeed(losses, 4, 2, 0), 1, kNearby);
  EXPECT_NEAR(RelativeSpeed(losses, 4, 2, 1), 0.9, kNearby);
  EXPECT_NEAR(RelativeSpeed(losses, 4, 2, 2), 0.8, kNearby);
  EXPECT_NEAR(RelativeSpeed(losses, 4, 2, 4), 0.6 / 1.5, kNearby);
  EXPECT_NEAR(RelativeSpeed(losses, 4, 4, 12), 0.4 / 4, kNearby);
  EXPECT_NEAR(RelativeSpeed({}, 4, 4, 4), 0.5, kNearby);
}

// Turnarounds 4 and 6 of jobs that take 2 alone: slowdowns 2 and 3, fairness (2/6) / (2/4) = 2/3.
TEST(ScheduleTest, Metrics) {
  Schedule schedule;
  schedule.jobs = {{.arrival = 0, .begin = 1, .end = 4, .segments = {{1, 4, 2}}, .alone = 2},
                   {.arrival = 2, .begin = 4, .end = 8, .segments = {{4, 8, 1}}, .alone = 2},
                   {.arrival = 3, .begin = 3, .end = 5, .segments = {}, .failure = "died"}};
  schedule.cpus = 2;
  schedule.cpu_seconds = 10;
  const ScheduleMetrics metrics = MetricsOf(schedule);
  EXPECT_EQ(metrics.done, 2u);
  EXPECT_EQ(metrics.failed, 1u);
  EXPECT_NEAR(*metrics.makespan, 8, kNearby);
  EXPECT_NEAR(*metrics.wait, 1.5, kNearby);
  EXPECT_NEAR(*metrics.service, 3.5, kNearby);
  EXPECT_NEAR(*metrics.turnaround, 5, kNearby);
  EXPECT_NEAR(*metrics.mean_slowdown, 2.5, kNearby);
  EXPECT_NEAR(*metrics.max_slowdown, 3, kNearby);
  EXPECT_NEAR(*metrics.fairness, 2.0 / 3, kNearby);
  EXPECT_NEAR(*metrics.cpu_use, 10.0 / 16, kNearby);
  EXPECT_NEAR(*metrics.jobs_per_minute, 15, kNearby);
  EXPECT_FALSE(MetricsOf({}).makespan);
}

TEST(ScheduleTest, OtherProgramsDisturb) {
  EXPECT_EQ(DisturbanceOf({}), "");
  EXPECT_EQ(DisturbanceOf({.jobs = {}, .others = 0.05}), "");
  EXPECT_THAT(DisturbanceOf({.jobs = {}, .others = 0.06}),
              testing::HasSubstr("had 6 % of the CPUs"));
}

// 10 columns of a second. The second job waits from 2 to 5, then has 12 CPUs.
TEST(ScheduleTest, Timeline) {
  Schedule schedule;
  schedule.jobs = {
      {.arrival = 0, .begin = 0, .end = 5, .segments = {{0, 3, 2}, {3, 5, 1}}, .alone = {}},
      {.arrival = 2, .begin = 5, .end = 10, .segments = {{5, 10, 12}}, .alone = {}}};
  const std::vector<std::string> labels = {"a", "bb"};
  EXPECT_EQ(TimelineText(schedule, labels, 5, 14), "a   22211\nbb    ...ccccc\n");
  EXPECT_EQ(TimelineText(schedule, labels, 1, 13), "a  22211\n");
  // A label has at most half of the columns: here three characters of two bytes each.
  const std::vector<std::string> wide = {"\u00e4\u00e4\u00e4\u00e4"};
  EXPECT_EQ(TimelineText(schedule, wide, 1, 6), "\u00e4\u00e4\u00e4  2\n");
}

}  // namespace
}  // namespace topdnn
