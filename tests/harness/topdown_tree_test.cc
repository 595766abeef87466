// The Top-Down tree from evidence made by hand: each rule of the sums, evidence that contradicts
// itself, a PMU's nodes, and the tree of several stages.

#include "harness/bounds/topdown_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace topdnn {
namespace {

using testing::HasSubstr;

void ExpectNode(const TopdownTree& tree, TreeNode node, double low, double high,
                Provenance provenance) {
  ASSERT_TRUE(tree[node]) << NameOf(node);
  EXPECT_NEAR(tree[node]->low, low, 1e-9) << NameOf(node);
  EXPECT_NEAR(tree[node]->high, high, 1e-9) << NameOf(node);
  EXPECT_EQ(tree[node]->provenance, provenance) << NameOf(node);
}

// Level 1 can add up to 1, the parts of memory to memory, and each end of each node is reached by
// some choice of the others.
void ExpectSums(const TopdownTree& tree) {
  const auto check = [&](std::span<const TreeNode> nodes, double low, double high) {
    double lows = 0;
    double highs = 0;
    for (const TreeNode node : nodes) {
      if (!tree[node]) continue;
      EXPECT_LE(tree[node]->low, tree[node]->high + 1e-9) << NameOf(node);
      EXPECT_GE(tree[node]->low, 0) << NameOf(node);
      EXPECT_LE(tree[node]->high, 1) << NameOf(node);
      lows += tree[node]->low;
      highs += tree[node]->high;
    }
    EXPECT_LE(lows, high + 1e-9);
    EXPECT_GE(highs, low - 1e-9);
    for (const TreeNode node : nodes) {
      if (!tree[node]) continue;
      EXPECT_LE(tree[node]->high + lows - tree[node]->low, high + 1e-9) << NameOf(node);
      EXPECT_GE(tree[node]->low + highs - tree[node]->high, low - 1e-9) << NameOf(node);
    }
  };
  check(kLevelOne, 1, 1);
  const NodeShare& memory = *tree[TreeNode::kMemoryBound];
  check(kPartsOfMemory, memory.low, memory.high);
}

// A stage whose counts and experiments are all known.
TreeEvidence WholeEvidence() {
  TreeEvidence given;
  given.retiring = Interval{0.20, 0.25};
  given.core = Interval{0.10, 0.90};
  given.bad_speculation = Interval{0, 0.02};
  given.frontend = 0.03;
  given.beyond_l1 = Interval{0.40, 0.45};
  given.beyond_l2 = Interval{0.30, 0.38};
  given.l3 = Interval{0.05, 0.10};
  given.dram = Interval{0.22, 0.30};
  return given;
}

TEST(TopdownTree, IsNarrowedByItsSums) {
  const TreeOrReason made = BuildTree(WholeEvidence());
  ASSERT_TRUE(made.tree) << made.reason;
  EXPECT_EQ(made.reason, "");
  const TopdownTree& tree = *made.tree;
  ExpectNode(tree, TreeNode::kRetiring, 0.20, 0.25, Provenance::kCounted);
  // 1 - 0.25 - 0.45 - 0.02 - 0.03, and 1 - 0.20 - 0.40.
  ExpectNode(tree, TreeNode::kCoreBound, 0.25, 0.40, Provenance::kCounted);
  ExpectNode(tree, TreeNode::kMemoryBound, 0.40, 0.45, Provenance::kExperiment);
  // 0.40 - 0.38 and 0.45 - 0.30; by the sum not more than 0.45 - 0.05 - 0.22.
  ExpectNode(tree, TreeNode::kL1L2Bound, 0.02, 0.15, Provenance::kExperiment);
  ExpectNode(tree, TreeNode::kL3Bound, 0.05, 0.10, Provenance::kExperiment);
  ExpectNode(tree, TreeNode::kDramBound, 0.22, 0.30, Provenance::kExperiment);
  ExpectNode(tree, TreeNode::kBadSpeculation, 0, 0.02, Provenance::kCounted);
  ExpectNode(tree, TreeNode::kRest, 0, 0.03, Provenance::kBound);
  EXPECT_FALSE(tree[TreeNode::kWaiting]) << "one thread waits for nobody";
  ExpectSums(tree);
}

// 1 - 0.25 - 0.45 - 0.03: the branches and the front end cannot both be at their upper ends.
TEST(TopdownTree, WhatBranchesAndTheFrontEndLoseTogetherNarrowsTheOthers) {
  TreeEvidence given = WholeEvidence();
  given.lost = 0.03;
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  ExpectNode(*made.tree, TreeNode::kCoreBound, 0.27, 0.40, Provenance::kCounted);
  ExpectNode(*made.tree, TreeNode::kBadSpeculation, 0, 0.02, Provenance::kCounted);
  ExpectSums(*made.tree);
}

// Memory_Bound has no lower end of its own here: 1 - 0.25 - 0.5 - 0.02 - 0.03.
TEST(TopdownTree, ANodeIsAtLeastWhatTheOthersLeave) {
  TreeEvidence given = WholeEvidence();
  given.beyond_l1 = given.beyond_l2 = given.l3 = given.dram = std::nullopt;
  given.core = Interval{0, 0.5};
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree);
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.20, 0.80, Provenance::kBound);
  ExpectNode(*made.tree, TreeNode::kDramBound, 0, 0.80, Provenance::kBound);
  ExpectSums(*made.tree);
}

