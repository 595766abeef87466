// What Slurm's commands print, and the parts into which its jobs divide a sweep.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "bench/studies/fleet/slurm.h"
#include "bench/studies/sweep/sweep.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SlurmTest, LinesOfTheQueueAndOfTheAccounts) {
  SlurmTask task;
  ASSERT_TRUE(ReadQueueLine("topdnn|name|41|3|RUNNING|n2|None", task));
  EXPECT_EQ(task.job, 41);
  EXPECT_EQ(task.task, 3);
  EXPECT_EQ(task.nodes, "n2");
  EXPECT_TRUE(IsActive(task.state));
  EXPECT_FALSE(ReadQueueLine("slurm_load_jobs error: Invalid job id specified", task));
  EXPECT_FALSE(ReadQueueLine("topdnn|name|41|N/A|RUNNING|n2|None", task));
  ASSERT_TRUE(ReadAccountLine("41_3|name|CANCELLED by 0|None assigned|0:15", task));
  EXPECT_EQ(task.state, "CANCELLED");
  EXPECT_EQ(task.nodes, "");
  EXPECT_FALSE(IsActive(task.state));
  EXPECT_FALSE(ReadAccountLine("41_[1-3]|name|PENDING|None assigned|0:0", task));
}

// The state of a job that a more important one ended.
TEST(SlurmTest, APreemptedTaskHasEnded) {
  SlurmTask task;
  ASSERT_TRUE(ReadAccountLine("41_3|name|PREEMPTED|n1|0:15", task));
  EXPECT_FALSE(IsActive(task.state));
}

TEST(SlurmTest, AProblemHasTheFixOfItsMessage) {
  EXPECT_THAT(SlurmProblem("sbatch",
                           "sbatch: error: Batch job submission failed: Requested node "
                           "configuration is not available\n"),
              HasSubstr("sinfo -Nl"));
  EXPECT_THAT(SlurmProblem("squeue", "squeue: fatal: Could not establish a configuration source\n"),
              HasSubstr("SLURM_CONF"));
}

TEST(SweepPartTest, ThePartsDivideTheCases) {
  SweepPlan plan{.values = {{"batch", {"1", "2", "3", "4", "5", "6", "7"}}}, .settings = {}};
  plan.parts = 3;
  std::vector<std::size_t> sizes;
  std::set<std::string> ids;
  for (plan.part = 1; plan.part <= plan.parts; ++plan.part) {
    sizes.push_back(CasesOf(plan).size());
    for (const SweepCase& one : CasesOf(plan)) ids.insert(IdOf(one, {}));
  }
  EXPECT_THAT(sizes, ElementsAre(3, 2, 2));
  EXPECT_EQ(ids.size(), 7u);
}

}  // namespace
}  // namespace topdnn
