// profile --record and --counters replay:FILE: the same report from a recording, without measuring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// The written JSON without the command line.
nlohmann::json WithoutCommand(nlohmann::json json) {
  json.erase("command");
  return json;
}

// On a busy machine the first line of a measurement says so; a replay measures nothing.
std::string WithoutBusyLine(const std::string& output) {
  if (!output.starts_with("topdnn: the machine is busy")) return output;
  return output.substr(output.find('\n') + 1);
}

TEST(RecordTest, AReplayGivesTheSameTable) {
  const TestFolder folder;
  const std::string recording = folder.path() / "r.json";
  const std::string first = folder.path() / "first.json";
  const std::string second = folder.path() / "second.json";
  std::vector<std::string> arguments = {"profile",   "cnn",          "--train", "--batch",
                                        "2",         "--threads",    "1",       "--data",
                                        "synthetic", "--iterations", "3"};
  auto record = arguments;
  // (a recording has no experiments)
  record.insert(record.end(),
                {"--no-experiments", "--record", recording, "--json", first, "--series"});
  const Outcome measured = RunProgram(record);
  ASSERT_EQ(measured.exit_status, kExitGood) << measured.output;
  auto replay = arguments;
  replay.insert(replay.end(), {"--counters", "replay:" + recording, "--json", second, "--series"});
  const Outcome replayed = RunProgram(replay);
  ASSERT_EQ(replayed.exit_status, kExitGood) << replayed.output;
  EXPECT_EQ(WithoutBusyLine(measured.output), replayed.output);
  EXPECT_EQ(nlohmann::json::diff(WithoutCommand(ReadJson(first)), WithoutCommand(ReadJson(second))),
            nlohmann::json::array());
  const nlohmann::json seconds = ReadJson(second)["stages"][0]["seconds"];
  EXPECT_EQ(seconds["samples"].size(), seconds["n"]);
  EXPECT_EQ(seconds["n"].get<int>() + seconds["left_out"].get<int>(), 3);
  const nlohmann::json evolution = ReadJson(second)["evolution"];
  EXPECT_EQ(evolution["stages"].size(), ReadJson(second)["stages"].size() + 1);
  EXPECT_EQ(evolution["stages"][0]["seconds"].size(), 3u);
  EXPECT_THAT(measured.output, HasSubstr("warm-up  forward"));
  EXPECT_THAT(measured.output, HasSubstr("steady   backward"));
  EXPECT_FALSE(ReadJson(second)["stages"][0]["events"].empty());
  // The recorded cache sizes, not this machine's, decide which bytes leave the caches.
  for (const bool fits : {true, false}) {
    nlohmann::json edited = ReadJson(recording);
    for (auto& cache : edited["machine"]["caches"]) cache["size"] = fits ? 1LL << 40 : 1;
    std::ofstream(folder.path() / "edited.json") << edited;
    replay = arguments;
    replay.insert(replay.end(), {"--counters", "replay:" + (folder.path() / "edited.json").string(),
                                 "--json", second});
    const Outcome other = RunProgram(replay);
    ASSERT_EQ(other.exit_status, kExitGood) << other.output;
    EXPECT_EQ(ReadJson(second)["stages"][0]["roofline"]["dram_applies"], !fits);
  }
  // A replay has the note on denormals of its recording, which must be a text.
  nlohmann::json edited = ReadJson(recording);
  edited["subject"]["denormal_note"] = "denormals: many\n";
  folder.Write("edited.json", edited.dump());
  EXPECT_THAT(RunProgram(replay).output, HasSubstr("\ndenormals: many"));
  edited["subject"]["denormal_note"] = 3;
  folder.Write("edited.json", edited.dump());
  EXPECT_THAT(RunProgram(replay).output, HasSubstr("denormal_note: not a text"));
  // Another batch or the stages of another backend are refused in one line.
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{"--batch", "4"}, {"--backend", "reference"}, {"--infer"}}) {
    std::vector<std::string> wrong = {"profile",   "cnn", "--batch",    "2",
                                      "--threads", "1",   "--counters", "replay:" + recording};
    if (other[0] == "--batch") wrong.erase(wrong.begin() + 2, wrong.begin() + 4);
    wrong.insert(wrong.end(), other.begin(), other.end());
    const Outcome outcome = RunProgram(wrong);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("its recording"));
  }
}

// The FLOPs of a replay are those of what was recorded, not of the network's usual images.
TEST(RecordTest, AReplayHasTheSizeAndTheClassesOfItsRecording) {
  const TestFolder folder;
  const std::string profile = "cd " + Quoted(folder.path().string()) + " && " + BoundedProgram() +
                              " profile cnn --infer --batch 1 --backend reference ";
  const Outcome measured =
      RunShell(profile +
               "--threads 1 --size 48 --classes 7 --data synthetic --iterations 1 "
               "--no-isolated --no-experiments --record r.json --json first.json");
  ASSERT_EQ(measured.exit_status, kExitGood) << measured.output;
  const std::string replay = profile + "--no-isolated --counters replay:r.json ";
  const Outcome replayed = RunShell(replay + "--json second.json");
  ASSERT_EQ(replayed.exit_status, kExitGood) << replayed.output;
  const nlohmann::json first = ReadJson(folder.path() / "first.json");
  const nlohmann::json second = ReadJson(folder.path() / "second.json");
  EXPECT_EQ(second["stages"][0]["flops"], first["stages"][0]["flops"]);
  EXPECT_EQ(second["size"], 48);
  const Outcome other = RunShell(replay + "--size 32");
  EXPECT_EQ(other.exit_status, kExitUsage) << other.output;
  EXPECT_THAT(other.output, HasSubstr("recorded with size 48, not 32"));
}