TEST(TopdownTree, PartOfTheEvidenceMakesWiderNodes) {
  TreeEvidence memory_alone;
  memory_alone.beyond_l2 = Interval{0.30, 0.38};
  const TreeOrReason made = BuildTree(memory_alone);
  ASSERT_TRUE(made.tree) << made.reason;
  // What L1 and L2 serve is not known, so there is no upper end.
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.30, 1, Provenance::kExperiment);
  ExpectNode(*made.tree, TreeNode::kDramBound, 0, 0.38, Provenance::kBound);
  ExpectNode(*made.tree, TreeNode::kRetiring, 0, 0.70, Provenance::kBound);
  ExpectSums(*made.tree);

  const TreeOrReason nothing = BuildTree({});
  EXPECT_FALSE(nothing.tree);
  EXPECT_EQ(nothing.reason, "neither counts nor an experiment");
}

TEST(TopdownTree, TheExperimentsMustAgree) {
  TreeEvidence given = WholeEvidence();
  given.beyond_l1 = Interval{0.05, 0.10};  // beyond L2 there is more
  const TreeOrReason made = BuildTree(given);
  EXPECT_THAT(made.reason, HasSubstr("5 to 10 % waits beyond L1 (core), but 30 to 38 % beyond L2"));
  ASSERT_TRUE(made.tree);
  EXPECT_EQ((*made.tree)[TreeNode::kMemoryBound]->provenance, Provenance::kBound);
  EXPECT_EQ((*made.tree)[TreeNode::kDramBound]->provenance, Provenance::kBound);
  ExpectSums(*made.tree);
  // They overlap: the lower end is the larger one.
  given.beyond_l1 = Interval{0.05, 0.36};
  const TreeOrReason overlap = BuildTree(given);
  EXPECT_EQ(overlap.reason, "");
  ExpectNode(*overlap.tree, TreeNode::kMemoryBound, 0.30, 0.36, Provenance::kExperiment);
}

TEST(TopdownTree, ExperimentsThatContradictTheCountsAreNotUsed) {
  TreeEvidence given = WholeEvidence();
  given.retiring = Interval{0.7, 0.8};
  given.core = Interval{0, 1};
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree);
  EXPECT_EQ(made.reason, "the experiments and the counts contradict each other");
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0, 0.3, Provenance::kBound);
  given.core = Interval{0.5, 1};
  const TreeOrReason none = BuildTree(given);
  EXPECT_FALSE(none.tree);
  EXPECT_EQ(none.reason, "the counts and the times contradict each other");
}

TEST(TopdownTree, PartsThatDoNotFitMemoryAreClipped) {
  TreeEvidence given = WholeEvidence();
  given.beyond_l1.reset();
  given.beyond_l2 = Interval{0, 0.06};
  given.l3 = Interval{0, 1};  // a noisy split
  given.dram = Interval{0, 0.14};
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree);
  EXPECT_LE((*made.tree)[TreeNode::kL3Bound]->high, 0.06 + 1e-9);
  EXPECT_LE((*made.tree)[TreeNode::kDramBound]->high, 0.06 + 1e-9);
  ExpectSums(*made.tree);
}

