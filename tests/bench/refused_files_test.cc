// Unsuitable files: pipes, links, the input as the output, names with control characters,
// impossible recordings, JSON that is nested too deeply.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/kernel_trials.h"
#include "bench/studies/compare/exact_comparison.h"
#include "bench/studies/cosched/cosched_measure.h"
#include "bench/studies/results/result_file.h"
#include "bench/studies/results/result_store.h"
#include "bench/validation/known_checks.h"
#include "harness/hot/known_form_costs.h"
#include "harness/results/recording.h"
#include "harness/text/nested_json.h"
#include "harness/topdown/event_file.h"
#include "harness/user_cache/remembered_best.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

const std::string kCounts = R"({"events": {"TOPDOWN.SLOTS": 6000}})";

std::size_t LinesOf(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs in a folder with some files and a pipe without reader or writer.
class RefusedFileTest : public testing::Test {
 protected:
  RefusedFileTest() {
    mkfifo((folder_.path() / "pipe").c_str(), 0600);
    folder_.Write("counts.json", kCounts);
  }
  Outcome Run(const std::string& command) const {
    return RunShell("cd " + Quoted(folder_.path().string()) + " && " + BoundedProgram() + " " +
                    command);
  }
  void ExpectRefused(const std::string& command, const std::string& message) const {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << command << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << command;
    EXPECT_EQ(LinesOf(outcome.output), 1u) << outcome.output;
  }
  std::filesystem::path In(const std::string& name) const { return folder_.path() / name; }

  TestFolder folder_;
};

TEST_F(RefusedFileTest, APipeWithoutAPartnerIsRefusedAtOnce) {
  ExpectRefused("topdown --cpu zen4 --events pipe", "named pipe");
  ExpectRefused("topdown --cpu zen4 --events counts.json --json pipe", "without a reader");
  ExpectRefused("profile cnn --counters replay:pipe", "named pipe");
  ExpectRefused("bench --problems pipe", "named pipe");
  ExpectRefused("profile cnn --json pipe", "without a reader");
  ExpectRefused("profile cnn --weights pipe", "pipe");
  ExpectRefused("profile cnn --data pipe", "pipe");
  mkfifo(In("pipe.onnx").c_str(), 0600);
  ExpectRefused("plan pipe.onnx", "named pipe");
  std::filesystem::create_directory(In("data"));
  mkfifo(In("data/data_batch_1.bin").c_str(), 0600);
  ExpectRefused("train cnn --data data", "data_batch_1.bin");
}

TEST_F(RefusedFileTest, AnOpenPipeIsReadAsAFile) {
  for (const std::string command :
       {"cat counts.json | %s topdown --cpu sapphire_rapids --events /dev/stdin --json -",
        "%s topdown --cpu sapphire_rapids --events /dev/fd/3 --json - 3<counts.json"}) {
    std::string whole = command;
    whole.replace(whole.find("%s"), 2, BoundedProgram());
    const Outcome outcome =
        RunShell("cd " + Quoted(folder_.path().string()) + " && " + whole + " 2>log");
    EXPECT_EQ(outcome.exit_status, kExitNothing) << "slots are not enough for a node";
    EXPECT_EQ(nlohmann::json::parse(outcome.output)["cpu"], "sapphire_rapids");
  }
}

TEST_F(RefusedFileTest, TheInputIsNotTheOutput) {
  std::filesystem::create_hard_link(In("counts.json"), In("same.json"));
  ExpectRefused("topdown --cpu zen4 --events counts.json --json counts.json",
                "it is also the input");
  ExpectRefused("topdown --cpu zen4 --events counts.json --json same.json", "it is also the input");
  ExpectRefused("profile cnn --counters replay:counts.json --json ./counts.json",
                "it is also the input");
  folder_.Write("net.onnx", "x");
  folder_.Write("meter.csv", "1000,10\n1001,10\n");
  for (const std::string command :
       {"malleable net.onnx --infer --json net.onnx",
        "malleable net.onnx --infer --steps 3 --json net.onnx", "scale net.onnx --json net.onnx",
        "corun --workload 'infer net.onnx' --json net.onnx",
        "cosched --curves counts.json --json counts.json", "export net.onnx ./net.onnx",
        "quantize net.onnx net.onnx", "step net.onnx --dump net.onnx",
        "train net.onnx --save net.onnx", "efficiency net.onnx --json net.onnx",
        "corun --matrix 'net.onnx infer' --json net.onnx",
        "profile cnn --energy meter.csv --csv meter.csv"}) {
    ExpectRefused(command, "it is also the input");
  }
  EXPECT_EQ(Contents(In("net.onnx")), "x");
  ExpectRefused("profile cnn --json s --csv s", "two outputs");
  ExpectRefused("profile cnn --json s --record ./s", "two outputs");
  EXPECT_EQ(Contents(In("counts.json")), kCounts);
}

TEST_F(RefusedFileTest, ADashIsStandardOutput) {
  const Outcome outcome =
      Run("profile lenet5 --infer --batch 2 --iterations 3 --data synthetic --counters none "
          "--threads 1 --json - 2>table");
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["schema"], 1);
  EXPECT_THAT(Contents(In("table")), HasSubstr("c3 "));
  EXPECT_FALSE(std::filesystem::exists(In("-")));
  ExpectRefused("step cnn --dump -", "name a file");
}

