// The energy of a step from the readings of an external meter.

#include "bench/profile/meter_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "bench/command_line/command.h"
#include "harness/report/tables/tables.h"
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

// "118,10" of "118,100": the rest is not written yet.
TEST(MeterEnergyTest, AnUnfinishedLineIsNotRead) {
  const TestFolder folder;
  const std::string file = folder.Write("meter.csv", std::string(kReadings) + "119,1");
  Report report = ReportOfStep(0.5);
  AddMeterEnergy(file, {.program = 110, .from = 115, .to = 118}, 0, report);
  EXPECT_DOUBLE_EQ(report.step.events.at(kMeterEvent).value(), 50);
  Report later = ReportOfStep(0.5);
  AddMeterEnergy(file, {.program = 110, .from = 115, .to = 119}, 0, later);
  EXPECT_TRUE(later.step.events.empty()) << "119 s is not covered";
}

// A file that became unreadable while the steps ran costs the energy, not the profile.
TEST(MeterEnergyTest, AFileThatIsBadLaterGivesANote) {
  const TestFolder folder;
  Report report = ReportOfStep(0.5);
  AddMeterEnergy(folder.Write("bad.csv", "1,2,3\nx\n"), {.program = 110, .from = 112, .to = 117}, 0,
                 report);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(report.step.events.empty());
}

TEST(MeterEnergyTest, APipeIsRefused) {
  const TestFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(CheckMeterFile(pipe), UsageError);
}

// "," is a separator here; a decimal comma would be read as one.
TEST(MeterEnergyTest, DecimalCommasAreRefused) {
  const TestFolder folder;
  EXPECT_THROW(CheckMeterFile(folder.Write("comma.csv", "1700000000;230,4\n")), UsageError);
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
