// Event files of others (event_files/README.md) on the command line: the right values of each.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string EventFilePath(const std::string& name) {
  return std::string(TOPDNN_SOURCE_DIR "/tests/bench/event_files/") + name;
}

Outcome RunTopdownOn(const std::string& cpu, const std::string& file,
                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"topdown", "--cpu", cpu, "--events", EventFilePath(file)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunProgram(arguments);
}

nlohmann::json TopdownJson(const std::string& cpu, const std::string& file,
                           std::vector<std::string> more = {}) {
  const TestFolder folder;
  const std::string json = (folder.path() / "o.json").string();
  more.insert(more.end(), {"--json", json});
  const Outcome outcome = RunTopdownOn(cpu, file, more);
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  return ReadJson(json);
}

// Frontend_Bound, Backend_Bound, Retiring, Bad_Speculation in percent; -1: absent.
struct ExpectedFile {
  std::string cpu, file;
  double frontend, backend, retiring, bad;
};

void ExpectLevel1(const nlohmann::json& level1, const ExpectedFile& row) {
  const std::vector<std::pair<std::string, double>> expected = {{"Frontend_Bound", row.frontend},
                                                                {"Backend_Bound", row.backend},
                                                                {"Retiring", row.retiring},
                                                                {"Bad_Speculation", row.bad}};
  for (const auto& [name, percent] : expected) {
    SCOPED_TRACE(row.file + " " + name);
    if (percent < 0) {
      EXPECT_TRUE(level1.at(name).is_null());
    } else {
      ASSERT_TRUE(level1.at(name).is_number());
      EXPECT_NEAR(100 * level1.at(name).get<double>(), percent, 0.05);
    }
  }
}

// Worked out by hand from the counts in the files.
TEST(EventFilesOfOthersTest, GiveTheRightValues) {
  for (const ExpectedFile& row : std::vector<ExpectedFile>{
           {"zen4", "zen4_r1.json", 3.37, 52.91, 41.46, 0.38},
           {"zen4", "zen4_r3.json", 3.37, 52.91, 41.46, 0.38},
           {"zen4", "repeat.csv", 3.37, 52.91, 41.46, 0.38},
           {"zen4", "norepeat.csv", 3.37, 52.91, 41.46, 0.38},
           {"ice_lake_x", "json_once.json", 25, 50, 20, 5},
           {"ice_lake_x", "json_twice.json", 25, 50, 20, 5},
           {"zen4", "idle_interval.csv", 66.67, -1, 20, -1},
           {"sapphire_rapids", "spr_default.json", 12.03, 69.95, 15.25, 2.77},
           // (UOP_DROPPING and CLEARS_COUNT, which correct the two nodes, are not in these)
           {"ice_lake_x", "json_comma.json", -1, -1, 20.42, -1},
           {"ice_lake_x", "json_nocomma.json", -1, -1, 20.42, -1},
           {"ice_lake_x", "json_oneline.json", -1, -1, 20.42, -1}}) {
    ExpectLevel1(TopdownJson(row.cpu, row.file)["level1"], row);
  }
}

TEST(EventFilesOfOthersTest, ControlGroupsAreReportedApart) {
  for (const std::string file : {"cgroup.csv", "cgroup.json"}) {
    const nlohmann::json json = TopdownJson("zen4", file);
    EXPECT_FALSE(json.contains("level1"));
    ASSERT_EQ(json["groups"].size(), 2u);
    ExpectLevel1(json["groups"]["web"]["level1"], {"zen4", file, 66.67, 10, 20, 1.67});
    ExpectLevel1(json["groups"]["batch"]["level1"], {"zen4", file, 1.85, 75.93, 20, 0.19});
    const nlohmann::json web = TopdownJson("zen4", file, {"--group", "web"});
    EXPECT_EQ(web["group"], "web");
    ExpectLevel1(web["level1"], {"zen4", file, 66.67, 10, 20, 1.67});
    EXPECT_THAT(RunTopdownOn("zen4", file).output, HasSubstr("control group batch"));
    const Outcome refused = RunTopdownOn("zen4", file, {"--group", "db"});
    EXPECT_EQ(refused.exit_status, kExitUsage) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("has the groups web, batch"));
  }
}

