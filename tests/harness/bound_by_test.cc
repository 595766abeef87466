// The phrase for what binds, from trees made by hand.

#include "harness/bounds/bound_by.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace topdnn {
namespace {

using testing::HasSubstr;

TopdownTree TreeWith(Interval retiring, Interval core, Interval beyond_l1, Interval dram) {
  TreeEvidence given;
  given.retiring = retiring;
  given.core = core;
  given.bad_speculation = Interval{0, 0.01};
  given.frontend = 0.02;
  given.beyond_l1 = beyond_l1;
  given.beyond_l2 = dram;
  given.dram = dram;
  given.l3 = Interval{0, 0.02};
  return *BuildTree(given).tree;
}

std::string Phrase(const BoundByEvidence& given) {
  const BoundByOrReason chosen = ChooseBoundBy(given);
  return chosen.bound_by ? TextOf(*chosen.bound_by) : "not decided: " + chosen.reason;
}

TEST(BoundBy, NamesTheUnitOfAStageThatComputes) {
  const TopdownTree computes = TreeWith({0.2, 0.25}, {0.7, 0.8}, {0, 0.04}, {0, 0.03});
  EXPECT_EQ(Phrase({.tree = &computes, .peak_fraction = 0.97}), "FMA 97 %");
  EXPECT_EQ(Phrase({.tree = &computes, .binding = HotBinding{"chain of 4", 0.98}}), "chain of 4");
  EXPECT_EQ(Phrase({.tree = &computes, .binding = HotBinding{"loads", 0.91}}), "loads 91 %");
  EXPECT_EQ(Phrase({.tree = &computes, .peak_fraction = 0.3, .busiest = "loads", .busy = 0.8}),
            "loads 80 %");
  // Core_Bound is 0.70 to 0.80.
  EXPECT_EQ(Phrase({.tree = &computes}), "core 75 %");
  const TopdownTree retires = TreeWith({0.8, 0.84}, {0.1, 0.2}, {0, 0.04}, {0, 0.03});
  EXPECT_EQ(Phrase({.tree = &retires}), "instructions 82 %");
}

TEST(BoundBy, NamesTheLevelOfMemory) {
  const TopdownTree dram = TreeWith({0.1, 0.15}, {0.1, 0.3}, {0.60, 0.66}, {0.58, 0.64});
  EXPECT_THAT(Phrase({.tree = &dram}), HasSubstr("DRAM 6"));
  const TopdownTree l2 = TreeWith({0.1, 0.15}, {0.1, 0.3}, {0.60, 0.66}, {0.00, 0.04});
  EXPECT_THAT(Phrase({.tree = &l2}), HasSubstr("L2 6"));
  // A unit that is idle most of the time does not bind.
  EXPECT_THAT(Phrase({.tree = &dram, .peak_fraction = 0.3, .binding = HotBinding{"FMA", 0.9}}),
              HasSubstr("DRAM 6"));
}

TEST(BoundBy, NamesThreadsThatWait) {
  TreeEvidence given;
  given.threads = 2;
  given.retiring = Interval{0.1, 0.12};
  given.core = Interval{0.05, 0.2};
  given.beyond_l1 = Interval{0, 0.02};
  given.frontend = 0.01;
  given.bad_speculation = Interval{0, 0.01};
  given.waiting = Interval{0.74, 0.80};
  const TopdownTree tree = *BuildTree(given).tree;
  EXPECT_EQ(Phrase({.tree = &tree}), "waits for threads 77 %");
}

// The core model of the hottest loop knows nothing of threads that wait: computing takes 10 to 70
// %, and they 20 to 85 %, or 20 to 30 %.
TEST(BoundBy, NamesNoLoopWhereThreadsMayWaitForLonger) {
  TreeEvidence given;
  given.threads = 2;
  given.retiring = Interval{0.05, 0.1};
  given.core = Interval{0.05, 0.6};
  given.bad_speculation = Interval{0, 0.01};
  given.beyond_l1 = Interval{0, 0.02};
  given.frontend = 0.3;
  given.waiting = Interval{0.2, 0.85};
  const TopdownTree open = *BuildTree(given).tree;
  EXPECT_THAT(Phrase({.tree = &open, .binding = HotBinding{"FMA", 0.95}}),
              HasSubstr("not decided"));
  given.waiting = Interval{0.2, 0.3};
  const TopdownTree computes = *BuildTree(given).tree;
  EXPECT_EQ(Phrase({.tree = &computes, .binding = HotBinding{"FMA", 0.95}}), "FMA 95 %");
}

// Computing takes 3 to 93 % and the front end 0 to 90 %, but memory at most 7 %.
TEST(BoundBy, NamesWhatIsLeftTogether) {
  TreeEvidence given;
  given.retiring = Interval{0.03, 0.05};
  given.bad_speculation = Interval{0, 0.04};
  given.beyond_l1 = Interval{0.05, 0.07};
  given.beyond_l2 = Interval{0.03, 0.07};
  const TopdownTree tree = *BuildTree(given).tree;
  EXPECT_EQ(Phrase({.tree = &tree}), "core or front end 92 %");
  given.beyond_l1 = given.beyond_l2 = Interval{0.05, 0.9};
  const TopdownTree open = *BuildTree(given).tree;
  EXPECT_THAT(Phrase({.tree = &open}), HasSubstr("not decided"));
}

// Computing takes 10 to 88 % and memory 0 to 80 %, but L3 at most 10 % and DRAM at most 8 %, so
// that they, the mispredictions (2 %) and the front end (2 %) leave 78 to 100 %.
TEST(BoundBy, NamesTheCoreAndItsCachesTogether) {
  TreeEvidence given;
  given.retiring = Interval{0.1, 0.12};
  given.core = Interval{0, 0.8};
  given.bad_speculation = Interval{0, 0.02};
  given.frontend = 0.02;
  given.beyond_l1 = Interval{0, 0.8};
  given.beyond_l2 = Interval{0, 0.1};
  given.l3 = Interval{0, 0.1};
  given.dram = Interval{0, 0.08};
  const TopdownTree tree = *BuildTree(given).tree;
  EXPECT_EQ(Phrase({.tree = &tree}), "core or L2 89 %");
  // Together they may take 80 %, of which 40 % are expected; 16 % are left.
  given.l3 = Interval{0, 0.3};
  given.dram = Interval{0, 0.5};
  given.beyond_l2 = Interval{0, 0.8};
  const TopdownTree open = *BuildTree(given).tree;
  EXPECT_THAT(Phrase({.tree = &open}), HasSubstr("not decided"));
}

TEST(BoundBy, SaysWhatLeavesItOpen) {
  TreeEvidence given;
  given.retiring = Interval{0.05, 1};
  given.beyond_l2 = Interval{0, 0.44};
  const TopdownTree open = *BuildTree(given).tree;
  EXPECT_EQ(Phrase({.tree = &open}),
            "not decided: computing takes 5 to 100 % of the time, memory 0 to 95 %");
  // A unit that is busy for most of the time decides it.
  EXPECT_EQ(Phrase({.tree = &open, .peak_fraction = 0.6}), "FMA 60 %");
  EXPECT_EQ(Phrase({.peak_fraction = 0.6}), "FMA 60 %");
  EXPECT_EQ(Phrase({.peak_fraction = 0.2}), "not decided: there is no Top-Down tree");
}

}  // namespace
}  // namespace topdnn
