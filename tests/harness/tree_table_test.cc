// The Top-Down tree as text and as JSON, and the columns of the table of stages, at each width.

#include "harness/report/tree_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "harness/report/exports/csv.h"
#include "harness/report/json.h"
#include "harness/report/opening.h"
#include "harness/report/stage_table.h"
#include "harness/text/text.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TopdownTree SampleTree() {
  TreeEvidence given;
  given.retiring = Interval{0.25, 0.27};
  given.core = Interval{0.10, 0.60};
  given.bad_speculation = Interval{0, 0.01};
  given.frontend = 0.02;
  given.beyond_l1 = Interval{0.40, 0.45};
  given.beyond_l2 = Interval{0.35, 0.40};
  given.dram = Interval{0.33, 0.40};
  return *BuildTree(given).tree;
}

Report SampleReport() {
  Report report;
  Record stage;
  stage.name = "conv2";
  stage.pass = "backward_weights";
  stage.implementation = "jit:avx512_core";
  stage.seconds = Summary{.median = 2e-3, .min = 2e-3, .p90 = 2e-3, .n = 5};
  stage.flops = 2e8;
  stage.flops_counted = 2e8;
  stage.ceiling_flops_per_second = 2e11;
  stage.tree = SampleTree();
  stage.bound_by = BoundBy{"DRAM", 0.36};
  report.stages = {stage, stage};
  report.stages[1].name = "pool1";
  report.stages[1].tree.reset();
  report.stages[1].bound_by.reset();
  report.stages[1].tree_reason = report.stages[1].bound_by_reason = "too short: 1.0 us";
  report.step.seconds = Summary{.median = 4e-3, .min = 4e-3, .p90 = 4e-3, .n = 5};
  report.step.tree = SampleTree();
  report.groups = {{.name = "backward", .stages = 2, .seconds = 4e-3, .tree = SampleTree()}};
  return report;
}

TEST(NodeLetters, AreTheLowerEnds) {
  // 0.25, Core_Bound 1 - 0.27 - 0.45 - 0.01 - 0.02 = 0.25, 0.40; the ends of 12 letters are 3, 6
  // and 10.8.
  EXPECT_EQ(NodeLetters(SampleTree(), 12), "RRRCCCMMMMM.");
  EXPECT_EQ(InkOfNodeLetter('R'), Ink::kGreen);
  EXPECT_EQ(InkOfNodeLetter('.'), Ink::kDim);
}

TEST(TreeTable, HasTheNodesOfTheLargeStagesAndTheReasons) {
  Report report = SampleReport();
  const std::string text = TreeTable(report, Style{.width = 160});
  EXPECT_THAT(text, AllOf(HasSubstr("25-27"), HasSubstr("40-45"), HasSubstr("33-40")));
  EXPECT_THAT(text, HasSubstr("Top-Down tree: too short: 1.0 us (pool1 backward weights)"));
  EXPECT_THAT(text, HasSubstr("backward"));
  EXPECT_THAT(text, Not(HasSubstr("waiting")));  // one thread
  report.stages[0].seconds->median = 3e-5;       // below 1 % of the step
  EXPECT_THAT(TreeTable(report, Style{.width = 160}), Not(HasSubstr("conv2")));
  EXPECT_EQ(TreeTable(Report(), Style{}), "");
}

std::size_t WidestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, ColumnsOfText(line));
  }
  return widest;
}

TEST(StageTableTest, FitsAndKeepsWhatBinds) {
  Report report = SampleReport();
  report.stages[0].name = "layer4.0.downsample.conv";
  report.stages[0].implementation = "brgemm_bwd_weights:avx512_core_amx_bf16+relu";
  report.stages[0].bound_by = BoundBy{"waits for threads", 0.18};
  for (const int width : {80, 120}) {
    const std::string text = StageTableText(report, Style{.width = width, .cut = true});
    EXPECT_LE(WidestLine(text), static_cast<std::size_t>(width));
    for (const char* column : {"stage", "pass", "share %", "time", "bound by"}) {
      EXPECT_THAT(text, HasSubstr(column)) << width;
    }
    EXPECT_THAT(text, AllOf(HasSubstr("waits for threads 18 %"), HasSubstr("not decided")));
  }
  const std::string wide = StageTableText(report, Style{.width = 120, .cut = true});
  EXPECT_THAT(wide, AllOf(HasSubstr("RRRCCCMMMMM."), HasSubstr("top-down: R retiring")));
  EXPECT_THAT(wide, AllOf(Not(HasSubstr("GFLOP/s")), Not(HasSubstr("executed"))));
  const StageTableOptions asked{.columns = {"stage", "gflops", "executed"}};
  EXPECT_THAT(StageTableText(report, Style{}, asked),
              AllOf(HasSubstr("GFLOP/s"), HasSubstr("executed"), Not(HasSubstr("top-down:"))));
}

TEST(StageTableTest, TheBarIsColouredOnATerminal) {
  const std::string text = StageTableText(
      SampleReport(), Style{.colour = true, .terminal = true, .width = 120, .cut = true});
  EXPECT_THAT(text, HasSubstr("\x1b[32mRRR\x1b[0m\x1b[34mCCC\x1b[0m\x1b[31mMMMMM\x1b[0m"));
}

TEST(StageTableTest, WithoutTreesTheFiguresStay) {
  Report report = SampleReport();
  for (Record& stage : report.stages) {
    stage.tree.reset();
    stage.bound_by.reset();
    stage.bound_by_reason.clear();
  }
  const std::string text = StageTableText(report, Style{});
  EXPECT_THAT(text, AllOf(HasSubstr("GFLOP/s"), HasSubstr("executed"), Not(HasSubstr("bound"))));
}

TEST(TreeJson, HasEveryNodeAndWhatBinds) {
  const nlohmann::json json = ToJson(SampleReport());
  const nlohmann::json& stage = json["stages"][0];
  EXPECT_EQ(stage["tree"]["Retiring"],
            nlohmann::json({{"low", 0.25}, {"high", 0.27}, {"provenance", "counted"}}));
  EXPECT_EQ(stage["tree"]["DRAM_Bound"]["provenance"], "experiment");
  EXPECT_TRUE(stage["tree"].at("Waiting").is_null());
  EXPECT_EQ(stage["tree"].size(), kTreeNodes);
  EXPECT_EQ(stage["bound_by"]["what"], "DRAM");
  EXPECT_EQ(stage["bound_by"]["share"], 0.36);
  EXPECT_TRUE(stage["tree_reason"].is_null());
  EXPECT_TRUE(json["stages"][1]["tree"].is_null());
  EXPECT_TRUE(json["stages"][1]["bound_by"].is_null());
  EXPECT_EQ(json["stages"][1]["tree_reason"], "too short: 1.0 us");
  EXPECT_TRUE(json["groups"][0]["tree"].contains("Core_Bound"));
  EXPECT_TRUE(json["step"]["tree"].contains("Rest"));
}

TEST(TreeCsv, HasBothEndsOfEachNode) {
  const std::string text = CsvText(SampleReport());
  EXPECT_THAT(text, HasSubstr(",bound_by,tree:Retiring:low,tree:Retiring:high,"));
  EXPECT_THAT(text, HasSubstr(",DRAM 36 %,0.25,0.27,"));
}

TEST(CostliestText, SaysWhatBinds) {
  EXPECT_THAT(CostliestText(SampleReport(), Style{.width = 160}),
              HasSubstr("conv2 backward weights 50.0 % (DRAM 36 %)"));
}

}  // namespace
}  // namespace topdnn
