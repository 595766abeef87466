// The energy of a step from the readings of an external meter.

#include "bench/profile/meter_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/command_line/command.h"
#include "harness/report/tables/energy_table.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

Report ReportOfStep(double seconds) {
  Report report;
  report.step.seconds = Summary{.median = seconds, .min = seconds, .p90 = seconds, .n = 9};
  return report;
}

// 20 W before the program begins at 110 s, 100 W from 112 s.
constexpr const char* kReadings =
    "time,watts\n100,20\n105,20\n110,20\n112,100\n114,100\n116,100\n118,100\n";

TEST(MeterEnergyTest, AStepHasTheMeanPowerOfTheTimedSteps) {
  const TestFolder folder;
  const std::string file = folder.Write("meter.csv", kReadings);
  CheckMeterFile(file);
  Report report = ReportOfStep(0.5);
  AddMeterEnergy(file, {.program = 110, .from = 112, .to = 117}, 0, report);
  EXPECT_DOUBLE_EQ(report.step.events.at(kMeterEvent).value(), 50);
  EXPECT_DOUBLE_EQ(report.step.events.at("energy/idle").value(), 10);
  EXPECT_TRUE(report.notes.empty());
}

TEST(MeterEnergyTest, ReadingsThatDoNotCoverTheStepsGiveANote) {
  const TestFolder folder;
  const std::string file = folder.Write("meter.csv", kReadings);
  Report report = ReportOfStep(0.5);
  AddMeterEnergy(file, {.program = 110, .from = 112, .to = 120}, 0, report);
  EXPECT_TRUE(report.step.events.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0].text, HasSubstr("do not cover the steps"));
  EXPECT_THROW(CheckMeterFile(folder.Write("bad.csv", "1,2,3\nx\n")), UsageError);
  EXPECT_THROW(CheckMeterFile((folder.path() / "none.csv").string()), UsageError);
}

TEST(MeterEnergyTest, AClockThatWasSetGivesANote) {
  const TestFolder folder;
  const std::string file = folder.Write("meter.csv", kReadings);
  Report report = ReportOfStep(0.5);
  AddMeterEnergy(file, {.program = 110, .from = 112, .to = 117, .was_set = true}, 0, report);
  EXPECT_TRUE(report.step.events.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0].text, HasSubstr("the time of day was set"));
}

}  // namespace
}  // namespace topdnn
