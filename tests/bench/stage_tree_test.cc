// The trees of a report's records, and why the step has none.

#include "bench/profile/limits/stage_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "harness/statistics/summary.h"

namespace topdnn {
namespace {

// A step of one stage, with the nodes of a PMU.
Report ReportOfOneStage() {
  Report report;
  Record& stage = report.stages.emplace_back();
  stage.pass = "forward";
  stage.seconds = Summarize(std::vector<double>{0.5});
  stage.topdown = {
      {"Retiring", 0.3}, {"Frontend_Bound", 0.1}, {"Bad_Speculation", 0.1}, {"Backend_Bound", 0.5}};
  report.step.seconds = stage.seconds;
  return report;
}

TEST(StageTree, TheStepSaysWhyItHasNoTree) {
  Report report = ReportOfOneStage();
  AddTrees({}, report);
  ASSERT_TRUE(report.stages[0].tree) << report.stages[0].tree_reason;
  EXPECT_TRUE(report.step.tree);
  EXPECT_EQ(report.step.tree_reason, "");

  report.step.status = Status::kInvalid;
  AddTrees({}, report);
  EXPECT_TRUE(report.stages[0].tree);
  EXPECT_FALSE(report.step.tree);
  EXPECT_EQ(report.step.tree_reason, "the record is INVALID");
  EXPECT_EQ(report.step.bound_by_reason, "the record is INVALID");

  report.step.status = Status::kOk;
  report.stages[0].topdown.reset();
  AddTrees({}, report);
  EXPECT_EQ(report.step.tree_reason, "no stage has a tree");
}

}  // namespace
}  // namespace topdnn
