// The description of a region's loops, and when the model may name what binds it.

#include "harness/hot/describe_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/report/hot_json.h"
#include "harness/report/tables/tables.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// vfmadd231ps ymm0, ymm8, ymm9; dec rcx; jnz, at address 0x1000, and a return.
BlockProfile LoopOf(std::uint64_t iterations) {
  BlockProfile profile;
  profile.blocks.push_back({0x1000,
                            0x100a,
                            iterations,
                            false,
                            {0xc4, 0xc2, 0x3d, 0xb8, 0xc1, 0x48, 0xff, 0xc9, 0x75, 0xf6}});
  profile.blocks.push_back({0x100a, 0x100b, 1, false, {0xc3}});
  profile.branches.push_back({0x1008, iterations - 1, 1});
  return profile;
}

// The only cost that matters: 4 cycles of latency.
FormCosts ChainCosts() {
  FormCosts costs;
  costs.dispatch_width = 6;
  FormCost& fma = costs.forms["vfmadd231ps y y y"];
  fma.units[kFmaUnit] = fma.alone = 0.5;
  fma.latency = 4;
  return costs;
}

HotLoops Described(const FormCosts& costs, const std::string& why, std::size_t listed) {
  CodePlaces places({});
  return DescribeLoops(ReadExecutedCode(LoopOf(1000)), costs, why, places,
                       {.loops = listed, .lines = 10});
}

// A loop whose body takes one of two ways, 51 times and 49 times, each with one FMA:
// jz 1f; fma; jmp 2f; 1: fma; 2: dec; jnz.
TEST(DescribeLoops, TheShareOfFlopsIsOfAllWays) {
  const std::vector<std::uint8_t> fma = {0xc4, 0xc2, 0x3d, 0xb8, 0xc1};
  std::vector<std::uint8_t> first = fma;
  first.insert(first.end(), {0xeb, 0x05});
  std::vector<std::uint8_t> second = fma;
  BlockProfile profile;
  profile.blocks.push_back({0x1000, 0x1002, 100, false, {0x74, 0x07}});
  profile.blocks.push_back({0x1002, 0x1009, 51, false, first});
  profile.blocks.push_back({0x1009, 0x100e, 49, false, second});
  profile.blocks.push_back({0x100e, 0x1013, 100, false, {0x48, 0xff, 0xc9, 0x75, 0xed}});
  profile.branches = {{0x1000, 49, 51}, {0x1011, 99, 1}};
  CodePlaces places({});
  const HotLoops hot =
      DescribeLoops(ReadExecutedCode(profile), ChainCosts(), "", places, {.loops = 1, .lines = 10});
  EXPECT_EQ(hot.flops, 1600U);
  ASSERT_EQ(hot.loops.size(), 1U);
  EXPECT_DOUBLE_EQ(*hot.loops[0].flop_share, 1);
}

TEST(DescribeLoops, HasSharesAndAmounts) {
  const HotLoops hot = Described(ChainCosts(), "", 1);
  EXPECT_EQ(hot.instructions, 3001U);
  EXPECT_EQ(hot.flops, 16000U);
  ASSERT_EQ(hot.loops.size(), 1U);
  const HotLoop& loop = hot.loops[0];
  EXPECT_DOUBLE_EQ(loop.instruction_share, 3000.0 / 3001);
  EXPECT_DOUBLE_EQ(*loop.flop_share, 1);
  EXPECT_DOUBLE_EQ(loop.fmas, 1);
  EXPECT_DOUBLE_EQ(loop.flops, 16);
  EXPECT_DOUBLE_EQ(*loop.cycles, 4);
  EXPECT_EQ(loop.listing.size(), 3U);
  EXPECT_EQ(loop.units.front().first, "chain of 1");
}

TEST(JudgeBindings, NamesOnlyWhatAgreesWithTheMeasurement) {
  HotLoops hot = Described(ChainCosts(), "", 0);
  const double cycles = *hot.cycles;
  EXPECT_NEAR(cycles, 4000, 10);
  JudgeBindings({.cycles = cycles * 1.05}, hot);
  ASSERT_TRUE(hot.binding);
  EXPECT_EQ(hot.binding->what, "chain of 1");
  EXPECT_NEAR(hot.binding->share, 1 / 1.05, 0.01);
  EXPECT_TRUE(hot.loops[0].binding);

  HotLoops slower = Described(ChainCosts(), "", 0);
  JudgeBindings({.cycles = cycles * 1.2}, slower);
  EXPECT_FALSE(slower.binding);
  EXPECT_THAT(slower.binding_reason, HasSubstr("latency, memory or front end"));
  EXPECT_THAT(slower.binding_reason, HasSubstr("83 %"));
  HotLoops in_l1 = Described(ChainCosts(), "", 0);
  JudgeBindings({.cycles = cycles * 1.2, .data_in_l1 = true}, in_l1);
  EXPECT_THAT(in_l1.binding_reason, HasSubstr("latency or front end"));
  HotLoops faster = Described(ChainCosts(), "", 0);
  JudgeBindings({.cycles = cycles * 0.8}, faster);
  EXPECT_FALSE(faster.binding);
}

TEST(JudgeBindings, NamesBothOfTwoThatTheModelCannotTellApart) {
  FormCosts costs = ChainCosts();
  FormCost& fma = costs.forms["vfmadd231ps y y y"];
  fma.units[kFmaUnit] = fma.alone = 3.7;  // the chain takes 4
  HotLoops hot = Described(costs, "", 0);
  JudgeBindings({.cycles = *hot.cycles}, hot);
  ASSERT_TRUE(hot.binding);
  EXPECT_EQ(hot.binding->what, "FMA, chain of 1");
}

TEST(JudgeBindings, GivesAReasonWithoutCostsOrTimes) {
  HotLoops hot = Described({}, "no costs here", 0);
  JudgeBindings({.cycles = 4000}, hot);
  EXPECT_FALSE(hot.binding);
  EXPECT_EQ(hot.binding_reason, "no costs here");
  HotLoops untimed = Described(ChainCosts(), "", 0);
  JudgeBindings({}, untimed);
  EXPECT_FALSE(untimed.binding);
  EXPECT_FALSE(untimed.binding_reason.empty());
}

TEST(HotReports, ShowTheListedLoops) {
  HotLoops hot = Described(ChainCosts(), "", 1);
  JudgeBindings({.cycles = *hot.cycles}, hot);
  const std::string text = HotLoopsText("relu1 forward", "loops", hot);
  EXPECT_THAT(text, HasSubstr("relu1 forward (loops)"));
  EXPECT_THAT(text, HasSubstr("100.0 % of the FLOPs; 1,000 iterations, 1000.0 each time"));
  EXPECT_THAT(text, HasSubstr("4.0 cycles an iteration, modelled; bound by chain of 1 100 %"));
  EXPECT_THAT(text, HasSubstr("vfmadd231ps ymm0, ymm8, ymm9"));
  EXPECT_EQ(HotLoopsText("relu1 forward", "loops", Described(ChainCosts(), "", 0)), "");
  const auto json = ToJson(hot);
  EXPECT_EQ(json["bound_by"]["what"], "chain of 1");
  EXPECT_EQ(json["loops"][0]["fmas"], 1);
  EXPECT_EQ(json["loops"][0]["listing"].size(), 3U);
}

}  // namespace
}  // namespace topdnn
