// The tables of the experiments, from records made by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/report/json.h"
#include "harness/report/tables/tables.h"

namespace topdnn {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr Style kWide{.width = 160};

Record MeasuredStage(const std::string& name) {
  Record record;
  record.name = name;
  record.pass = "backward_weights";
  record.seconds = Summary{.median = 2e-3, .min = 2e-3, .p90 = 2e-3, .n = 5};
  return record;
}

Report ReportWithMemory() {
  Report report;
  report.stages = {MeasuredStage("conv4")};
  report.stages[0].topdown_experiment = {{"Memory_Bound", {0.38, 0.44, "experiment"}},
                                         {"Rest", {0.56, 0.62, "rest"}}};
  return report;
}

// 1 / (1 - 0.44) = 1.79. If only the waits are left, they take at least 0.38: 1 / 0.38 = 2.63.
TEST(ExperimentTableTest, SaysWhatCanBeGained) {
  const std::string text = ExperimentTable(ReportWithMemory(), kWide);
  EXPECT_THAT(text, HasSubstr("38-44"));
  EXPECT_THAT(text, HasSubstr("conv4 backward weights: 41 % (38 to 44) waits for memory: at most "
                              "1.8 x faster without these waits, and at most 2.6 x with fewer "
                              "instructions"));
  EXPECT_THAT(text, Not(HasSubstr("PMU")));
  EXPECT_EQ(ExperimentTable(Report(), kWide), "");
}

TEST(ExperimentTableTest, ThePmuIsBesideTheInterval) {
  const auto row_with = [](double pmu) {
    Report report = ReportWithMemory();
    report.stages[0].topdown = {{"Memory_Bound", pmu}};
    return ExperimentTable(report, kWide);
  };
  EXPECT_THAT(row_with(0.51), HasSubstr("by PMU %"));
  EXPECT_THAT(row_with(0.51), ContainsRegex("38-44 +51 +\\+7"));
  EXPECT_THAT(row_with(0.40), ContainsRegex("38-44 +40 +0"));
  EXPECT_THAT(row_with(0.30), ContainsRegex("38-44 +30 +-8"));
}

TEST(ExperimentTableTest, AReasonIsPrintedOnce) {
  Report report = ReportWithMemory();
  for (const char* name : {"relu", "loss"}) {
    report.stages.push_back(MeasuredStage(name));
    report.stages.back().experiment_reason = "too short";
  }
  EXPECT_THAT(ExperimentTable(report, kWide),
              HasSubstr("no experiment: too short (relu backward weights, loss backward weights)"));
}

TEST(WidthTableTest, ShowsTimesSpeedupAndDoubts) {
  Report report;
  report.stages = {MeasuredStage("conv1")};
  report.stages[0].width_experiment = WidthResult{.threads = {1, 2},
                                                  .seconds = {4e-3, 2.2e-3},
                                                  .speedup = {1.801, 1.899},
                                                  .serial_share = {0.051, 0.112},
                                                  .doubt = "another implementation"};
  report.step = report.stages[0];
  report.step.name = "step";
  const std::string text = WidthTable(report, kWide);
  EXPECT_THAT(text, ContainsRegex("1 thread .*2 threads "));
  EXPECT_THAT(text, ContainsRegex("4.00 +2.20 +1.80-1.90 +5-12"));
  EXPECT_THAT(text, HasSubstr("another implementation (conv1 backward weights)"));
  EXPECT_EQ(WidthTable(Report(), kWide), "");
  const nlohmann::ordered_json json = ToJson(report.stages[0]);
  EXPECT_EQ(json["width_experiment"].dump(),
            "{\"threads\":[1,2],\"seconds\":[0.004,0.0022],\"speedup\":[1.801,1.899],"
            "\"serial_share\":[0.051,0.112],\"doubt\":\"another implementation\"}");
}

TEST(BandwidthTableTest, ShowsSlowdownAndSlopeByResource) {
  Report report;
  report.stages = {MeasuredStage("pool1")};
  report.stages[0].bandwidth_experiment = {
      {.resource = "llc", .taken = 1, .slowdown = {0.994, 1.021}, .slope = {-0.011, 0.02}},
      {.resource = "dram", .taken = 0.87, .slowdown = {1.5, 1.6}, .slope = {0.55, 0.71}}};
  report.step = report.stages[0];
  const std::string text = BandwidthTable(report, kWide);
  EXPECT_THAT(text, ContainsRegex("0.99-1.03 +-2 to 2 +1.50-1.60 +55-71"));
  EXPECT_THAT(text, HasSubstr("the readers took 100 % of what they reach alone in the last cache, "
                              "87 % of what they reach alone in DRAM"));
  EXPECT_EQ(BandwidthTable(Report(), kWide), "");
  const nlohmann::ordered_json json = ToJson(report.stages[0]);
  EXPECT_EQ(json["bandwidth_experiment"]["dram"].dump(),
            "{\"taken\":0.87,\"slowdown\":[1.5,1.6],\"slope\":[0.55,0.71]}");
  EXPECT_FALSE(json.contains("width_experiment"));
}

// An experiment that was asked for never ends without a word: in the table, and without one.
TEST(ScalingTablesTest, SayWhyAStageHasNoResult) {
  Report report;
  report.stages = {MeasuredStage("conv1"), MeasuredStage("pool1")};
  report.stages[0].width_experiment = WidthResult{
      .threads = {1, 2}, .seconds = {4e-3, 2e-3}, .speedup = {}, .serial_share = {}, .doubt = ""};
  report.stages[0].bandwidth_experiment = {
      {.resource = "dram", .taken = 0.8, .slowdown = {}, .slope = {}}};
  report.stages[1].width_reason = report.step.width_reason = "too few rounds";
  report.stages[1].bandwidth_reason = report.step.bandwidth_reason = "busy CPUs";
  for (const bool measured : {true, false}) {
    const std::string width = WidthTable(report, kWide);
    EXPECT_EQ(width.find("1 thread") != std::string::npos, measured);
    EXPECT_THAT(width, HasSubstr("not measured: too few rounds (pool1 backward weights, step)"));
    EXPECT_THAT(width, HasSubstr("Threads by experiment"));
    const std::string bandwidth = BandwidthTable(report, kWide);
    EXPECT_EQ(bandwidth.find("DRAM slope") != std::string::npos, measured);
    EXPECT_THAT(bandwidth, HasSubstr("not measured: busy CPUs (pool1 backward weights, step)"));
    EXPECT_THAT(bandwidth, HasSubstr("Bandwidth by experiment"));
    EXPECT_EQ(bandwidth.find("the readers took"), std::string::npos);  // that is of the step
    if (measured) report.stages.erase(report.stages.begin());
  }
  const nlohmann::ordered_json json = ToJson(report.stages[0]);
  EXPECT_EQ(json["width_experiment_reason"], "too few rounds");
  EXPECT_EQ(json["bandwidth_experiment_reason"], "busy CPUs");
  EXPECT_TRUE(json["topdown_experiment_reason"].is_null());  // another experiment's
}

TEST(DenormalsTableTest, ShowsSharesFactorAndOrigin) {
  Report report;
  report.stages = {MeasuredStage("conv1"), MeasuredStage("relu1")};
  DenormalsResult result;
  result.operands = {{.name = "src", .kind = "values", .result = false, .share = 0},
                     {.name = "weights", .kind = "weights", .result = false, .share = 0.01},
                     {.name = "dst", .kind = "values", .result = true, .share = 0.25}};
  result.factor = Interval{.low = 1.501, .high = 1.699};
  result.changed = 0.25;
  result.largest_change = 1e-38;
  report.stages[0].denormals_experiment = result;
  report.stages[1].denormals_experiment = DenormalsResult();
  report.stages[1].denormals_experiment->reason = "too few rounds";
  report.step = report.stages[0];
  report.step.pass.clear();
  report.step.denormals_experiment->operands.clear();
  report.step.denormals_experiment->origin = "the weights of conv1";
  const std::string text = DenormalsTable(report, kWide);
  EXPECT_THAT(text, ContainsRegex("2.00 +0 +1 +25 +1.50-1.70 +25 +1e-36"));
  EXPECT_THAT(text, HasSubstr("they come from: the weights of conv1"));
  EXPECT_THAT(text, HasSubstr("no factor: too few rounds (relu1 backward weights)"));
  EXPECT_EQ(DenormalsTable(Report(), kWide), "");
  report.step.denormals_experiment->origin.clear();
  EXPECT_THAT(DenormalsTable(report, kWide), HasSubstr("no operand and no result has denormals"));
  const nlohmann::ordered_json json = ToJson(report.stages[0]);
  EXPECT_EQ(json["denormals"]["factor"].dump(), "[1.501,1.699]");
  EXPECT_EQ(json["denormals"]["operands"][1].dump(),
            "{\"name\":\"weights\",\"kind\":\"weights\",\"result\":false,\"share\":0.01}");
  EXPECT_TRUE(ToJson(report.stages[1])["denormals"]["factor"].is_null());
  EXPECT_FALSE(json.contains("pages"));
}

TEST(PagesTableTest, ShowsFactorsProofAndWhyAKindIsAbsent) {
  constexpr double kMib = 1 << 20;
  Report report;
  report.stages = {MeasuredStage("dense1")};
  HugePagesResult transparent, reserved;
  transparent.kind = "transparent";
  transparent.factor = Interval{.low = 1.101, .high = 1.199};
  reserved.kind = "reserved";
  reserved.reason = "0 huge pages are reserved";
  PagesResult result;
  result.kinds = {transparent, reserved};
  result.bytes = 32 * kMib;
  report.stages[0].pages_experiment = result;
  result.bytes = 100 * kMib;
  result.kinds[0].proved_bytes = 98 * kMib;
  result.small_reach = 16 * kMib;
  result.huge_reach = 8192 * kMib;
  report.step = report.stages[0];
  report.step.pass.clear();
  report.step.pages_experiment = result;
  const std::string text = PagesTable(report, kWide);
  EXPECT_THAT(text, ContainsRegex("2.00 +32.0 +2.00 +1.10-1.20"));
  EXPECT_THAT(text, HasSubstr("transparent huge pages: 98.0 of 100.0 MiB in every round"));
  EXPECT_THAT(text, HasSubstr("reserved huge pages: 0 huge pages are reserved"));
  EXPECT_THAT(text, HasSubstr("reaches 16.0 MiB on pages of 4 KiB, 8192.0 MiB"));
  EXPECT_EQ(PagesTable(Report(), kWide), "");
  const nlohmann::ordered_json json = ToJson(report.stages[0]);
  EXPECT_EQ(json["pages"]["transparent"].dump(), "{\"factor\":[1.101,1.199],\"reason\":null}");
  EXPECT_TRUE(json["pages"]["reserved"]["factor"].is_null());
}

}  // namespace
}  // namespace topdnn
