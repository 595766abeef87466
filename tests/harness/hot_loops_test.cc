// Loops of graphs that were drawn by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/hot/loops.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Blocks of `length` instructions each, executed so often.
FlowGraph GraphOf(const std::vector<std::uint64_t>& times, std::vector<FlowEdge> edges,
                  std::size_t length = 10) {
  FlowGraph graph;
  for (const std::uint64_t t : times) {
    graph.blocks.push_back({t, length * graph.blocks.size(), length});
  }
  graph.edges = std::move(edges);
  return graph;
}

TEST(HotLoops, StraightCodeHasNone) {
  EXPECT_THAT(FindLoops(GraphOf({1, 1, 1}, {{0, 1, 1}, {1, 2, 1}})), IsEmpty());
}

TEST(HotLoops, CountsIterationsAndEntries) {
  // entered 3 times, 100 iterations in all
  const FlowGraph graph = GraphOf({3, 100, 3}, {{0, 1, 3}, {1, 1, 97}, {1, 2, 3}});
  const std::vector<Loop> loops = FindLoops(graph);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].header, 1U);
  EXPECT_EQ(loops[0].iterations, 100U);
  EXPECT_EQ(loops[0].entries, 3U);
  EXPECT_EQ(loops[0].instructions, 1000U);
  EXPECT_THAT(loops[0].own, ElementsAre(1));
  EXPECT_THAT(MainPath(graph, loops, 0), ElementsAre(1));
}

// for (10 times) { for (8 times) body; if (rarely) side; tail }
FlowGraph Nest() {
  return GraphOf({1, 10, 80, 10, 2, 10, 1}, {{0, 1, 1},
                                             {1, 2, 10},
                                             {2, 2, 70},
                                             {2, 3, 10},
                                             {3, 4, 2},
                                             {3, 5, 8},
                                             {4, 5, 2},
                                             {5, 1, 9},
                                             {5, 6, 1}});
}

TEST(HotLoops, FindsTheLoopInside) {
  const std::vector<Loop> loops = FindLoops(Nest());
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_EQ(loops[0].header, 1U);
  EXPECT_EQ(loops[0].iterations, 10U);
  EXPECT_THAT(loops[0].own, ElementsAre(1, 3, 4, 5));
  EXPECT_EQ(loops[0].instructions, 320U);  // without the inner loop's
  EXPECT_EQ(loops[1].header, 2U);
  EXPECT_EQ(loops[1].parent, 0U);
  EXPECT_EQ(loops[1].entries, 10U);
  EXPECT_EQ(loops[1].instructions, 800U);
}

TEST(HotLoops, MainPathPassesTheLoopInsideAndRareBlocks) {
  const FlowGraph graph = Nest();
  const std::vector<Loop> loops = FindLoops(graph);
  EXPECT_THAT(MainPath(graph, loops, 0), ElementsAre(1, 3, 5));
}

// A loop that is entered in the middle, as compilers make of `while`: the entry is its header.
TEST(HotLoops, HeaderIsTheBlockEnteredMost) {
  const FlowGraph graph = GraphOf({2, 50, 52, 2}, {{0, 2, 2}, {1, 2, 50}, {2, 1, 50}, {2, 3, 2}});
  const std::vector<Loop> loops = FindLoops(graph);
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].header, 2U);
  EXPECT_EQ(loops[0].entries, 2U);
  EXPECT_THAT(MainPath(graph, loops, 0), ElementsAre(2, 1));
}

TEST(HotLoops, EdgesThatWereNeverTakenMakeNone) {
  EXPECT_THAT(FindLoops(GraphOf({5, 5}, {{0, 1, 5}, {1, 0, 0}})), IsEmpty());
}

// Two exits from one loop to another: separate loops, none inside the other.
TEST(HotLoops, LoopsBesideEachOther) {
  const std::vector<Loop> loops = FindLoops(GraphOf(
      {1, 40, 1, 60, 1}, {{0, 1, 1}, {1, 1, 39}, {1, 2, 1}, {2, 3, 1}, {3, 3, 59}, {3, 4, 1}}));
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_FALSE(loops[0].parent);
  EXPECT_FALSE(loops[1].parent);
  EXPECT_EQ(loops[0].iterations + loops[1].iterations, 100U);
}

// A chain of 20,000 blocks must not exhaust the stack.
TEST(HotLoops, LongCodeNeedsNoDeepStack) {
  std::vector<FlowEdge> edges;
  constexpr std::size_t kBlocks = 20000;
  for (std::size_t b = 0; b + 1 < kBlocks; ++b) edges.push_back({b, b + 1, 7});
  edges.push_back({kBlocks - 1, 0, 6});
  const std::vector<Loop> loops = FindLoops(GraphOf(std::vector<std::uint64_t>(kBlocks, 7), edges));
  ASSERT_EQ(loops.size(), 1U);
  EXPECT_EQ(loops[0].iterations, 7U);
}

}  // namespace
}  // namespace topdnn