TEST_F(RefusedFileTest, AnArchiveKeepsLinksModesAndReadOnlyFiles) {
  const std::string step = "step lenet5 --batch 2 --threads 1 --data synthetic --dump ";
  folder_.Write("real.npz", "old");
  std::filesystem::permissions(In("real.npz"), std::filesystem::perms(0600));
  std::filesystem::create_symlink("real.npz", In("link.npz"));
  const Outcome outcome = Run(step + "link.npz");
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_TRUE(std::filesystem::is_symlink(In("link.npz")));
  EXPECT_EQ(std::filesystem::status(In("real.npz")).permissions(), std::filesystem::perms(0600));
  EXPECT_NE(Contents(In("real.npz")), "old");
  folder_.Write("kept.npz", "old");
  std::filesystem::permissions(In("kept.npz"), std::filesystem::perms(0444));
  ExpectRefused(step + "kept.npz", "read-only");
  EXPECT_EQ(Contents(In("kept.npz")), "old");
}

TEST_F(RefusedFileTest, NamesCannotControlTheTerminal) {
  ExpectRefused("profile \"$(printf 'a\\033[31m\\nb')\"", "a\\u{1b}[31m\\nb");
  ExpectRefused("profile cnn --json \"$(printf 'no\\nsuch/x\\033')\"", "no\\nsuch/x\\u{1b}");
  ExpectRefused("\"$(printf 'x\\ny')\"", "no command 'x\\ny'");
  ASSERT_EQ(Run("export lenet5 a.onnx").exit_status, kExitGood);
  std::filesystem::rename(In("a.onnx"), In("a\x1b[31m\n.onnx"));
  const Outcome outcome = Run("plan \"$(printf 'a\\033[31m\\n.onnx')\" --batch 2");
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("a\\u{1b}[31m\\n training"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));
}

TEST_F(RefusedFileTest, ImpossibleCountsAreRefused) {
  const std::string path = "counts";
  const std::string command = "topdown --cpu sapphire_rapids --events " + path;
  for (const std::string& counts : std::vector<std::string>{
           "nan,,slots,,,\n", "inf,,slots,1,100.00,,\n", "-1,,slots,1,100.00,,\n",
           "100000000000000000000,,slots,1,100.00,,\n", "12,,slots,1,nan,,\n",
           R"({"events": {"TOPDOWN.SLOTS": 1e300}})", R"({"events": {"TOPDOWN.SLOTS": 1e999}})",
           R"({"counter-value" : "nan", "event" : "slots"})",
           R"({"counter-value" : "1e30", "event" : "slots"})",
           std::string("12,,slots,1,100.00,,\0\n", 22)}) {
    folder_.Write(path, counts);
    ExpectRefused(command, path);
  }
  folder_.Write(path, "12,,slots,1,100.00,,\n");
  EXPECT_EQ(Run(command).exit_status, kExitNothing) << "slots are not enough for a node";
}

