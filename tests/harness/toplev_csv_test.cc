// `profile --export toplev-csv`: read by Python's csv module, by the rules of pmu-tools' readers
// (csv_formats.py of commit 0a825eb): a row whose first field begins with '#' is a comment, and a
// row of toplev for one CPU is a time stamp, a node, a value and a unit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/harness/export_sample.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

constexpr const char* kReader = R"py(
import csv, json, re, sys
comments, head, rows = [], None, []
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    for row in csv.reader(file, strict=True):
        if row[0].strip().startswith("#"):
            comments.append(row[0])
        elif row[0] == "Timestamp":
            head = row
        else:
            assert len(row) == len(head), row
            assert re.match(r"\s*[0-9.]+", row[0]), row
            assert re.match(r"[a-zA-Z.-]+", row[1]), row
            assert re.match(r"-?[0-9.]+%?|<.*>", row[2]), row
            assert re.match(r"(% )?[a-zA-Z]*( <)?", row[3]), row
            float(row[0]), float(row[2])
            rows.append(row)
print(json.dumps([comments, head, rows]))
)py";

Json Read(const Report& report) {
  const std::string text = ExportOf("toplev-csv", report);
  ExpectOnlyValidFigures(text);
  const Outcome outcome = RunPython(kReader, text);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output << text;
  return Json::parse(outcome.output);
}

TEST(ToplevCsvTest, HasToplevsColumnsPathsAndUnits) {
  const Json read = Read(ExportSample());
  // The header line of toplev -I without the column CPUs, which it has for several CPUs.
  EXPECT_EQ(read.at(1), (Json{"Timestamp", "Area", "Value", "Unit", "Description", "Sample",
                              "Stddev", "Multiplex", "Bottleneck", "Idle"}));
  const auto row = [](const char* node, const char* value, const char* unit) {
    return Json{"0.002000000", node, value, unit, "conv1 forward", "", "", "50.0", "", ""};
  };
  const Json& rows = read.at(2);
  ASSERT_EQ(rows.size(), 5u);  // Core_Bound is absent
  EXPECT_EQ(rows.at(0), row("Backend_Bound", "25.00", "% Slots"));
  EXPECT_EQ(rows.at(1), row("Backend_Bound.Memory_Bound", "12.50", "% Slots"));
  EXPECT_EQ(rows.at(2), row("Backend_Bound.Memory_Bound.L1_Bound", "6.25", "% Stalls"));
  EXPECT_EQ(rows.at(3), row("Retiring", "50.00", "% Slots"));
  EXPECT_EQ(rows.at(4), row("Own_Node", "75.00", "%"));
}

TEST(ToplevCsvTest, EachStageIsABlockWithItsEndAndItsStatus) {
  Report report = ExportSample();
  for (auto& stage : report.stages) stage.topdown = {{"Retiring", 0.5}};
  const Json read = Read(report);
  const Json& rows = read.at(2);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows.at(1).at(0), "0.005000000");
  EXPECT_EQ(rows.at(1).at(4),
            std::string(kHostileLine) + " forward; DEGRADED: reason " + std::string(kHostileLine));
  EXPECT_EQ(rows.at(4).at(0), "0.006750000");
  EXPECT_EQ(rows.at(4).at(4), "conv1 update");
  const std::string comments = read.at(0).dump();
  EXPECT_THAT(comments, HasSubstr("no rows: conv1 backward data: FAILED: reason"));
  EXPECT_THAT(comments, HasSubstr("no rows: pool1 backward data: INVALID: reason"));
  EXPECT_THAT(comments, Not(HasSubstr("was not measured")));
}

TEST(ToplevCsvTest, WithoutMeasuredTopdownACommentSaysSo) {
  Report report = ExportSample();
  report.stages[0].topdown.reset();
  report.notes.push_back({.text = "counters: perf: no PMU"});
  const Json read = Read(report);
  EXPECT_TRUE(read.at(2).empty());
  EXPECT_THAT(read.at(0).dump(), HasSubstr("no rows: Top-Down was not measured"));
  EXPECT_THAT(read.at(0).dump(), HasSubstr("# counters: perf: no PMU"));
}

}  // namespace
}  // namespace topdnn
