// The HTML page of `topdnn report` in a browser: what it draws, its use by pointer and keyboard,
// and that it needs no network. browse_page.py drives Debian's chromium.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/program.h"
#include "tests/bench/result_samples.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

constexpr int kNoBrowser = 77;  // exit status of browse_page.py

// Writes the page of the results, and runs this check of browse_page.py on it.
void Browse(const std::string& check, const std::vector<nlohmann::ordered_json>& results) {
  const TestFolder folder;
  const std::string page = folder.path() / "page.html";
  std::vector<std::string> arguments = {"report", "--html", page};
  for (const auto& result : results) {
    const std::string name = "result" + std::to_string(arguments.size()) + ".json";
    arguments.push_back(folder.Write(name, result.dump()));
  }
  const Outcome written = RunProgram(arguments);
  ASSERT_EQ(written.exit_status, 0) << written.output;
  const Outcome browsed = RunShell(Quoted(TOPDNN_SOURCE_DIR "/tests/bench/browse_page.py") + " " +
                                   check + " " + Quoted(page));
  if (browsed.exit_status == kNoBrowser) GTEST_SKIP() << browsed.output;
  EXPECT_EQ(browsed.exit_status, 0) << browsed.output;
}

TEST(HtmlPageInABrowser, DrawsTheDataToScale) { Browse("drawn", {SampleProfile()}); }

TEST(HtmlPageInABrowser, WorksByPointerAndKeyboard) { Browse("use", {SampleProfile()}); }

TEST(HtmlPageInABrowser, FitsEveryWidth) { Browse("widths", {LargeProfile(587)}); }

TEST(HtmlPageInABrowser, IsLegibleInBothThemes) { Browse("themes", {SampleProfile()}); }

TEST(HtmlPageInABrowser, QuotesHostileNames) { Browse("hostile", {HostileProfile()}); }

TEST(HtmlPageInABrowser, DrawsASweep) { Browse("figures", {SampleSweep()}); }

TEST(HtmlPageInABrowser, DrawsAComparison) { Browse("figures", {SampleComparison()}); }

TEST(HtmlPageInABrowser, DrawsAComparisonOfTwoMachinesInUnitsOfTheirCeilings) {
  nlohmann::ordered_json comparison = SampleComparison();
  comparison["differences"] = {"machine: CPU x, not y"};
  comparison["rows"][1]["ratio_normalised"] = 0.5;
  Browse("figures", {comparison});
}

TEST(HtmlPageInABrowser, DrawsMachinesSideBySide) { Browse("machines", {SampleMachines()}); }

TEST(HtmlPageInABrowser, DrawsATrace) { Browse("figures", {SampleTrace()}); }

TEST(HtmlPageInABrowser, DrawsALiveRun) { Browse("live", {SampleLiveRun()}); }

TEST(HtmlPageInABrowser, DrawsACorun) { Browse("figures", {SampleCorun()}); }

// A simulation with nominal times runs no job. The test then marks one job as failed, and gives one
// policy a measured speed of the machine.
TEST(HtmlPageInABrowser, DrawsACosched) {
  const TestFolder folder;
  const std::string file = folder.path() / "cosched.json";
  const Outcome outcome = RunProgram(
      {"cosched", "--simulate", "--jobs", "6", "--cpus", "4", "--policy", "all", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  nlohmann::ordered_json cosched = ReadJson(file);
  auto& failed = cosched["policies"][0]["jobs"][1];
  failed["status"] = "FAILED";
  failed["reason"] = "was ended by signal 9";
  failed["turnaround"] = nullptr;
  cosched["policies"][0]["failed"] = 1;
  cosched["policies"][1]["machine_speed"] = {{"before", 0.7}, {"after", 0.9}, {"mean", 0.8}};
  cosched["policies"][1]["common_speed_makespan"] = 12.5;
  Browse("schedule", {cosched});
}

TEST(HtmlPageInABrowser, DrawsResultsThatLackMostKeys) {
  using Json = nlohmann::ordered_json;
  const Json one = {{"name", "x"}};
  std::vector<Json> results = {
      {{"step", Json::object()}, {"stages", Json::array()}},
      {{"step", nullptr}, {"stages", {one, {{"seconds", 5}, {"roofline", "x"}}}}},
      {{"cases", {one, {{"status", "OK"}, {"step", 5}}}}, {"left_out", 0}},
      {{"rows", {one, {{"ci95", "x"}, {"ratio", nullptr}}}}, {"verdict", "not comparable"}},
      {{"fleet", "x"}, {"machines", {one}}, {"comparison", {{"machines", {{{"rows", {one}}}}}}}},
      {{"group", {one, {{"stages", {one}}}}}, {"stp", nullptr}, {"matrix", {one}}},
      {{"policies", {one, {{"jobs", {one, {{"timeline", {one}}}}}}}}, {"cpus", nullptr}}};
  for (Json& result : results) result["schema"] = 1;
  Browse("minimal", results);
}

}  // namespace
}  // namespace topdnn
