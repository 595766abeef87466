// Co-scheduling policies against schedules worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "harness/scheduling/cpu_assignment.h"
#include "harness/scheduling/policies.h"

namespace topdnn {
namespace {

using testing::ElementsAre;

struct Job {
  int min = 1, max = 1, now = 0, part = kNoPart;
};

std::vector<QueuedJob> Queue(const std::vector<Job>& jobs) {
  std::vector<QueuedJob> queue;
  for (const Job& job : jobs) {
    queue.push_back({.job = queue.size(),
                     .min_width = job.min,
                     .max_width = job.max,
                     .now = {job.now, job.part}});
  }
  return queue;
}

std::vector<JobWidth> Decide(const char* policy, int cpus, const std::vector<Job>& jobs,
                             int part_width = 1) {
  const auto queue = Queue(jobs);
  return FindPolicy(policy)->decide({.cpus = cpus, .part_width = part_width, .jobs = queue});
}

std::vector<int> Widths(const char* policy, int cpus, const std::vector<Job>& jobs) {
  std::vector<int> widths;
  for (const JobWidth& job : Decide(policy, cpus, jobs)) widths.push_back(job.width);
  return widths;
}

TEST(PoliciesTest, TheTableHasEachOnce) {
  std::vector<std::string> names;
  for (const Policy& policy : Policies()) {
    names.emplace_back(policy.name);
    EXPECT_EQ(FindPolicy(policy.name), &policy);
    EXPECT_FALSE(policy.source.empty());
  }
  EXPECT_THAT(names, ElementsAre("fcfs", "uncontrolled", "static", "proportional", "equal"));
  EXPECT_EQ(FindPolicy("lottery"), nullptr);
}

TEST(PoliciesTest, PriorityThenArrivalOrdersTheQueue) {
  std::vector<QueuedJob> queue;
  TraceJob second, urgent;
  second.min_width = 2;
  second.max_width = 3;
  urgent.priority = 1;
  Enqueue(1, second, queue);
  Enqueue(2, urgent, queue);
  Enqueue(0, {}, queue);
  std::vector<std::size_t> order;
  for (const QueuedJob& queued : queue) order.push_back(queued.job);
  EXPECT_THAT(order, ElementsAre(2, 0, 1));
  EXPECT_EQ(queue.back().min_width, 2);
  EXPECT_EQ(queue.back().max_width, 3);
}

// 4 CPUs: the job of 3 runs, the job of 2 does not fit into the 1 that is left, and the job of 1
// behind it fits, but must not pass it.
TEST(PoliciesTest, FcfsIsStrict) {
  EXPECT_THAT(Widths("fcfs", 4, {{1, 3}, {1, 2}, {1, 1}}), ElementsAre(3, 0, 0));
  EXPECT_THAT(Widths("fcfs", 4, {{1, 3, 3}, {1, 1}, {1, 2}}), ElementsAre(3, 1, 0));
  EXPECT_THAT(Widths("fcfs", 4, {{1, 2}, {1, 2}, {1, 1}}), ElementsAre(2, 2, 0));
}

// Two CPUs are left of four: the job of 3 that runs keeps its width, and the waiting job of 4
// starts with 2 when it has ended.
TEST(PoliciesTest, FcfsAfterALossOfCpus) {
  EXPECT_THAT(Widths("fcfs", 2, {{1, 3, 3}, {1, 4}}), ElementsAre(3, 0));
  EXPECT_THAT(Widths("fcfs", 2, {{1, 4}}), ElementsAre(2));
}

TEST(PoliciesTest, UncontrolledStartsAllAtTheirMaximum) {
  EXPECT_THAT(Widths("uncontrolled", 2, {{1, 2}, {1, 2}, {1, 1}}), ElementsAre(2, 2, 1));
}

// 5 CPUs in parts of 2: two parts, and one CPU is not used. The job of maximum 1 occupies a part.
TEST(PoliciesTest, StaticGivesAWholePart) {
  EXPECT_THAT(Decide("static", 5, {{1, 4}, {1, 1}, {1, 2}}, 2),
              ElementsAre(JobWidth{2, 0}, JobWidth{1, 1}, JobWidth{}));
  EXPECT_THAT(Decide("static", 5, {{1, 4, 2, 1}, {1, 1}, {1, 2}}, 2),
              ElementsAre(JobWidth{2, 1}, JobWidth{1, 0}, JobWidth{}));
}

// Of three parts, two are left: the job of part 2 moves to the free part 0; if there is none, it
// shares part 2 % 2 = 0.
TEST(PoliciesTest, StaticAfterALossOfCpus) {
  EXPECT_THAT(Decide("static", 2, {{1, 1, 1, 2}, {1, 1, 1, 1}}, 1),
              ElementsAre(JobWidth{1, 0}, JobWidth{1, 1}));
  EXPECT_THAT(Decide("static", 2, {{1, 1, 1, 2}, {1, 1, 1, 1}, {1, 1, 1, 0}, {1, 1}}, 1),
              ElementsAre(JobWidth{1, 0}, JobWidth{1, 1}, JobWidth{1, 0}, JobWidth{}));
}

// 8 CPUs for maxima 8, 4, 4: halves, as 8 * 8 / 16 = 4 and 8 * 4 / 16 = 2.
// 7 CPUs: 3.5, 1.75, 1.75 are 3, 1, 1 and two CPUs for the remainders 0.75 and 0.75.
TEST(PoliciesTest, ProportionalToTheMaximum) {
  EXPECT_THAT(Widths("proportional", 8, {{1, 8}, {1, 4}, {1, 4}}), ElementsAre(4, 2, 2));
  EXPECT_THAT(Widths("proportional", 7, {{1, 8}, {1, 4}, {1, 4}}), ElementsAre(3, 2, 2));
  EXPECT_THAT(Widths("proportional", 16, {{1, 8}, {1, 4}}), ElementsAre(8, 4));
  // 8 * 8 / 12 = 5.33 and 2.67; the minimum 4 leaves 4 for the first.
  EXPECT_THAT(Widths("proportional", 8, {{1, 8}, {4, 4}}), ElementsAre(4, 4));
}

// 8 CPUs for three jobs: 2.67 each, so 2 each, and two more for the first two. A maximum of 1
// leaves 7 for two: 3.5 each.
TEST(PoliciesTest, EqualWidths) {
  EXPECT_THAT(Widths("equal", 8, {{1, 8}, {1, 8}, {1, 8}}), ElementsAre(3, 3, 2));
  EXPECT_THAT(Widths("equal", 8, {{1, 8}, {1, 1}, {1, 8}}), ElementsAre(4, 1, 3));
  EXPECT_THAT(Widths("equal", 2, {{1, 2}}), ElementsAre(2));
  EXPECT_THAT(Widths("equal", 2, {{1, 2, 2}, {1, 2}}), ElementsAre(1, 1));
}

// A job waits if its minimum width does not fit, and those behind it wait, too. Jobs that run keep
// their minimum widths even if they exceed the CPUs.
TEST(PoliciesTest, MinimumWidthsLimitHowManyRun) {
  for (const char* policy : {"equal", "proportional"}) {
    EXPECT_THAT(Widths(policy, 4, {{2, 4}, {3, 4}, {1, 1}}), ElementsAre(4, 0, 0)) << policy;
    EXPECT_THAT(Widths(policy, 2, {{2, 4, 2}, {2, 4, 2}, {1, 1}}), ElementsAre(2, 2, 0)) << policy;
    // A job that runs is admitted before a waiting one of a higher priority.
    EXPECT_THAT(Widths(policy, 2, {{1, 2}, {2, 2, 2}}), ElementsAre(0, 2)) << policy;
  }
}

// Whatever the queue: widths are within their limits, use all CPUs that the jobs can use, and no
// job that runs stops.
TEST(PoliciesTest, WidthsAreWithinTheirLimits) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    const int cpus = 1 + below(12);
    std::vector<Job> jobs(static_cast<std::size_t>(1 + below(8)));
    int left = cpus;
    for (Job& job : jobs) {
      job.min = 1 + below(static_cast<std::uint64_t>(cpus));
      job.max = job.min + below(static_cast<std::uint64_t>(cpus - job.min + 1));
      if (job.min <= left && below(2) == 0) job.now = job.min;
      left -= job.now;
    }
    for (const char* policy : {"equal", "proportional"}) {
      const std::vector<int> widths = Widths(policy, cpus, jobs);
      int sum = 0, most = 0;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        EXPECT_TRUE(widths[j] == 0 || (widths[j] >= jobs[j].min && widths[j] <= jobs[j].max));
        EXPECT_TRUE(jobs[j].now == 0 || widths[j] > 0);
        sum += widths[j];
        most += widths[j] > 0 ? jobs[j].max : 0;
      }
      EXPECT_EQ(sum, std::min(cpus, most)) << policy << " round " << round;
    }
  }
}