TEST(TopdownTree, SeveralThreadsMayWait) {
  TreeEvidence given = WholeEvidence();
  given.threads = 2;
  given.waiting = Interval{0.10, 0.20};
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  // At least 0.40 of the 80 % in which a thread surely works; at most as measured.
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.32, 0.45, Provenance::kExperiment);
  ExpectNode(*made.tree, TreeNode::kWaiting, 0.10, 0.20, Provenance::kExperiment);
  ExpectSums(*made.tree);
  given.waiting.reset();
  const TreeOrReason unknown = BuildTree(given);
  // 1 - 0.20 - 0.10 - 0.40.
  ExpectNode(*unknown.tree, TreeNode::kWaiting, 0, 0.30, Provenance::kBound);
  ExpectSums(*unknown.tree);
}

TEST(TopdownTree, ThePmuComesFirst) {
  const std::map<std::string, std::optional<double>> read = {
      {"Retiring", 0.30},      {"Frontend_Bound", 0.05}, {"Bad_Speculation", 0.05},
      {"Backend_Bound", 0.60}, {"Memory_Bound", 0.45},   {"Core_Bound", 0.15}};
  TreeEvidence given = WholeEvidence();
  given.threads = 2;
  given.read = &read;
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  ExpectNode(*made.tree, TreeNode::kRetiring, 0.29, 0.31, Provenance::kRead);
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.44, 0.46, Provenance::kRead);
  ExpectNode(*made.tree, TreeNode::kCoreBound, 0.14, 0.16, Provenance::kRead);
  ExpectNode(*made.tree, TreeNode::kDramBound, 0.22, 0.30, Provenance::kExperiment);
  EXPECT_EQ((*made.tree)[TreeNode::kRest]->provenance, Provenance::kRead);
  EXPECT_FALSE((*made.tree)[TreeNode::kWaiting]) << "threads that spin retire";
  ExpectSums(*made.tree);
}

// Level 3 of the tables is in cycles: a stage may wait for DRAM in 55 % of them, and for memory in
// 45 % of its slots.
TEST(TopdownTree, SharesOfCyclesAreNoSharesOfSlots) {
  const std::map<std::string, std::optional<double>> read = {
      {"Retiring", 0.20},     {"Frontend_Bound", 0.05}, {"Bad_Speculation", 0.05},
      {"Memory_Bound", 0.45}, {"Core_Bound", 0.25},     {"Backend_Bound", 0.70},
      {"L3_Bound", 0.05},     {"DRAM_Bound", 0.55}};
  TreeEvidence given;
  given.read = &read;
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.44, 0.46, Provenance::kRead);
  EXPECT_LT((*made.tree)[TreeNode::kDramBound]->low, 0.01);
}

// Intel's efficiency cores: Core_Bound is a part of what the core delays; the rest is in
// Resource_Bound, with the waits for memory.
TEST(TopdownTree, ResourcesOfAnEfficiencyCoreAreNotMemory) {
  const std::map<std::string, std::optional<double>> read = {
      {"Retiring", 0.30},      {"Frontend_Bound", 0.05}, {"Bad_Speculation", 0.05},
      {"Backend_Bound", 0.60}, {"Core_Bound", 0.02},     {"Resource_Bound", 0.58}};
  TreeEvidence given;
  given.read = &read;
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  EXPECT_LT((*made.tree)[TreeNode::kMemoryBound]->low, 0.01);
  EXPECT_GT((*made.tree)[TreeNode::kCoreBound]->high, 0.55);
}

// DRAM of at least 33 % by the experiment, and memory of at most 31 % by the counters.
TEST(TopdownTree, ThePmuStandsWhereTheExperimentContradictsIt) {
  const std::map<std::string, std::optional<double>> read = {
      {"Retiring", 0.30},     {"Frontend_Bound", 0.05}, {"Bad_Speculation", 0.05},
      {"Memory_Bound", 0.30}, {"Core_Bound", 0.30},     {"Backend_Bound", 0.60}};
  TreeEvidence given;
  given.read = &read;
  given.beyond_l2 = Interval{0.35, 0.45};
  given.dram = Interval{0.33, 0.42};
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree);
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.29, 0.31, Provenance::kRead);
  EXPECT_EQ(made.reason, "the experiments and the counters contradict each other");
}

