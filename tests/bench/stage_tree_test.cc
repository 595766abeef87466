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

// A stage of 10 ms on two threads of 1 GHz, whose repeated call takes `native` seconds, of which
// 80 % compute and 0.2 ms are waits for threads.
Record StageInNetwork(double native) {
  Record stage;
  stage.pass = "forward";
  stage.regime = "in-network";
  stage.seconds = Summarize(std::vector<double>{10e-3, 10e-3, 10e-3});
  CoreResult& core = stage.core_experiment.emplace();
  core.beyond_l1 = {0.1, 0.25};
  core.core_seconds = {0.8 * native, 0.84 * native};
  core.native_seconds = core.translated_seconds = native;
  core.waiting_seconds = 2e-4;
  stage.waiting = Interval{0.02, 0.05};
  stage.events = {{"exact/synchronizing_instructions", 0.0}};
  return stage;
}

BoundsMachine TwoThreads() {
  BoundsMachine machine;
  machine.rates.emplace().threads = 2;
  return machine;
}

void ExpectNode(const Record& stage, TreeNode node, double low, double high) {
  ASSERT_TRUE(stage.tree) << stage.tree_reason;
  const std::optional<NodeShare>& share = (*stage.tree)[node];
  ASSERT_TRUE(share) << NameOf(node);
  EXPECT_NEAR(share->low, low, 1e-9) << NameOf(node);
  EXPECT_NEAR(share->high, high, 1e-9) << NameOf(node);
}

// The call in the network takes 0.5 ms longer. Of its 10 ms, at least 80 % of 9.5 and 0.1 ms
// compute or wait for threads, and at least what the repeated call waits for memory does so here.
TEST(StageTree, WhatARepeatedCallWaitsForTheCallInTheNetworkWaitsForToo) {
  Record stage = StageInNetwork(9.5e-3);
  AddTree(TwoThreads(), stage);
  ExpectNode(stage, TreeNode::kWaiting, 0.02 * 0.95, 0.05);
  ExpectNode(stage, TreeNode::kMemoryBound, 0.1 * 0.95 * (1 - 0.05), 1 - (7.6e-3 + 1e-4) / 10e-3);
}

// A repeated call that takes longer than the one in the network may have run on a slower machine,
// or with its data farther away: the core takes 0.8 x 10.1 ms, or all of the 10 ms.
TEST(StageTree, ARepeatedCallThatTakesLongerLeavesBothReasonsOpen) {
  Record stage = StageInNetwork(12.5e-3);
  AddTree(TwoThreads(), stage);
  ExpectNode(stage, TreeNode::kMemoryBound, 0, 1 - 0.8 * (10e-3 + 1e-4) / 10e-3);
}

// Barriers within a kernel are not seen; without an instruction to wait with, it has none.
TEST(StageTree, OnlyAKernelThatCanWaitMayHaveBarriers) {
  Record stage = StageInNetwork(10e-3);
  AddTree(TwoThreads(), stage);
  ExpectNode(stage, TreeNode::kWaiting, 0.02, 0.05);
  for (const std::optional<double> instructions : {std::optional(4.0), std::optional<double>()}) {
    stage.events["exact/synchronizing_instructions"] = instructions;
    AddTree(TwoThreads(), stage);
    ExpectNode(stage, TreeNode::kWaiting, 0.02, 0.1);
  }
  stage.events["exact/synchronizing_instructions"] = 0;
  stage.op = "inner_product";  // whose threads wait by loads alone
  AddTree(TwoThreads(), stage);
  ExpectNode(stage, TreeNode::kWaiting, 0.02, 0.1);
}

// Of 19.6 million cycles (2 % less than two threads of 1 GHz have in 10 ms), the instructions take
// 4 million, and delivering them takes 6. The code's 1,000 lines take 300 cycles a thread when they
// are cold, its 100 blocks one misprediction each of 25; but no more time passes than what the
// call takes longer than the core.
TEST(StageTree, DeliveryBoundsTheFrontEnd) {
  Record stage = StageInNetwork(9.5e-3);
  for (const char* event :
       {"openmp_instructions", "slow_instructions", "fusible_instructions", "instruction_bytes",
        "indirect_branches", "openmp_branches", "branches_taken", "system_calls", "loads", "stores",
        "load_bytes", "store_bytes"}) {
    stage.events[std::string("exact/") + event] = 0.0;
  }
  stage.events["exact/instructions"] = 24e6;
  stage.events["exact/conditional_branches"] = 0.0;
  stage.events["exact/code_bytes"] = 64'000.0;
  stage.events["exact/code_blocks"] = 100.0;
  BoundsMachine machine = TwoThreads();
  machine.rates->mispredict_cycles = 20;
  machine.pipeline.slots = 6;
  machine.seen.core_hertz_before = machine.seen.core_hertz_after = 1e9;
  AddTree(machine, stage);
  ASSERT_TRUE(stage.tree) << stage.tree_reason;
  EXPECT_GT((*stage.tree)[TreeNode::kRest]->high, 0.2) << "nothing bounds it";
  stage.events["exact/conditional_branches"] = stage.events["exact/fusible_instructions"] = 1000.0;
  stage.events["exact/instructions"] = 24e6 + 2000;
  stage.core_experiment->delivery_seconds = 3e-3;
  AddTree(machine, stage);
  ExpectNode(stage, TreeNode::kRest, 0, (2e6 + 600'000 + 5000) / 19.6e6);
  stage.core_experiment->core_seconds.low = 9.8e-3;
  AddTree(machine, stage);
  ExpectNode(stage, TreeNode::kRest, 0, (2e6 + 200'000) / 19.6e6);
  stage.core_experiment->native_seconds = 10.05e-3;  // on a slower machine
  AddTree(machine, stage);
  ExpectNode(stage, TreeNode::kRest, 0, (2e6 + 300'000) / 19.6e6);
}

}  // namespace
}  // namespace topdnn
