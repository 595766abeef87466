// `profile --timeline`: checked against "Trace Event Format" (Google, 2016): the members that each
// phase of an event requires, and complete events that do not overlap on a track.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness/export_sample.h"

namespace topdnn {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json Trace(const Report& report) { return Json::parse(ExportOf("timeline", report)); }

std::vector<Json> Events(const Json& trace, const std::string& phase, int process = 1) {
  std::vector<Json> events;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase && event.at("pid") == process) events.push_back(event);
  }
  return events;
}

std::map<int, std::string> TrackNames(const Json& trace, int process = 1) {
  std::map<int, std::string> names;
  for (const Json& event : Events(trace, "M", process)) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  return names;
}

// The complete events of a track as "NAME START+DURATION".
std::vector<std::string> OnTrack(const Json& trace, const std::string& track, int process = 1) {
  const auto names = TrackNames(trace, process);
  std::vector<std::string> texts;
  for (const Json& event : Events(trace, "X", process)) {
    if (names.at(event.at("tid")) != track) continue;
    texts.push_back(event.at("name").get<std::string>() + " " + event.at("ts").dump() + "+" +
                    event.at("dur").dump());
  }
  return texts;
}

std::vector<std::pair<double, double>> CounterOf(const Json& trace, const std::string& name) {
  std::vector<std::pair<double, double>> points;
  for (const Json& event : Events(trace, "C")) {
    if (event.at("name") == name) points.emplace_back(event.at("ts"), event.at("args").at("value"));
  }
  return points;
}

TEST(TraceTest, HasTheMembersOfTheFormatAndNoOverlap) {
  Report report = ExportSample();
  AddIterations(report);
  for (auto& stage : report.evolution.json().at("stages")) {
    // Fractions of a microsecond that are not exact in binary. A step is as long as its 8 stages.
    const double scale = stage.at("name") == "step" ? 8e-6 : 1e-6;
    stage["seconds"] = Json::array();
    for (int i = 0; i < 200; ++i) stage["seconds"].push_back(scale * (37 * i % 101 + 1) / 7);
  }
  const std::string text = ExportOf("timeline", report);
  ExpectOnlyValidFigures(text);
  const Json trace = Json::parse(text);
  std::map<std::pair<int, int>, double> ends;
  for (const Json& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.at("name").is_string());
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_TRUE(event.at("args").is_object());
    const std::string phase = event.at("ph");
    ASSERT_THAT((std::vector<std::string>{"X", "C", "M"}), Contains(phase));
    if (phase == "M") continue;
    EXPECT_GE(event.at("ts").get<double>(), 0);
    if (phase == "C") {
      EXPECT_TRUE(event.at("args").at("value").is_number()) << event;
      continue;
    }
    EXPECT_GT(event.at("dur").get<double>(), 0);
    double& end = ends[{event.at("pid"), event.at("tid")}];
    EXPECT_GE(event.at("ts").get<double>(), end) << event;  // exactly: see trace.cc
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
}

TEST(TraceTest, LaysTheMediansOutInTheOrderOfTheStages) {
  const Json trace = Trace(ExportSample());
  EXPECT_THAT(OnTrack(trace, "step"), ElementsAre("step 0.0+10000.0"));
  const auto forward = OnTrack(trace, "forward");
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_EQ(forward[0], "conv1 forward 0.0+2000.0");
  EXPECT_THAT(forward[1], HasSubstr("</script>"));
  EXPECT_THAT(forward[1], HasSubstr(" forward 2000.0+3000.0"));
  EXPECT_THAT(forward[2], HasSubstr(" forward 5000.0+1000.0"));
  EXPECT_THAT(OnTrack(trace, "reorder"), ElementsAre("w reorder 6000.0+500.0"));
  EXPECT_THAT(OnTrack(trace, "backward"), ElementsAre());  // FAILED, INVALID and SKIPPED
  EXPECT_THAT(OnTrack(trace, "update"), ElementsAre("conv1 update 6500.0+250.0"));
  EXPECT_THAT(trace.at("otherData").at("layout").get<std::string>(), HasSubstr("not a recording"));
  const Json& left_out = trace.at("otherData").at("left_out");
  ASSERT_EQ(left_out.size(), 3u);
  EXPECT_THAT(left_out[0].get<std::string>(), HasSubstr("conv1 backward data: FAILED: reason"));
  EXPECT_THAT(left_out[2].get<std::string>(), HasSubstr("relu1 backward data: SKIPPED"));
}

TEST(TraceTest, ArgumentsHaveTheRecordWithoutAbsentValues) {
  const auto events = Events(Trace(ExportSample()), "X");
  const Json& conv = events.at(1).at("args");
  EXPECT_EQ(conv.at("op"), "conv");
  EXPECT_EQ(conv.at("pass"), "forward");
  EXPECT_EQ(conv.at("implementation"), "jit:avx512");
  EXPECT_EQ(conv.at("status"), "OK");
  EXPECT_EQ(conv.at("flops"), 400000000);
  EXPECT_EQ(conv.at("bytes"), 4000000);
  EXPECT_DOUBLE_EQ(conv.at("gflops"), 200);
  EXPECT_DOUBLE_EQ(conv.at("peak_fraction"), 0.5);
  EXPECT_DOUBLE_EQ(conv.at("seconds").at("p90"), 4e-3);
  EXPECT_EQ(conv.at("events"), (Json{{"cycles", 6000000}}));
  EXPECT_FALSE(conv.at("topdown").contains("Core_Bound"));
  EXPECT_FALSE(conv.contains("reason"));
  EXPECT_FALSE(conv.contains("topdown_bounds"));
  EXPECT_FALSE(events.at(0).at("args").contains("pass"));  // the step's pass is an empty text
  const Json& hostile = events.at(2).at("args");
  EXPECT_EQ(hostile.at("status"), "DEGRADED");
  EXPECT_THAT(hostile.at("reason").get<std::string>(), HasSubstr("<b></script>"));
  EXPECT_FALSE(hostile.contains("bytes"));
  EXPECT_FALSE(hostile.contains("events"));
}

