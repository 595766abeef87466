// `profile --export openmetrics`: read by Prometheus' own parsers, that of OpenMetrics and that of
// the older text format, which node_exporter's textfile collector reads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/harness/export_sample.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

// Prints the families of the parser that the name selects.
constexpr const char* kReader = R"py(
import importlib, json, sys
parser = importlib.import_module("prometheus_client.PARSERparser")
text = open(sys.argv[1], encoding="utf-8").read()
families = list(parser.text_string_to_metric_families(text))
print(json.dumps([[f.name, f.type, f.unit, f.documentation,
                   [[s.name, s.labels, s.value] for s in f.samples]] for f in families]))
)py";

struct MetricSample {
  std::map<std::string, std::string> labels;
  double value = 0;
};

class OpenMetricsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPythonModule("prometheus_client.openmetrics")) {
      GTEST_SKIP() << "Prometheus' parsers are not installed: apt-get install "
                      "python3-prometheus-client";
    }
  }

  static Json Families(const std::string& text, const std::string& parser = "openmetrics.") {
    std::string program = kReader;
    program.replace(program.find("PARSER"), 6, parser);
    const Outcome outcome = RunPython(program, text);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output << text;
    return Json::parse(outcome.output);
  }

  static std::vector<MetricSample> Samples(const Json& families, const std::string& family) {
    std::vector<MetricSample> samples;
    for (const Json& one : families) {
      if (one.at(0) != family) continue;
      for (const Json& sample : one.at(4)) {
        samples.push_back({sample.at(1).get<std::map<std::string, std::string>>(), sample.at(2)});
      }
    }
    return samples;
  }
};

// Whether a sample has the labels of the stage, and this label.
bool IsOf(const MetricSample& sample, const std::string& stage, const std::string& pass,
          const std::string& label, const std::string& value) {
  const auto has = [&](const std::string& name, const std::string& wanted) {
    const auto found = sample.labels.find(name);
    return found != sample.labels.end() && found->second == wanted;
  };
  return has("stage", stage) && has("pass", pass) && has(label, value);
}

TEST_F(OpenMetricsTest, BothParsersReadTheSameGauges) {
  const std::string text = ExportOf("openmetrics", ExportSample());
  ExpectOnlyValidFigures(text);
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  const Json families = Families(text);
  EXPECT_GT(families.size(), 10u);
  for (const Json& family : families) {
    EXPECT_EQ(family.at(1), "gauge") << family.at(0);
    EXPECT_NE(family.at(3), "") << family.at(0);
    const std::string name = family.at(0);
    EXPECT_EQ(family.at(2) == "seconds", name.ends_with("_seconds")) << name;
    EXPECT_EQ(family.at(2) == "bytes", name.ends_with("_bytes")) << name;
    EXPECT_EQ(family.at(2) == "ratio", name.ends_with("_ratio")) << name;
  }
  Json older = Families(text, "");
  ASSERT_EQ(older.size(), families.size());
  for (std::size_t i = 0; i < families.size(); ++i) {
    EXPECT_EQ(older.at(i).at(0), families.at(i).at(0));
    EXPECT_EQ(older.at(i).at(1), families.at(i).at(1));
    EXPECT_EQ(older.at(i).at(4), families.at(i).at(4));
  }
}

TEST_F(OpenMetricsTest, TimesAreSecondsByStatistic) {
  const Json families = Families(ExportOf("openmetrics", ExportSample()));
  const auto step = Samples(families, "topdnn_step_seconds");
  ASSERT_EQ(step.size(), 3u);
  EXPECT_EQ(step[0].labels.at("statistic"), "min");
  EXPECT_EQ(step[0].value, 5e-3);
  EXPECT_EQ(step[1].labels.at("statistic"), "median");
  EXPECT_EQ(step[1].value, 10e-3);
  EXPECT_EQ(step[2].value, 20e-3);
  EXPECT_EQ(step[1].labels.at("batch"), "8");
  EXPECT_EQ(step[1].labels.at("mode"), "training");
  EXPECT_EQ(step[1].labels.at("regime"), "in-network");
  EXPECT_FALSE(step[1].labels.contains("choice"));
  EXPECT_EQ(Samples(families, "topdnn_step_images_per_second").at(0).value, 800);
  EXPECT_EQ(Samples(families, "topdnn_stage_flops_per_second").at(0).value, 200e9);
  EXPECT_EQ(Samples(families, "topdnn_stage_peak_ratio").at(0).value, 0.5);
  EXPECT_EQ(Samples(families, "topdnn_stage_traffic_bytes").at(0).value, 4e6);
  // 5 stages have a time, 3 statistics each.
  EXPECT_EQ(Samples(families, "topdnn_stage_seconds").size(), 15u);
  const auto events = Samples(families, "topdnn_step_events");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].labels.at("event"), "cycles");
  EXPECT_EQ(Samples(families, "topdnn_stage_topdown_ratio").size(), 5u);
}