// The mean maxima are 2, 5 and 2.5. Half of them, rounded up, is 1, 3 and 2. The minimum 3 of the
// last is larger.
TEST(PoliciesTest, DefaultPartWidth) {
  EXPECT_EQ(DefaultPartWidth(std::vector<WidthDemand>{{1, 1, 2}, {1, 1, 2}}), 1);
  EXPECT_EQ(DefaultPartWidth(std::vector<WidthDemand>{{1, 1, 8}, {1, 1, 2}}), 3);
  EXPECT_EQ(DefaultPartWidth(std::vector<WidthDemand>{{1, 3, 4}, {1, 1, 1}}), 3);
}

std::vector<std::vector<int>> Assign(const std::vector<int>& available,
                                     const std::vector<CpuClaim>& claims, int part_width = 1) {
  return AssignCpus(available, part_width, claims);
}

TEST(CpuAssignmentTest, JobsKeepTheirCpus) {
  EXPECT_THAT(Assign({0, 1, 2, 3}, {{{2}, {}}, {{2}, {}}}),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(Assign({0, 1, 2, 3}, {{{1}, {2, 3}}, {{3}, {}}}),
              ElementsAre(ElementsAre(2), ElementsAre(0, 1, 3)));
  EXPECT_THAT(Assign({5, 7}, {{{0}, {}}, {{1}, {7}}}), ElementsAre(ElementsAre(), ElementsAre(7)));
}

// CPU 1 is gone: its job gets the free one, or shares one.
TEST(CpuAssignmentTest, AfterALossOfCpus) {
  EXPECT_THAT(Assign({0, 2}, {{{1}, {0}}, {{1}, {1}}}),
              ElementsAre(ElementsAre(0), ElementsAre(2)));
  EXPECT_THAT(Assign({0}, {{{1}, {0}}, {{1}, {1}}}), ElementsAre(ElementsAre(0), ElementsAre(0)));
  EXPECT_THAT(Assign({0}, {{{2}, {0, 1}}}), ElementsAre(ElementsAre(0)));
  // A part of 4 CPUs, of which two are left.
  EXPECT_THAT(Assign({0, 2}, {{{4, 0}, {0, 1, 2, 3}}}, 4), ElementsAre(ElementsAre(0, 2)));
}

TEST(CpuAssignmentTest, APartHasItsOwnCpus) {
  EXPECT_THAT(Assign({0, 1, 2, 3, 4}, {{{2, 1}, {}}, {{1, 0}, {3}}}, 2),
              ElementsAre(ElementsAre(2, 3), ElementsAre(0)));
}

}  // namespace
}  // namespace topdnn