TEST(RecordTest, AReplayUsesTheVariantsThatAutoChose) {
  const TestFolder folder;
  const std::string recording = folder.path() / "r.json";
  // (without --explain, notes on an unsteady run may replace the one on the choice)
  const std::vector<std::string> arguments = {"profile", "cnn",       "--infer", "--batch",
                                              "2",       "--threads", "1",       "--backend",
                                              "auto",    "--explain"};
  auto record = arguments;
  record.insert(record.end(), {"--data", "synthetic", "--iterations", "2", "--no-experiments",
                               "--record", recording});
  const Outcome measured = RunProgram(record);
  ASSERT_EQ(measured.exit_status, kExitGood) << measured.output;
  EXPECT_THAT(measured.output, HasSubstr("auto: "));
  auto replay = arguments;
  replay.insert(replay.end(), {"--counters", "replay:" + recording});
  EXPECT_EQ(RunProgram(replay).output, WithoutBusyLine(measured.output));
  // Other variants give another plan. At least one of the two kinds is not the choice of auto. A
  // plan whose stages the recording lacks is refused, which is another output, too.
  nlohmann::json edited = ReadJson(recording);
  nlohmann::json& ways = edited["subject"]["choice"]["variants"];
  ASSERT_TRUE(ways.is_object());
  const std::string other = folder.path() / "edited.json";
  replay.back() = "replay:" + other;
  std::set<std::string> outputs = {WithoutBusyLine(measured.output)};
  for (const char* way : {"eigen", "onednn-blocked"}) {
    for (const char* layer : {"conv1", "conv2", "conv3"}) ways[layer] = {{"forward", {way}}};
    folder.Write("edited.json", edited.dump());
    outputs.insert(RunProgram(replay).output);
  }
  EXPECT_GE(outputs.size(), 2u);
  // An invalid choice, and a recording of another backend, are refused in one line.
  ways["conv1"] = {{"sideways", {"onednn-nhwc"}}};
  folder.Write("edited.json", edited.dump());
  EXPECT_EQ(RunProgram(replay).output,
            "topdnn: " + other + ": conv1: no pass 'sideways': record it again\n");
  edited["subject"].erase("choice");
  folder.Write("edited.json", edited.dump());
  const Outcome refused = RunProgram(replay);
  EXPECT_EQ(refused.exit_status, kExitUsage) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("recorded without --backend auto"));
}

// A recording written by hand. Every stage has the same fractions of its slots. The second pass has
// twice as many slots as the first, so its events count half.
TEST(RecordTest, RecordedCountsGiveEachStagesTopdown) {
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  const Outcome outcome = RunProgram(
      {"profile", "cnn", "--infer", "--backend", "reference", "--batch", "1", "--counters",
       "replay:" TOPDNN_SOURCE_DIR "/tests/bench/recordings/cnn_reference_sapphire_rapids.json",
       "--explain", "--json", path});
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Top-Down of sapphire_rapids by PERF_METRICS"));
  EXPECT_THAT(outcome.output, HasSubstr("data arrive late"));  // the advice on Memory_Bound
  const nlohmann::json json = ReadJson(path);
  ASSERT_EQ(json["stages"].size(), 7u);
  const std::map<std::string, double> expected = {
      {"Frontend_Bound", .15}, {"Bad_Speculation", .15},    {"Backend_Bound", .3},
      {"Retiring", .4},        {"Fetch_Latency", .05},      {"Fetch_Bandwidth", .1},
      {"Memory_Bound", .25},   {"Branch_Mispredicts", .05}, {"Heavy_Operations", .1}};
  auto records = json["stages"];
  records.push_back(json["step"]);
  for (const auto& record : records) {
    for (const auto& [node, value] : expected) {
      EXPECT_NEAR(record["topdown"][node].get<double>(), value, 1e-6) << node;
    }
    EXPECT_EQ(record["running_fraction"], 1);
    EXPECT_EQ(record["events"]["instructions"].get<double>(),
              2 * record["events"]["cycles"].get<double>());
  }
}

TEST(RecordTest, MultiplexedCountsAreScaledOnlyOnRequest) {
  const TestFolder folder;
  nlohmann::json recording =
      ReadJson(TOPDNN_SOURCE_DIR "/tests/bench/recordings/cnn_reference_sapphire_rapids.json");
  constexpr std::size_t kInstructions = 10;  // index among the recording's events
  for (auto& region : recording["in_network"]["regions"])
    region["running"][kInstructions] = {0.5, 0.5};
  const std::string half = folder.path() / "half.json";
  const std::string path = folder.path() / "out.json";
  std::ofstream(half) << recording;
  for (const bool scaled : {false, true}) {
    std::vector<std::string> arguments = {"profile",        "cnn",     "--infer", "--backend",
                                          "reference",      "--batch", "1",       "--counters",
                                          "replay:" + half, "--json",  path};
    if (scaled) arguments.emplace_back("--scale-counts");
    const Outcome outcome = RunProgram(arguments);
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    const nlohmann::json stage = ReadJson(path)["stages"][0];
    EXPECT_EQ(stage["events"]["instructions"].get<double>(),
              (scaled ? 4 : 2) * stage["events"]["cycles"].get<double>());
    EXPECT_EQ(stage["status"], "DEGRADED");
    EXPECT_THAT(stage["reason"].get<std::string>(),
                HasSubstr(scaled ? "and is scaled" : "and is not scaled"));
  }
}

}  // namespace
}  // namespace topdnn
