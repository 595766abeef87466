#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/report/json.h"
#include "harness/report/registry.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFiles[] = {"bencher",  "benchmark-action", "csv",      "html",      "json",
                                  "markdown", "openmetrics",      "timeline", "toplev-csv"};

template <class Reports>
std::vector<std::string> NamesOf(const Reports& reports) {
  std::vector<std::string> names;
  for (const auto& report : reports) names.push_back(report.name);
  return names;
}

TEST(ReportRegistryTest, HasTheReports) {
  EXPECT_THAT(NamesOf(FileReports()), ElementsAreArray(kFiles));
  EXPECT_THAT(NamesOf(TableReports()),
              ElementsAre("stages", "topdown", "dram", "fed-step", "tree", "bandwidth", "bounds",
                          "core", "denormals", "energy", "experiment", "pages", "width", "roofline",
                          "context-gap", "series", "hot"));
}

TEST(ReportRegistryTest, OptionsHaveAHelp) {
  for (const FileReport& report : FileReports()) EXPECT_NE(report.help, "") << report.name;
  for (const TableReport& table : TableReports()) {
    EXPECT_EQ(table.help.empty(), table.shown != TableReport::Shown::kOnRequest) << table.name;
  }
}

TEST(ReportRegistryTest, RefusesTheSecondReportOfAName) {
  const auto file = [](const std::string& name) {
    ReportRegistration(
        FileReport{.name = name, .help = "", .text = [](const Report&) { return std::string(); }});
  };
  const auto table = [](const std::string& name) {
    ReportRegistration(TableReport{
        .name = name, .help = "", .text = [](const Report&, const Style&, const ConsoleOptions&) {
          return std::string();
        }});
  };
  EXPECT_THROW(file("json"), std::logic_error);
  EXPECT_THROW(file("roofline"), std::logic_error);
  EXPECT_THROW(table("roofline"), std::logic_error);
  EXPECT_THROW(table("csv"), std::logic_error);
  EXPECT_THAT(NamesOf(FileReports()), ElementsAreArray(kFiles));
}

Report WithRoofline() {
  Report report;
  report.stages.resize(1);
  report.stages[0].name = "conv1";
  report.stages[0].seconds = Summary{.median = 1e-3, .min = 1e-3, .p90 = 1e-3, .n = 5};
  report.stages[0].roofline = Roofline{};
  report.stages[0].bounds_reason = "no counts";
  return report;
}

TEST(ReportRegistryTest, TablesAreShownAlwaysUnlessQuietOrOnRequest) {
  const Report report = WithRoofline();
  const Style style = {.width = 100};
  const std::string usual = TablesText(report, style, {}, {});
  EXPECT_THAT(usual, HasSubstr("verdict: OK"));
  EXPECT_THAT(usual, HasSubstr("no Top-Down bounds: no counts"));
  EXPECT_THAT(usual, Not(HasSubstr("Roofline")));
  const std::string quiet = TablesText(report, style, {.quiet = true}, {"roofline"});
  EXPECT_THAT(quiet, HasSubstr("verdict: OK"));
  EXPECT_THAT(quiet, Not(HasSubstr("no counts")));
  EXPECT_THAT(quiet, HasSubstr("Roofline"));
}

TEST(ReportRegistryTest, TheFileOfJsonIsTheReport) {
  const Report report = WithRoofline();
  const auto json = std::find_if(FileReports().begin(), FileReports().end(),
                                 [](const FileReport& file) { return file.name == "json"; });
  ASSERT_NE(json, FileReports().end());
  EXPECT_EQ(json->text(report), JsonText(ToJson(report)));
}

}  // namespace
}  // namespace topdnn