// The PMU's back end as a whole, split by the experiment.
TEST(TopdownTree, TheExperimentSplitsLevelOneOfThePmu) {
  const std::map<std::string, std::optional<double>> read = {{"Retiring", 0.30},
                                                             {"Frontend_Bound", 0.05},
                                                             {"Bad_Speculation", 0.05},
                                                             {"Backend_Bound", 0.60}};
  TreeEvidence given = WholeEvidence();
  given.read = &read;
  const TreeOrReason made = BuildTree(given);
  ASSERT_TRUE(made.tree) << made.reason;
  ExpectNode(*made.tree, TreeNode::kMemoryBound, 0.40, 0.45, Provenance::kExperiment);
  ExpectNode(*made.tree, TreeNode::kCoreBound, 0.59 - 0.45, 0.61 - 0.40, Provenance::kBound);
  ExpectSums(*made.tree);
}

TEST(TopdownTree, APassIsTheWeightedSumOfItsStages) {
  const TopdownTree whole = *BuildTree(WholeEvidence()).tree;
  const std::vector<TreePart> parts = {{.seconds = 3, .tree = &whole}, {.seconds = 1}};
  const std::optional<TopdownTree> sum = SumOfTrees(parts);
  ASSERT_TRUE(sum);
  ExpectNode(*sum, TreeNode::kRetiring, 0.15, 0.75 * 0.25 + 0.25, Provenance::kCounted);
  ExpectNode(*sum, TreeNode::kMemoryBound, 0.30, 0.75 * 0.45 + 0.25, Provenance::kExperiment);
  EXPECT_FALSE((*sum)[TreeNode::kWaiting]);
  ExpectSums(*sum);
  const std::vector<TreePart> none = {{.seconds = 1}};
  EXPECT_FALSE(SumOfTrees(none));
}

// Whatever the evidence, the sums hold, and a true split that all evidence contains stays inside.
TEST(TopdownTree, ATrueSplitStaysInside) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> parts(8);  // R, C, L1-L2, L3, DRAM, B, W, rest
    double sum = 0;
    for (double& part : parts) sum += part = unit(random);
    for (double& part : parts) part /= sum;
    const auto around = [&](double value) -> std::optional<Interval> {
      if (unit(random) < 0.3) return std::nullopt;
      return Interval{value - 0.2 * unit(random), value + 0.2 * unit(random)};
    };
    TreeEvidence given;
    given.threads = 2;
    given.retiring = around(parts[0]);
    given.core = around(parts[1]);
    given.bad_speculation = around(parts[5]);
    given.waiting = around(parts[6]);
    if (unit(random) < 0.5) given.frontend = parts[7] + 0.1 * unit(random);
    if (unit(random) < 0.5) given.lost = parts[5] + parts[7] + 0.1 * unit(random);
    given.beyond_l1 = around(parts[2] + parts[3] + parts[4]);
    given.beyond_l2 = around(parts[3] + parts[4]);
    if (given.beyond_l2) {
      given.l3 = around(parts[3]);
      given.dram = around(parts[4]);
    }
    const TreeOrReason made = BuildTree(given);
    if (!made.tree) continue;  // nothing known
    EXPECT_EQ(made.reason, "");
    ExpectSums(*made.tree);
    const double truths[] = {parts[0], parts[1], parts[2] + parts[3] + parts[4],
                             parts[2], parts[3], parts[4],
                             parts[5], parts[6], parts[7]};
    for (std::size_t i = 0; i < kTreeNodes; ++i) {
      const auto node = static_cast<TreeNode>(i);
      EXPECT_LE((*made.tree)[node]->low, truths[i] + 1e-9) << NameOf(node);
      EXPECT_GE((*made.tree)[node]->high, truths[i] - 1e-9) << NameOf(node);
    }
  }
}

}  // namespace
}  // namespace topdnn