TEST(TraceTest, ACounterEndsWithItsStage) {
  const Json trace = Trace(ExportSample());
  using Points = std::vector<std::pair<double, double>>;
  // 0.4 GFLOP in 2, 3, 1 and 0.25 ms; the reorder from 6 to 6.5 ms has none.
  const Points gflops = CounterOf(trace, "GFLOP/s");
  ASSERT_EQ(gflops.size(), 6u);
  EXPECT_NEAR(gflops[0].second, 200, 1e-9);
  EXPECT_NEAR(gflops[1].second, 133.333333, 1e-6);
  EXPECT_NEAR(gflops[2].second, 400, 1e-9);
  EXPECT_EQ(gflops[3], (std::pair<double, double>(6000, 0)));
  EXPECT_NEAR(gflops[4].second, 1600, 1e-9);
  EXPECT_EQ(gflops[5], (std::pair<double, double>(6750, 0)));
  EXPECT_EQ(CounterOf(trace, "GB/s"), (Points{{0, 2}, {2000, 0}}));
  EXPECT_EQ(CounterOf(trace, "event cycles"), (Points{{0, 6e6}, {2000, 0}}));
  EXPECT_EQ(CounterOf(trace, "Top-Down Retiring"), (Points{{0, 0.5}, {2000, 0}}));
  EXPECT_TRUE(CounterOf(trace, "event absent").empty());
  EXPECT_TRUE(CounterOf(trace, "event odd").empty());
}

TEST(TraceTest, ACounterThatIsAlwaysZeroIsLeftOut) {
  Report report = ExportSample();
  report.stages[0].events = {{"page-faults", 0.0}};
  EXPECT_TRUE(CounterOf(Trace(report), "event page-faults").empty());
}

TEST(TraceTest, SeriesAddEveryIteration) {
  Report report = ExportSample();
  AddIterations(report);
  const Json trace = Trace(report);
  // The step is 36 ms, 72 ms in the first iteration; its three forward stages are 6 ms.
  EXPECT_THAT(OnTrack(trace, "step", 2),
              ElementsAre("step 1 0.0+72000.0", "step 2 72000.0+36000.0", "step 3 108000.0+36000.0",
                          "step 1 144000.0+36000.0", "step 2 180000.0+36000.0"));
  EXPECT_THAT(
      OnTrack(trace, "forward", 2),
      ElementsAre("forward 1 0.0+12000.0", "forward 2 72000.0+6000.0", "forward 3 108000.0+6000.0",
                  "forward 1 144000.0+6000.0", "forward 2 180000.0+6000.0"));
  // The backward group has a stage that FAILED, so it has no time. The reorder is before it, the
  // update after it.
  EXPECT_THAT(OnTrack(trace, "backward", 2), ElementsAre());
  EXPECT_EQ(OnTrack(trace, "reorder", 2).at(1), "reorder 2 78000.0+4000.0");
  EXPECT_EQ(OnTrack(trace, "update", 2).at(1), "update 2 100000.0+8000.0");
  EXPECT_EQ(Events(trace, "X", 2).at(0).at("cat"), "warm-up");
  EXPECT_TRUE(trace.at("otherData").contains("iterations"));
  EXPECT_FALSE(Trace(ExportSample()).at("otherData").contains("iterations"));
}

// A long series is merged: each point is the mean of several iterations, and has their time.
TEST(TraceTest, MergedIterationsHaveTheTimeOfAllOfThem) {
  Report report = ExportSample();
  AddIterations(report);
  for (auto& stage : report.evolution.json().at("stages")) stage["values_per_point"] = 4;
  for (auto& phase : report.evolution.json().at("phases")) {
    if (phase.at("phase") == "steady") phase["iterations"] = 6;  // 4, and the rest of 2
  }
  EXPECT_THAT(OnTrack(Trace(report), "step", 2),
              ElementsAre("step 1 0.0+72000.0", "step 2 72000.0+36000.0", "step 3 108000.0+36000.0",
                          "step 1 to 4 144000.0+144000.0", "step 5 to 6 288000.0+72000.0"));
}

TEST(TraceTest, AStepThatDoesNotHoldHasNoEvent) {
  Report report = ExportSample();
  AddIterations(report);
  report.step.status = Status::kInvalid;
  EXPECT_TRUE(OnTrack(Trace(report), "step").empty());
  EXPECT_TRUE(OnTrack(Trace(report), "step", 2).empty());
  EXPECT_EQ(Json::parse(ExportOf("timeline", Report{})).at("traceEvents").at(0).at("ph"), "M");
}

}  // namespace
}  // namespace topdnn