TEST(EventFilesOfOthersTest, IntervalsGiveASeries) {
  const nlohmann::json series = TopdownJson("zen4", "idle_interval.csv")["series"];
  ASSERT_EQ(series.size(), 3u);
  EXPECT_EQ(series[0]["time"], "1.000103288");
  EXPECT_NEAR(series[0]["level1"]["Retiring"].get<double>(), 0.2, 1e-9);
  EXPECT_TRUE(series[1]["level1"]["Retiring"].is_null());
  const std::string text = RunTopdownOn("zen4", "idle_interval.csv").output;
  EXPECT_THAT(text, HasSubstr("3.000303288"));
  EXPECT_THAT(text, HasSubstr("1 of 3 intervals or CPUs counted nothing"));
}

// 300 and 700 of 1000 cycles, by perf's names.
TEST(EventFilesOfOthersTest, Level4IsPrinted) {
  const TestFolder folder;
  std::string events;
  for (const auto& [name, count] : std::vector<std::pair<std::string, int>>{
           {"slots", 6000},
           {"topdown-retiring", 1500},
           {"topdown-bad-spec", 300},
           {"topdown-fe-bound", 1200},
           {"topdown-be-bound", 3000},
           {"int_misc.uop_dropping", 0},
           {"cycles", 1000},
           {"cpu/offcore_requests_outstanding.all_data_rd,cmask=4/", 300},
           {"offcore_requests_outstanding.cycles_with_data_rd", 700}}) {
    events += fmt::format("{}\"{}\": {}", events.empty() ? "" : ", ", name, count);
  }
  folder.Write("counts.json", "{\"events\": {" + events + "}}");
  const std::vector<std::string> command = {"topdown", "--cpu", "sapphire_rapids", "--events",
                                            (folder.path() / "counts.json").string()};
  EXPECT_THAT(RunProgram(command).output, HasSubstr("level 4, of cycles"));
  std::vector<std::string> as_json = command;
  as_json.insert(as_json.end(), {"--json", folder.path() / "o.json"});
  ASSERT_EQ(RunProgram(as_json).exit_status, kExitGood);
  const nlohmann::json json = ReadJson(folder.path() / "o.json");
  EXPECT_NEAR(json["level4"]["MEM_Bandwidth"].get<double>(), 0.3, 1e-9);
  EXPECT_NEAR(json["level4"]["MEM_Latency"].get<double>(), 0.4, 1e-9);
}

TEST(EventFilesOfOthersTest, TheNotesSayWhatHolds) {
  for (const char* file : {"repeat.csv", "norepeat.csv", "zen4_r3.json"}) {
    EXPECT_THAT(RunTopdownOn("zen4", file).output, HasSubstr("was counted 25 % of the time"));
  }
  EXPECT_THAT(RunTopdownOn("zen4", "repeat.csv").output, HasSubstr("means of repeated runs"));
  EXPECT_THAT(RunTopdownOn("zen4", "norepeat.csv").output,
              Not(HasSubstr("means of repeated runs")));
  const Outcome uncounted = RunTopdownOn("ice_lake_x", "notcounted.csv");
  EXPECT_EQ(uncounted.exit_status, kExitNothing);
  EXPECT_THAT(uncounted.output, HasSubstr("recorded, but not counted"));
  EXPECT_THAT(uncounted.output, Not(HasSubstr("none of the recorded events")));
  const Outcome metrics = RunTopdownOn("sapphire_rapids", "spr_default.json");
  EXPECT_THAT(metrics.output, HasSubstr("metrics that perf computed"));
  EXPECT_THAT(metrics.output, HasSubstr("slots,topdown-"));
}

}  // namespace
}  // namespace topdnn
