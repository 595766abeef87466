#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/tables/tables.h"

namespace topdnn {
namespace {

Record StageOf(const std::string& name) {
  Record record;
  record.name = name;
  record.pass = "backward_weights";
  record.seconds = Summary{.median = 1e-3, .min = 1e-3, .p90 = 1e-3, .n = 5};
  record.topdown_bounds = {{"Retiring", {0.2, 0.281, "instructions"}},
                           {"Bad_Speculation", {0, 0.1, "branches"}},
                           {"Core_Bound", {0.4, 0.8, "units"}},
                           {"Memory_Bound", {0.2, 0.4, "the rest"}},
                           {"Frontend_Bound", {0, 0.05, "bubbles"}}};
  return record;
}

Roofline RooflineOf() {
  Roofline r;
  r.flops = 8e6;
  r.counted = true;
  r.seconds = 1e-3;
  r.l1_bytes = 4e6;
  r.dram_bytes = 1e6;
  r.compute = Roof{"fma", 100e9};
  r.l1 = Roof{"read/l1", 200e9};
  r.dram = Roof{"read/dram", 10e9};
  return r;
}

TEST(BoundsTable, DrawsTheLowerEnds) {
  Report report;
  report.stages = {StageOf("conv1")};
  const std::string text = BoundsTable(report, Style{.width = 110});
  EXPECT_THAT(text, testing::HasSubstr("(estimated)"));
  EXPECT_THAT(text, testing::HasSubstr("not read from a PMU"));
  EXPECT_THAT(text, testing::HasSubstr("20-29"));
  EXPECT_THAT(text, testing::HasSubstr("RRRRRCCCCCCCCCC.....MMMMM"));
  EXPECT_THAT(text, testing::HasSubstr("backward weights"));
  EXPECT_LE(text.find("conv1"), text.find("20-29"));
}

TEST(BoundsTable, ShowsWhereTheFrontEndIs) {
  Report report;
  report.stages = {StageOf("conv1")};
  auto& bounds = *report.stages[0].topdown_bounds;
  bounds["Memory_And_Frontend_Bound"] = bounds["Memory_Bound"];
  bounds.erase("Memory_Bound");
  bounds.erase("Frontend_Bound");
  EXPECT_THAT(BoundsTable(report, Style{}), testing::HasSubstr("in memory"));
}

TEST(BoundsTable, ANodeWithoutBoundsIsNotAvailable) {
  Report report;
  report.stages = {StageOf("conv1")};
  report.stages[0].topdown_bounds = {{"Retiring", {0.2, 0.4, "instructions"}}};
  const std::string text = BoundsTable(report, Style{});
  EXPECT_THAT(text, testing::ContainsRegex("20-40 +n/a +n/a +n/a +n/a"));
}

TEST(BoundsTable, GivesTheReasonForRecordsWithoutBoundsOnce) {
  Report report;
  report.stages = {StageOf("conv1"), StageOf("conv2"), StageOf("conv3"), StageOf("conv4"),
                   StageOf("conv5")};
  for (Record& stage : report.stages) {
    stage.topdown_bounds.reset();
    stage.bounds_reason = "the record is DEGRADED";
  }
  report.stages[4].bounds_reason = "the core clock is not known";
  std::string text = BoundsTable(report, Style{});
  EXPECT_THAT(text, testing::HasSubstr("no Top-Down bounds: the record is DEGRADED "
                                       "(conv1 backward weights and 3 more)\n"));
  EXPECT_THAT(text, testing::HasSubstr("clock is not known (conv5 backward weights)\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("retiring")));  // no empty table
  report.stages[0] = StageOf("conv1");
  text = BoundsTable(report, Style{});
  EXPECT_THAT(text, testing::HasSubstr("20-29"));
  EXPECT_THAT(text, testing::HasSubstr("(conv2 backward weights, conv3 backward weights, conv4"));
}

TEST(BoundsTable, IsEmptyWithoutBoundsOrForAFailure) {
  Report report;
  report.stages = {StageOf("conv1")};
  report.stages[0].status = Status::kFailed;
  EXPECT_EQ(BoundsTable(report, Style{}), "");
  EXPECT_EQ(RooflineTable(report, Style{}), "");
}

TEST(Roofline, IsBelowTheLowestRoof) {
  Roofline r = RooflineOf();
  EXPECT_DOUBLE_EQ(r.flops_per_second(), 8e9);
  EXPECT_DOUBLE_EQ(*r.l1_intensity(), 2);
  EXPECT_DOUBLE_EQ(*r.dram_intensity(), 8);
  EXPECT_EQ(r.attainable()->name, "read/dram");
  EXPECT_DOUBLE_EQ(r.attainable()->value, 80e9);
  r.dram_applies = false;
  EXPECT_EQ(r.attainable()->name, "fma");
  r.l1_bytes = 32e6;  // 0.25 FLOP/B
  EXPECT_EQ(r.attainable()->name, "read/l1");
  EXPECT_DOUBLE_EQ(r.attainable()->value, 50e9);
  r.l1_bytes.reset();
  EXPECT_FALSE(r.l1_intensity());
  EXPECT_EQ(r.attainable()->name, "fma");
}

TEST(Roofline, WritesAbsentValuesToJsonAsNull) {
  Roofline r = RooflineOf();
  r.l1_bytes.reset();
  r.dram.reset();
  const auto json = ToJson(r);
  EXPECT_EQ(json["flops_are"], "executed");
  EXPECT_TRUE(json["l1_intensity"].is_null());
  EXPECT_TRUE(json["roofs"]["dram"].is_null());
  EXPECT_EQ(json["roofs"]["compute"]["name"], "fma");
  EXPECT_DOUBLE_EQ(json["attainable"]["flops_per_second"].get<double>(), 100e9);
}

TEST(RooflineTable, ShowsTheShareOfTheLowestRoof) {
  Report report;
  report.stages = {StageOf("conv1")};
  report.stages[0].roofline = RooflineOf();
  const std::string text = RooflineTable(report, Style{});
  EXPECT_THAT(text, testing::HasSubstr("read/dram"));
  EXPECT_THAT(text, testing::HasSubstr("    10.0  read/dram"));
}

Ceiling CeilingOf(const char* name, const char* level, std::optional<double> value,
                  const char* unit) {
  Ceiling ceiling;
  ceiling.name = name;
  ceiling.operands = level;
  ceiling.value = value;
  ceiling.unit = unit;
  return ceiling;
}

TEST(BandwidthRoof, IsTheFastestProbeOfTheLevel) {
  const std::vector<Ceiling> ceilings = {
      CeilingOf("read/l1", "l1", 5, "B/s"), CeilingOf("triad/l1", "l1", 7, "B/s"),
      CeilingOf("fma/l1", "l1", 9, "FLOP/s"), CeilingOf("read/dram", "dram", {}, "B/s")};
  EXPECT_EQ(BandwidthRoof(ceilings, "l1")->name, "triad/l1");
  EXPECT_FALSE(BandwidthRoof(ceilings, "dram"));
}

}  // namespace
}  // namespace topdnn
