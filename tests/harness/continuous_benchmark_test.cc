// `profile --export` of benchmark-action and bencher: checked against the schemas of the two
// tools.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/harness/export_sample.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

constexpr const char* kNames = "/training/batch 8/f32/onednn/threads 2/";

// The interface BenchmarkResult of github-action-benchmark (src/extract.ts, v1), which the action
// gets from JSON.parse for customSmallerIsBetter.
constexpr const char* kActionSchema = R"({
  "type": "array",
  "items": {
    "type": "object",
    "properties": {
      "name": {"type": "string", "minLength": 1},
      "value": {"type": "number", "exclusiveMinimum": 0},
      "unit": {"type": "string"},
      "range": {"type": "string"},
      "extra": {"type": "string"}
    },
    "required": ["name", "value", "unit"],
    "additionalProperties": false
  }
})";

// The members of the schema https://bencher.dev/bmf.json, with the limits of the same page
// (bencher.dev/docs/reference/bencher-metric-format): 1024 characters for a benchmark's name, 64
// for a measure's.
constexpr const char* kBencherSchema = R"({
  "type": "object",
  "propertyNames": {"minLength": 1, "maxLength": 1024},
  "additionalProperties": {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 64},
    "additionalProperties": {
      "type": "object",
      "properties": {
        "value": {"type": "number"},
        "lower_value": {"type": "number"},
        "upper_value": {"type": "number"}
      },
      "required": ["value"],
      "additionalProperties": false
    }
  }
})";

class ContinuousBenchmarkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPythonModule("jsonschema")) {
      GTEST_SKIP() << "jsonschema is not installed: apt-get install python3-jsonschema";
    }
  }

  // The JSON of the export, after the check against the schema.
  static Json Read(const std::string& name, const char* schema, const Report& report) {
    const std::string text = ExportOf(name, report);
    ExpectOnlyValidFigures(text);
    const std::string program =
        "import json, jsonschema, sys\n"
        "text = open(sys.argv[1], encoding='utf-8').read()\n"
        "jsonschema.Draft7Validator(json.loads(r'''" +
        std::string(schema) + "''')).validate(json.loads(text))\n";
    const Outcome outcome = RunPython(program, text);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output << text;
    return Json::parse(text);
  }
};

TEST_F(ContinuousBenchmarkTest, TheActionGetsMediansInMicroseconds) {
  const Json entries = Read("benchmark-action", kActionSchema, ExportSample());
  ASSERT_EQ(entries.size(), 6u);  // the step and 5 stages
  EXPECT_EQ(entries.at(0).at("name"), std::string(kHostileLine) + kNames + "step");
  EXPECT_EQ(entries.at(0).at("unit"), "us");
  EXPECT_EQ(entries.at(0).at("value"), 10000);
  EXPECT_EQ(entries.at(0).at("range"), "min 5000, p90 20000");
  EXPECT_THAT(entries.at(0).at("extra").get<std::string>(), HasSubstr("DEGRADED: reason a\"b'"));
  EXPECT_EQ(entries.at(1).at("value"), 2000);
  EXPECT_THAT(entries.at(1).at("extra").get<std::string>(),
              HasSubstr("OK\ntimed steps: 50\nimplementation: jit:avx512\nGFLOP/s: 200\n"
                        "of peak: 50.0 %\nmachine: Some CPU (zen5), a\"b'"));
  EXPECT_THAT(entries.at(4).at("extra").get<std::string>(), Not(HasSubstr("GFLOP/s")));
  std::set<std::string> names;
  for (const Json& entry : entries) names.insert(entry.at("name"));
  EXPECT_EQ(names.size(), entries.size());
}

TEST_F(ContinuousBenchmarkTest, BencherGetsNanosecondsAndRates) {
  const Json benchmarks = Read("bencher", kBencherSchema, ExportSample());
  ASSERT_EQ(benchmarks.size(), 6u);
  const std::string run = std::string(kHostileLine) + kNames;
  const Json& step = benchmarks.at(run + "step");
  EXPECT_EQ(step.at("latency"),
            (Json{{"value", 10000000}, {"lower_value", 5000000}, {"upper_value", 20000000}}));
  EXPECT_EQ(step.at("images-per-second"),
            (Json{{"value", 800}, {"lower_value", 400}, {"upper_value", 1600}}));
  const Json& conv = benchmarks.at(run + "conv1 forward");
  EXPECT_NEAR(conv.at("gflops").at("value").get<double>(), 200, 1e-9);
  EXPECT_FALSE(benchmarks.at(run + "w reorder").contains("gflops"));
  EXPECT_TRUE(benchmarks.contains(run + kHostileLine + " forward"));
  EXPECT_TRUE(benchmarks.contains(run + kHostileLine + " forward 2"));
  EXPECT_FALSE(benchmarks.contains(run + "conv1 backward data"));
}

TEST_F(ContinuousBenchmarkTest, LongNamesAreCutAndStayDifferent) {
  Report report = ExportSample();
  report.stages.resize(3);
  for (auto& stage : report.stages) stage.name = std::string(5000, 'x');
  EXPECT_EQ(Read("bencher", kBencherSchema, report).size(), 4u);
}

TEST_F(ContinuousBenchmarkTest, AStageMeasuredByItselfHasAnotherName) {
  Report report = ExportSample();
  report.stages[0].regime = "isolated-hot";
  EXPECT_TRUE(Read("bencher", kBencherSchema, report)
                  .contains(std::string(kHostileLine) + kNames + "conv1 forward isolated-hot"));
}

TEST_F(ContinuousBenchmarkTest, ARunWithoutAValidTimeIsEmpty) {
  Report report = ExportSample();
  report.step.status = Status::kInvalid;
  for (auto& stage : report.stages) stage.status = Status::kFailed;
  EXPECT_EQ(Read("bencher", kBencherSchema, report), Json::object());
  EXPECT_EQ(Read("benchmark-action", kActionSchema, report), Json::array());
}

}  // namespace
}  // namespace topdnn