TEST_F(OpenMetricsTest, LabelsKeepQuotesAndLineBreaks) {
  const Json families = Families(ExportOf("openmetrics", ExportSample()));
  const auto times = Samples(families, "topdnn_stage_seconds");
  const std::string expected = "a\"b'\\|`c`,\n# <b></script> *x* [l](u) @you\\u{1b}[31m \\xff\\xfe";
  EXPECT_EQ(times.at(3).labels.at("stage"), expected);
  EXPECT_FALSE(times.at(3).labels.contains("repeat"));
  EXPECT_EQ(times.at(6).labels.at("stage"), expected);
  EXPECT_EQ(times.at(6).labels.at("repeat"), "2");
  EXPECT_EQ(times.at(0).labels.at("network"), expected);
}

TEST_F(OpenMetricsTest, EachRecordHasOneStatus) {
  const Json families = Families(ExportOf("openmetrics", ExportSample()));
  const auto states = Samples(families, "topdnn_stage_status");
  ASSERT_EQ(states.size(), 8u * 5u);
  double sum = 0;
  for (const MetricSample& sample : states) sum += sample.value;
  EXPECT_EQ(sum, 8);
  for (const auto& [stage, pass, status] : {std::tuple{"conv1", "forward", "OK"},
                                            {"conv1", "backward_data", "FAILED"},
                                            {"pool1", "backward_data", "INVALID"},
                                            {"relu1", "backward_data", "SKIPPED"}}) {
    const auto found = std::find_if(states.begin(), states.end(), [&](const MetricSample& sample) {
      return IsOf(sample, stage, pass, "status", status);
    });
    ASSERT_NE(found, states.end());
    EXPECT_EQ(found->value, 1) << stage << pass;
  }
  const auto flops = Samples(families, "topdnn_stage_flops");
  EXPECT_TRUE(std::none_of(flops.begin(), flops.end(), [](const MetricSample& sample) {
    return IsOf(sample, "conv1", "backward_data", "batch", "8");
  }));
}

TEST_F(OpenMetricsTest, OnlyCeilingsThatHoldHaveAValue) {
  const std::string text = ExportOf("openmetrics", ExportSample());
  const Json families = Families(text);
  const auto fma = Samples(families, "topdnn_ceiling_flops_per_second");
  ASSERT_EQ(fma.size(), 1u);
  EXPECT_EQ(fma[0].labels.at("ceiling"), "fma/avx512/f32/l1");
  EXPECT_EQ(fma[0].labels.at("status"), "DEGRADED");
  EXPECT_EQ(fma[0].value, 400e9);
  EXPECT_EQ(Samples(families, "topdnn_ceiling_latency_seconds").at(0).value, 5e-9);
  EXPECT_THAT(text, Not(HasSubstr("topdnn_ceiling_bytes_per_second")));
}

// A recording may have any words for its subject, and null in its ceilings.
TEST_F(OpenMetricsTest, NoLabelHasANameTwice) {
  Report report = ExportSample();
  for (const char* key : {"data_set", "data-set", "stage", "ceiling"}) {
    report.subject.emplace_back(key, std::string(key) + "!");
  }
  Json machine = report.machine.json();
  machine["ceilings"].push_back(
      {{"name", nullptr}, {"unit", nullptr}, {"value", 1.0}, {"status", "OK"}});
  report.machine = JsonValue(machine);
  const Json families = Families(ExportOf("openmetrics", report));
  const auto seconds = Samples(families, "topdnn_stage_seconds");
  ASSERT_FALSE(seconds.empty());
  EXPECT_EQ(seconds[0].labels.at("data_set"), "data_set!");
  EXPECT_EQ(seconds[0].labels.at("data_set_"), "data-set!");
  EXPECT_EQ(seconds[0].labels.at("stage_"), "stage!");
  EXPECT_EQ(seconds[0].labels.at("stage"), "conv1");
}

TEST_F(OpenMetricsTest, AnEmptyReportIsValid) {
  EXPECT_FALSE(Families(ExportOf("openmetrics", Report{})).empty());
}

}  // namespace
}  // namespace topdnn