// Recordings with impossible values.
TEST_F(RefusedFileTest, AnImpossibleRecordingIsInvalidOrRefused) {
  const std::string workload = "profile lenet5 --infer --batch 2 --data synthetic --threads 1 ";
  ASSERT_EQ(Run(workload + "--iterations 3 --counters none --record r.json").exit_status,
            kExitGood);
  const nlohmann::ordered_json good = nlohmann::ordered_json::parse(Contents(In("r.json")));
  const auto replay = [&](const nlohmann::ordered_json& recording, const std::string& more) {
    folder_.Write("absurd.json", recording.dump());
    return Run(workload + more + " --counters replay:absurd.json");
  };
  for (const double seconds : {0.0, 1e308}) {
    nlohmann::ordered_json absurd = good;
    for (auto& region : absurd["in_network"]["regions"]) {
      for (auto& time : region["seconds"]) time = seconds;
    }
    const Outcome outcome = replay(absurd, "--series --roofline --context-gap");
    // (no run takes longer than 1e9 s)
    const bool refused = seconds > 1e9;
    EXPECT_EQ(outcome.exit_status, refused ? kExitUsage : kExitWrong) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(refused ? "is not between 0 and" : "INVALID"));
    EXPECT_THAT(outcome.output, Not(testing::ContainsRegex("[^a-z](inf|nan)[^a-z]")));
  }
  ASSERT_FALSE(good.at("machine").at("ceilings").empty());
  for (const double value : {0.0, 1e308}) {
    nlohmann::ordered_json absurd = good;
    for (auto& ceiling : absurd["machine"]["ceilings"]) ceiling["value"] = value;
    const Outcome outcome = replay(absurd, "--series --roofline --context-gap --json report.json");
    ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("c3 "));
    EXPECT_THAT(outcome.output, Not(testing::ContainsRegex("[^a-z](inf|nan)[^a-z]"))) << value;
    const auto report = nlohmann::ordered_json::parse(Contents(In("report.json")));
    for (const auto& ceiling : report.at("machine").at("ceilings")) {
      EXPECT_EQ(ceiling.at("status"), "INVALID") << ceiling;
    }
    ASSERT_FALSE(report.at("stages").empty());
    for (const auto& stage : report.at("stages")) {
      EXPECT_TRUE(stage.at("peak_fraction").is_null()) << stage.at("name");
    }
  }
  for (const auto& threads : {nlohmann::ordered_json(2147483647), nlohmann::ordered_json(0)}) {
    nlohmann::ordered_json absurd = good;
    absurd["subject"]["threads"] = threads;
    folder_.Write("absurd.json", absurd.dump());
    ExpectRefused("profile lenet5 --infer --batch 2 --counters replay:absurd.json",
                  "must be 1 to 4096");
  }
}

// JSON of a hundred thousand brackets overflowed the stack of every reader that copied, compared or
// wrote its values.
const std::string kDeep = std::string(100'000, '[') + std::string(100'000, ']');

TEST(NestedJsonTest, CountsBracketsOutsideOfStrings) {
  const std::string open(200, '[');
  EXPECT_FALSE(NestedTooDeeply(open));
  EXPECT_TRUE(NestedTooDeeply(open + "{"));
  EXPECT_TRUE(NestedTooDeeply(open + R"("a\\"{)"));
  EXPECT_FALSE(NestedTooDeeply(open + R"("a\"{")"));
  EXPECT_FALSE(NestedTooDeeply(open + "][]["));
  EXPECT_EQ(ParseForeignJson<nlohmann::json>(R"({"a": [1]})"), nlohmann::json({{"a", {1}}}));
  EXPECT_TRUE(ParseForeignJson<nlohmann::json>(kDeep).is_discarded());
}

TEST(NestedJsonTest, ResultsAreRefused) {
  const TestFolder folder;
  const std::string result =
      folder.Write("result.json", R"({"schema":1,"stages":[],"step":)" + kDeep + "}");
  EXPECT_THROW(ReadResult(result), UsageError);
  EXPECT_THROW(CompareExact(ReadBaseline(result), ReadBaseline(result)), UsageError);
  EXPECT_THROW(ReadSpeedModel(folder.Write("speeds", R"({"curves":)" + kDeep + "}")), UsageError);
  folder.Write("topdnn-store.json", R"({"topdnn_store":)" + kDeep + "}");
  EXPECT_THROW(ResultStore::Open(folder.path()), UsageError);
  EXPECT_THROW(ParseRecording(R"({"topdnn_recording":1,"machine":)" + kDeep + "}", "r"),
               InputError);
  EXPECT_THROW(ParseRecordedCounts(R"({"counter-value":)" + kDeep + "}", "c"), InputError);
}

TEST(NestedJsonTest, CachesAreReplaced) {
  const TestFolder folder;
  const CacheFolder cache(folder.path());
  const std::string machines = R"({"schema":1,"machines":{"m":)" + kDeep + "}}";
  folder.Write(kBestFile, machines);
  EXPECT_EQ(UpdateRememberedBest(cache, "machine", {{"rate", 1, 0.1}}), "");
  EXPECT_TRUE(ReadRememberedBest(cache, "machine").contains("rate"));
  folder.Write(kTrialsFile, machines);
  KernelTrials(cache, "m");
  folder.Write(kChecksFile, R"([{"key":)" + kDeep + "}]");
  WriteKnownChecks(cache, "key", {{.name = "stage"}});
  EXPECT_TRUE(ReadKnownChecks(cache, "key"));
  folder.Write(kFormCostsFile, R"({"schema":1,"cpus":{"c":)" + kDeep + "}}");
  EXPECT_EQ(StoreFormCosts(cache, {}, {}), "");
}

}  // namespace
}  // namespace topdnn
