#include "harness/report/stage_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include "harness/report/opening.h"
#include "harness/results/groups.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

Record StageOf(const std::string& name, const std::string& pass, double seconds, double flops) {
  Record record;
  record.name = name;
  record.op = "conv";
  record.pass = pass;
  record.implementation = "jit:avx512_core";
  record.seconds = Summary{.median = seconds, .min = seconds / 2, .p90 = seconds * 1.5, .n = 50};
  record.flops = flops;
  record.ceiling_flops_per_second = 100e9;
  return record;
}

Report SampleTable() {
  Report report;
  report.step = StageOf("step", "", 10e-3, 0.4e9);
  report.stages = {StageOf("b", "forward", 1e-3, 80e6), StageOf("c", "forward", 4e-3, 100e6),
                   StageOf("a", "backward_data", 2e-3, 100e6), StageOf("d", "update", 3e-3, 3e6)};
  report.stages[3].flops.reset();
  AddGroups({}, report);
  return report;
}

std::string TextOf(const StageTableOptions& options, int width = 80) {
  return StageTableText(SampleTable(),
                        {.colour = false, .unicode = false, .terminal = false, .width = width},
                        options);
}

TEST(StageTableTest, TopNAddsUpTheOthers) {
  const std::string rule = "------------------------------------------------------------\n";
  EXPECT_EQ(TextOf({.top = 2, .columns = {"stage", "pass", "share", "time", "peak", "bar"}}),
            "stage       pass      share %  time ms  peak %\n" + rule +
                "c           forward      40.0     4.00    25.0  ############\n"
                "d           update       30.0     3.00     n/a  #########\n"
                "all others  2 stages     30.0     3.00\n" +
                rule +
                "forward     2 stages     50.0     5.00    36.0  ######\n"
                "backward    1 stage      20.0     2.00    50.0  ##\n"
                "update      1 stage      30.0     3.00     n/a  ####\n"
                "remainder                 0.0     0\n" +
                rule);
}

TEST(StageTableTest, SortsTheLargestFirstAndTheAbsentLast) {
  const auto order = [](const std::string& sort) {
    std::istringstream text(TextOf({.sort = sort, .columns = {"stage"}}));
    std::string names;
    for (std::string line; std::getline(text, line);) {
      if (line.size() == 1) names += line;
    }
    return names;
  };
  EXPECT_EQ(order(""), "bcad");
  EXPECT_EQ(order("time"), "cdab");
  EXPECT_EQ(order("share"), "cdab");
  EXPECT_EQ(order("peak"), "bacd");
  EXPECT_EQ(order("name"), "abcd");
}

TEST(StageTableTest, HasTheChosenColumnsInTheirOrder) {
  const std::string text =
      TextOf({.columns = {"time", "min", "stage", "op", "mflop", "mib", "reason"}});
  EXPECT_THAT(text, HasSubstr("time ms  min ms  stage      op    MFLOP  MiB\n"));
  EXPECT_THAT(text, HasSubstr("   1.00   0.500  b          conv   80.0  n/a\n"));
  EXPECT_THAT(text, HasSubstr("   5.00          forward\n"));
}

TEST(StageTableTest, RefusesUnknownNamesAndListsTheValidOnes) {
  for (const StageTableOptions& options :
       {StageTableOptions{.sort = "size"}, StageTableOptions{.columns = {"size"}}}) {
    try {
      TextOf(options);
      ADD_FAILURE();
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("'size'"));
      EXPECT_THAT(error.what(), HasSubstr("time"));
    }
  }
}

TEST(StageTableTest, ImplementationsAreOmittedFirst) {
  Report report = SampleTable();
  report.stages[0].name = "inception_4e/5x5_reduce";
  report.stages[0].pass = "backward_weights";
  report.stages[0].status = Status::kDegraded;
  for (Record& stage : report.stages) stage.flops_counted = stage.flops;
  const auto text = [&](int width) {
    return StageTableText(
        report, {.colour = false, .unicode = false, .terminal = false, .width = width}, {});
  };
  EXPECT_THAT(text(80), HasSubstr("incepti..5_reduce  backward weights     10.0     1.00     80.0 "
                                  "   80.0  DEGRADED\n"));
  EXPECT_THAT(text(80), HasSubstr("not shown in 80 columns: executed, implementation\n"));
  EXPECT_THAT(text(100),
              HasSubstr("inception_4e/5x5_reduce  backward weights     10.0     1.00     80.0    "
                        "80.0     1.000  DEGRADED\n"));
  EXPECT_THAT(text(100), HasSubstr("not shown in 100 columns: implementation\n"));
  EXPECT_THAT(text(160), HasSubstr("80.0     1.000  ###           jit:avx512_core  DEGRADED\n"));
}

TEST(VerdictTest, AStageWithOnlyTheStepsReasonsIsNotListed) {
  Report report = SampleTable();
  report.step.status = Status::kDegraded;
  report.step.reason = "interrupted; a slow probe; a lower ceiling";
  for (Record& stage : report.stages) {
    stage.status = Status::kDegraded;
    stage.reason = "interrupted; a slow probe";
  }
  EXPECT_EQ(VerdictText(report, {.width = 110}),
            "verdict: DEGRADED: interrupted; a slow probe; a lower ceiling\n");
  report.stages[0].reason = "interrupted; its counts are incomplete";
  report.stages[1].status = Status::kOk;
  report.stages[1].reason = "";
  EXPECT_EQ(VerdictText(report, {.width = 110}),
            "verdict: DEGRADED: interrupted; a slow probe; a lower ceiling\n"
            "  b forward: DEGRADED: its counts are incomplete\n"
            "  c forward: OK\n");
}

}  // namespace
}  // namespace topdnn
