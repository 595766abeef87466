// `profile` writes the files for other tools in one run, and they agree with its JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The complete events of a process of a trace whose name begins with this text.
std::vector<Json> EventsOf(const Json& trace, int process, const std::string& prefix) {
  std::vector<Json> events;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("pid") == process &&
        event.at("name").get<std::string>().starts_with(prefix)) {
      events.push_back(event);
    }
  }
  return events;
}

TEST(ExportsTest, OneRunWritesAllOfThem) {
  const TestFolder folder;
  const auto in = [&folder](const char* name) { return (folder.path() / name).string(); };
  const auto to = [&in](const std::string& format, const char* name) {
    return "--export=" + format + "=" + in(name);
  };
  const Outcome outcome = RunProgram({"profile",
                                      "lenet5",
                                      "--infer",
                                      "--batch",
                                      "1",
                                      "--iterations",
                                      "2",
                                      "--data",
                                      "synthetic",
                                      "--threads",
                                      "1",
                                      "--counters",
                                      "none",
                                      "--json",
                                      in("json"),
                                      "--timeline",
                                      in("timeline"),
                                      to("toplev-csv", "csv"),
                                      to("openmetrics", "prom"),
                                      to("benchmark-action", "action"),
                                      to("bencher", "bencher"),
                                      to("markdown", "md")});
  ASSERT_TRUE(outcome.exit_status == kExitGood || outcome.exit_status == kExitWrong)
      << outcome.output;
  const Json json = ReadJson(in("json"));
  // A disturbed machine can make a stage INVALID, which is in none of the files.
  std::size_t timed = 0;
  for (const Json& stage : json.at("stages")) {
    timed += stage.at("status") == "OK" || stage.at("status") == "DEGRADED" ? 1 : 0;
  }
  ASSERT_GT(timed, 0u) << json.dump(1);
  const bool step = json.at("step").at("status") != "INVALID";
  const Json timeline = ReadJson(in("timeline"));
  EXPECT_EQ(EventsOf(timeline, 1, "").size(), timed + (step ? 1 : 0));
  const std::string run = "lenet5/inference/batch 1/f32/onednn/threads 1/";
  const Json bencher = ReadJson(in("bencher"));
  EXPECT_EQ(bencher.size(), timed + (step ? 1 : 0));
  const Json action = ReadJson(in("action"));
  ASSERT_EQ(action.size(), bencher.size());
  if (step) {
    const double seconds = json.at("step").at("seconds").at("median");
    const double dur = EventsOf(timeline, 1, "step").at(0).at("dur");
    EXPECT_NEAR(dur, seconds * 1e6, 0.001);
    EXPECT_NEAR(bencher.at(run + "step").at("latency").at("value").get<double>(), seconds * 1e9, 1);
    EXPECT_EQ(action.at(0).at("name"), run + "step");
    EXPECT_THAT(Contents(in("prom")),
                HasSubstr("topdnn_step_images_per_second{network=\"lenet5\""));
  }
  EXPECT_THAT(Contents(in("prom")), HasSubstr("\n# EOF\n"));
  EXPECT_THAT(Contents(in("csv")), StartsWith("\"# topdnn: Top-Down"));
  EXPECT_THAT(Contents(in("csv")), HasSubstr("Top-Down was not measured"));
  EXPECT_THAT(Contents(in("md")), StartsWith("### topdnn profile\n"));
  EXPECT_THAT(Contents(in("md")), HasSubstr("| c1 | forward |"));
}

TEST(ExportsTest, TheTimelineOfASeriesHasEveryIteration) {
  const TestFolder folder;
  const std::string file = folder.path() / "timeline.json";
  const std::string whole = folder.path() / "whole.json";
  const Outcome outcome = RunProgram({"profile", "cnn", "--train", "--batch", "2", "--iterations",
                                      "7", "--data", "synthetic", "--threads", "1", "--counters",
                                      "none", "--series", "--timeline", file, "--json", whole});
  ASSERT_TRUE(outcome.exit_status == kExitGood || outcome.exit_status == kExitWrong)
      << outcome.output;
  const Json trace = ReadJson(file);
  std::int64_t steady = 0;
  std::int64_t warmup = 0;
  for (const Json& event : EventsOf(trace, 2, "forward ")) {
    const std::int64_t iterations = event.at("args").at("iterations");
    (event.at("cat") == "steady" ? steady : warmup) += iterations;
  }
  EXPECT_EQ(steady, 7);
  const Json phases = ReadJson(whole).at("evolution").at("phases");
  for (const Json& phase : phases) {
    if (phase.at("phase") == "warm-up") {
      EXPECT_EQ(phase.at("iterations"), warmup);
    }
  }
  EXPECT_GT(warmup, 0);
  EXPECT_EQ(EventsOf(trace, 2, "backward ").size(), EventsOf(trace, 2, "forward ").size());
  EXPECT_EQ(EventsOf(trace, 2, "update ").size(), EventsOf(trace, 2, "forward ").size());
}

TEST(ExportsTest, ADashIsStandardOutput) {
  const Outcome outcome =
      RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") +
               " profile lenet5 --infer --batch 1 --iterations 2 --data synthetic --threads 1 "
               "--counters none --export markdown=- 2>/dev/null");
  EXPECT_THAT(outcome.output, StartsWith("### topdnn profile\n"));
  const Outcome two = RunProgram({"profile", "lenet5", "--timeline", "-", "--export", "bencher=-"});
  EXPECT_EQ(two.exit_status, kExitUsage) << two.output;
}

TEST(ExportsTest, AWrongFormatIsRefused) {
  const auto refusal = [](const std::string& word) {
    const Outcome outcome = RunProgram({"profile", "lenet5", "--export", word});
    EXPECT_EQ(outcome.exit_status, kExitUsage) << word;
    return outcome.output;
  };
  EXPECT_THAT(refusal("benchr=a.json"), HasSubstr("did you mean bencher?"));
  EXPECT_THAT(refusal("bencher"), HasSubstr("write FORMAT=FILE"));
  EXPECT_THAT(refusal("bencher="), HasSubstr("write FORMAT=FILE"));
  const Outcome twice =
      RunProgram({"profile", "lenet5", "--export", "markdown=a", "--export", "markdown=b"});
  EXPECT_EQ(twice.exit_status, kExitUsage);
  EXPECT_THAT(twice.output, HasSubstr("is written to a already"));
}

// Scripts of an earlier version learn the new spelling.
TEST(ExportsTest, AnOldOptionNamesTheNewOne) {
  const Outcome outcome = RunProgram({"profile", "lenet5", "--markdown", "a.md"});
  EXPECT_EQ(outcome.exit_status, kExitUsage);
  EXPECT_THAT(outcome.output, HasSubstr("it is --export markdown=FILE now"));
}

}  // namespace
}  // namespace topdnn
