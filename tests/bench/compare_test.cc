// `topdnn compare` on results with known times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/compare/compared_results.h"
#include "bench/studies/compare/rerun.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class CompareTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const nlohmann::json& content) {
    return folder_.Write(name, content.dump()).string();
  }
  // The JSON of the comparison; `outcome_` has the text.
  nlohmann::json Compare(const nlohmann::json& a, const nlohmann::json& b,
                         const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"compare", Write("a.json", a), Write("b.json", b),
                                          "--json", Path("c.json")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    outcome_ = RunProgram(arguments);
    return ReadJson(Path("c.json"));
  }
  std::string Path(const std::string& name) const { return folder_.path() / name; }
  std::string FirstLine() const { return outcome_.output.substr(0, outcome_.output.find('\n')); }

  TestFolder folder_;
  Outcome outcome_;
};

TEST_F(CompareTest, TwoRunsOfOneProgramAreTheSame) {
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), ProfileJson({.seed = 2}));
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  EXPECT_THAT(FirstLine(), testing::StartsWith("same: the step takes "));
  EXPECT_THAT(FirstLine(), HasSubstr("no stage of 16 differs (Holm, 5 %)"));
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["verdict"], "same");
  EXPECT_EQ(result["differences"], nlohmann::json::array());
  ASSERT_EQ(result["rows"].size(), 16u);
  std::vector<nlohmann::json> rows = result["rows"];
  rows.push_back(result["step"]);
  for (const nlohmann::json& row : rows) {
    for (const char* key : {"name", "pass", "a", "b", "ratio", "ci95", "p", "effect"}) {
      EXPECT_TRUE(row.contains(key) && !row[key].is_null()) << key;
    }
    EXPECT_EQ(row["significant"], false);
    EXPECT_LE(row["ci95"][0], row["ratio"]);
    EXPECT_GE(row["ci95"][1], row["ratio"]);
    EXPECT_LE(row["ci95"][0], 1);
    EXPECT_GE(row["ci95"][1], 1);
  }
}

TEST_F(CompareTest, AStageSlowedByFivePercentIsNamed) {
  const nlohmann::json slow = ProfileJson({.seed = 2, .slow_stage = "conv14", .slowdown = 1.05});
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), slow, {"--fail-above", "2%"});
  EXPECT_EQ(outcome_.exit_status, kExitWrong) << outcome_.output;
  EXPECT_EQ(result["verdict"], "slower");
  EXPECT_THAT(FirstLine(), testing::StartsWith("slower: the step takes "));
  EXPECT_THAT(FirstLine(), HasSubstr("1 stage of 16 differs (Holm, 5 %): conv14 forward 1.0"));
  for (const nlohmann::json& row : result["rows"]) {
    EXPECT_EQ(row["significant"], row["name"] == "conv14") << row;
  }
  Compare(ProfileJson({.seed = 1}), slow, {"--fail-above", "8"});
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  const nlohmann::json faster = Compare(slow, ProfileJson({.seed = 1}), {"--fail-above", "0"});
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  EXPECT_EQ(faster["verdict"], "faster");
}

// The stage is 1.7 % of the step.
TEST_F(CompareTest, AShortStageIsNotAVerdictOnTheStep) {
  const nlohmann::json slow = ProfileJson({.seed = 2, .slow_stage = "conv1", .slowdown = 1.05});
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), slow);
  EXPECT_EQ(result["verdict"], "slower");
  EXPECT_EQ(result["step"]["significant"], false);
  EXPECT_THAT(FirstLine(),
              testing::StartsWith("the stages that differ are slower in all: the step takes "));
}

// The ceilings did not change, so the program did.
TEST_F(CompareTest, AStepThatIsTwiceAsSlowIsSlower) {
  const nlohmann::json slow = ProfileJson({.seed = 2, .all = 2});
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), slow, {"--fail-above", "50%"});
  EXPECT_EQ(outcome_.exit_status, kExitWrong) << outcome_.output;
  EXPECT_EQ(result["verdict"], "slower");
  EXPECT_EQ(result["step"]["significant"], true);
  EXPECT_NEAR(result["step"]["ratio"], 2, 0.02);
  EXPECT_THAT(FirstLine(), testing::StartsWith("slower: the step takes "));
  // A machine that became half as fast explains it.
  nlohmann::json machine = slow;
  machine["machine"]["ceilings"][0]["value"] = 5e10;
  const nlohmann::json explained =
      Compare(ProfileJson({.seed = 1}), machine, {"--fail-above", "50%"});
  EXPECT_EQ(outcome_.exit_status, kExitCannotTell) << outcome_.output;
  EXPECT_EQ(explained["verdict"], "cannot tell");
  EXPECT_THAT(explained["differences"],
              Contains(HasSubstr("fma/avx2/f32/l1 on 2 threads: 100 GFLOP/s in A, 50.0")));
}

TEST_F(CompareTest, NamesWhatElseDiffers) {
  nlohmann::json b = ProfileJson({.seed = 2});
  b["threads"] = 4;
  b["machine"]["operating_system"] = "Linux 2";
  b["machine"]["libraries"]["onednn"]["version"] = "3.0";
  b["stages"].push_back(b["stages"][0]);
  b["stages"].back()["name"] = "more";
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), b);
  EXPECT_THAT(result["differences"],
              ElementsAre("threads: 2 in A, 4 in B", "machine: kernel: Linux 1 in A, Linux 2 in B",
                          "library: onednn version: 2.6.3 in A, 3.0 in B",
                          "stage only in B: more forward"));
  EXPECT_THAT(outcome_.output, HasSubstr("threads: 2 in A, 4 in B"));
}

TEST_F(CompareTest, AnotherBatchIsNotComparable) {
  nlohmann::json b = ProfileJson({.seed = 2, .all = 3});
  b["batch"] = 16;
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), b, {"--fail-above", "1"});
  EXPECT_EQ(outcome_.exit_status, kExitCannotTell) << outcome_.output;
  EXPECT_EQ(result["verdict"], "not comparable");
  EXPECT_THAT(FirstLine(), HasSubstr("batch 8 in A and 16 in B"));
  EXPECT_EQ(result["rows"][0]["significant"], false);
  EXPECT_TRUE(result["rows"][0]["p"].is_null());
}

TEST_F(CompareTest, ADisturbedRunIsComparedAndMarked) {
  const nlohmann::json result =
      Compare(ProfileJson({.seed = 1}), ProfileJson({.seed = 2, .all = 2, .status = "DEGRADED"}));
  EXPECT_EQ(result["verdict"], "cannot tell");
  EXPECT_EQ(result["step"]["status"], "DEGRADED");
  EXPECT_THAT(outcome_.output, HasSubstr("the step is DEGRADED: B: by hand"));
}

// The interval of a disturbed run holds 1 and any limit below 100 %.
TEST_F(CompareTest, TimesThatAllowBothTellNothing) {
  const nlohmann::json slow = ProfileJson({.seed = 2, .all = 2, .status = "DEGRADED"});
  const nlohmann::json result = Compare(ProfileJson({.seed = 1}), slow, {"--fail-above", "3%"});
  EXPECT_EQ(outcome_.exit_status, kExitCannotTell) << outcome_.output;
  EXPECT_EQ(result["verdict"], "cannot tell");
  EXPECT_LT(result["step"]["ci95"][0], 1);
  EXPECT_GT(result["step"]["ci95"][1], 1.03);
  EXPECT_THAT(FirstLine(), testing::StartsWith("cannot tell: the step takes "));
  EXPECT_THAT(outcome_.output, HasSubstr("both no change and one of 3 %: --rerun --repeats"));
  EXPECT_THAT(result["notes"], Contains(HasSubstr("both no change and one of 3 %")));
  Compare(ProfileJson({.seed = 1}), slow, {"--fail-above", "400%"});
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  Compare(ProfileJson({.seed = 1}), slow);
  EXPECT_EQ(outcome_.exit_status, kExitGood) << "without a limit the status says nothing";
}

// Invalid times are not compared; results without samples show no difference.
TEST_F(CompareTest, NeedsValidTimesAndSamples) {
  nlohmann::json invalid = ProfileJson({.seed = 2});
  invalid["stages"][3]["status"] = "INVALID";
  EXPECT_TRUE(Compare(ProfileJson({}), invalid)["rows"][3]["ratio"].is_null());
  nlohmann::json older = ProfileJson({.seed = 2, .slow_stage = "conv14", .slowdown = 2});
  for (nlohmann::json& stage : older["stages"]) stage["seconds"].erase("samples");
  older["step"]["seconds"].erase("samples");
  EXPECT_EQ(Compare(ProfileJson({}), older)["verdict"], "cannot tell");
  EXPECT_THAT(outcome_.output, HasSubstr("a side has no samples"));
  EXPECT_THAT(outcome_.output, Not(HasSubstr("nan")));
}

// ---- Sweeps and Google Benchmark.

nlohmann::json CaseOf(const std::string& id, int threads) {
  return {{"id", id},
          {"network", "cnn"},
          {"mode", "training"},
          {"batch", 8},
          {"dtype", "f32"},
          {"backend", "onednn"},
          {"threads", threads},
          {"prefetch", 0},
          {"status", "OK"},
          {"reason", nullptr},
          {"file", "cases/" + id + ".json"}};
}

TEST_F(CompareTest, SweepsArePairedByConfiguration) {
  nlohmann::json before = {
      {"schema", 1}, {"cases", {CaseOf("x", 1), CaseOf("y", 2)}}, {"left_out", 0}};
  nlohmann::json after = {
      {"schema", 1}, {"cases", {CaseOf("p", 2), CaseOf("q", 4)}}, {"left_out", 0}};
  Write("before/sweep.json", before);
  Write("before/cases/x.json", ProfileJson({.seed = 1}));
  Write("before/cases/y.json", ProfileJson({.seed = 2}));
  Write("after/sweep.json", after);
  Write("after/cases/p.json", ProfileJson({.seed = 3, .slow_stage = "conv14", .slowdown = 1.1}));
  Write("after/cases/q.json", ProfileJson({.seed = 4}));
  const Outcome outcome =
      RunProgram({"compare", Path("before"), Path("after"), "--json", Path("c.json")});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json result = ReadJson(Path("c.json"));
  EXPECT_THAT(result["differences"],
              ElementsAre(HasSubstr("threads 1 prefetch 0: only in A"), HasSubstr("only in B")));
  EXPECT_EQ(result["rows"].size(), 16u);
  EXPECT_EQ(result["verdict"], "slower");
}

TEST_F(CompareTest, GoogleBenchmarksRowsArePairedByName) {
  const auto file = [](double factor) {
    nlohmann::json rows = nlohmann::json::array();
    for (int row = 0; row < 8; ++row) {
      for (int repetition = 0; repetition < 10; ++repetition) {
        const double noise = 1 + 0.001 * ((7 * row + 3 * repetition + 1) % 10);
        rows.push_back({{"name", "row" + std::to_string(row)},
                        {"run_name", "row" + std::to_string(row)},
                        {"run_type", "iteration"},
                        {"repetition_index", repetition},
                        {"real_time", (row == 5 ? factor : 1) * noise * 100},
                        {"time_unit", "us"}});
      }
    }
    return nlohmann::json{{"context", {{"host_name", "h"}}}, {"benchmarks", rows}};
  };
  const nlohmann::json result = Compare(file(1), file(1.1));
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  EXPECT_TRUE(result["step"].is_null());
  EXPECT_EQ(result["verdict"], "slower");
  ASSERT_EQ(result["rows"].size(), 8u);
  EXPECT_EQ(result["rows"][5]["significant"], true);
  EXPECT_NEAR(result["rows"][5]["a"], 100e-6, 1e-6);
  EXPECT_EQ(Compare(file(1), file(1))["verdict"], "same");
}

// A trace whose rows have the times of a profile's stages.
nlohmann::json TraceJsonLike(const nlohmann::json& profile) {
  nlohmann::json trace = {{"schema", 1},
                          {"command", "topdnn trace a.log"},
                          {"machine", profile["machine"]},
                          {"library", "oneDNN v2.6.3"},
                          {"threads", 2},
                          {"framework_seconds", 1.0},
                          {"rows", nlohmann::json::array()}};
  for (const nlohmann::json& stage : profile["stages"]) {
    trace["rows"].push_back({{"primitive", "convolution"},
                             {"prop_kind", "backward_data"},
                             {"problem", stage["name"]},
                             {"types", "src:f32"},
                             {"layouts", "src:abcd"},
                             {"reason", nullptr},
                             {"status", stage["status"]},
                             {"status_reason", stage["reason"]},
                             {"flops", stage["flops"]},
                             {"bytes", stage["bytes"]},
                             {"execution", {{"cold", stage["seconds"]}, {"hot", nullptr}}}});
  }
  return trace;
}

TEST_F(CompareTest, TheRowsOfTracesArePairedByPrimitiveProblemAndLayouts) {
  nlohmann::json a = TraceJsonLike(ProfileJson({.seed = 1}));
  nlohmann::json b =
      TraceJsonLike(ProfileJson({.seed = 2, .slow_stage = "conv7", .slowdown = 1.2}));
  b["library"] = "oneDNN v3.3.0";
  a["rows"][2]["layouts"] = "src:acdb";
  a["rows"][3]["execution"]["cold"] = nullptr;
  a["rows"][3]["status"] = "SKIPPED";
  a["rows"][3]["reason"] = "not measured";
  a["rows"][3].erase("status_reason");
  const nlohmann::json result = Compare(a, b);
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  EXPECT_THAT(FirstLine(), HasSubstr("1 row of 15 differs"));
  EXPECT_TRUE(result["step"].is_null());
  EXPECT_EQ(result["verdict"], "slower");
  ASSERT_EQ(result["rows"].size(), 15u);
  const auto& rows = result["rows"];
  const auto slow = std::find_if(rows.begin(), rows.end(),
                                 [](const auto& row) { return row["significant"] == true; });
  ASSERT_NE(slow, rows.end());
  EXPECT_EQ((*slow)["name"], "convolution conv7 src:f32 src:abcd");
  EXPECT_EQ((*slow)["pass"], "backward_data");
  EXPECT_NEAR((*slow)["ratio"], 1.2, 0.02);
  EXPECT_TRUE(rows[2]["a"].is_null());
  EXPECT_EQ(rows[2]["reason"], "A: not measured");
  const std::string differences = result["differences"].dump();
  EXPECT_THAT(differences,
              HasSubstr("the framework's oneDNN: oneDNN v2.6.3 in A, oneDNN v3.3.0 in B"));
  EXPECT_THAT(differences, HasSubstr("convolution conv3 src:f32 src:acdb"));
}

// A live run whose rows and steps have the times of a profile's.
nlohmann::json LiveJsonLike(const nlohmann::json& profile) {
  nlohmann::json live = TraceJsonLike(profile);
  nlohmann::json series = {{{"seconds", 100.0}, {"primitive_seconds", 1.0}}};  // the warm-up
  for (const nlohmann::json& sample : profile["step"]["seconds"]["samples"]) {
    series.push_back({{"seconds", sample}, {"primitive_seconds", 0.0}});
  }
  live["live"] = {{"program_seconds", 1.0},
                  {"steps", {{"primitives", live["rows"].size()}, {"series", series}}}};
  for (nlohmann::json& row : live["rows"]) {
    row["execution"] = {{"framework", row["execution"]["cold"]}, {"cold", nullptr}};
    row["status"] = "SKIPPED";  // (here)
    row["count"] = row["execution"]["framework"]["samples"].size();
    row["counters"] = {{"task-clock", nullptr}, {"page-faults", 0}};
  }
  return live;
}

TEST_F(CompareTest, LiveRunsAreComparedByTheirTimesInTheProgram) {
  nlohmann::json a = LiveJsonLike(ProfileJson({.seed = 1}));
  nlohmann::json b = LiveJsonLike(ProfileJson({.seed = 2, .slow_stage = "conv7", .slowdown = 1.6}));
  a["rows"][2]["layouts"] = "src:acdb";
  a["rows"][3]["execution"]["framework"] = {{"samples", {3e-3, 1e-3, 2e-3}}, {"median", 9}};
  b["rows"][3]["execution"]["framework"] = {{"samples", {5e-3, 5e-3, 6e-3, 4e-3, 7e-3}}};
  a["rows"][4]["count"] = 8;
  b["rows"][4]["count"] = 4;
  a["rows"][4]["counters"]["page-faults"] = 24;
  b["rows"][4]["counters"]["page-faults"] = 2;
  b["live"]["steps"]["primitives"] = 99;
  // 0.8 of a CPU in 2 s: other programs had it for the rest.
  b["rows"][5]["counters"]["task-clock"] = 1.6e9;
  b["rows"][5]["live_seconds"] = 2.0;
  b["rows"][7]["counters"]["task-clock"] = 0.8e9;
  b["rows"][7]["live_seconds"] = 2.0;
  const nlohmann::json result = Compare(a, b, {"--all"});
  EXPECT_EQ(outcome_.exit_status, kExitGood) << outcome_.output;
  ASSERT_EQ(result["rows"].size(), 15u);
  const auto& rows = result["rows"];
  const auto slow = std::find_if(rows.begin(), rows.end(),
                                 [](const auto& row) { return row["significant"] == true; });
  ASSERT_NE(slow, rows.end()) << outcome_.output;
  EXPECT_EQ((*slow)["name"], "convolution conv7 src:f32 src:abcd");
  EXPECT_NEAR((*slow)["ratio"], 1.6, 0.03);
  EXPECT_EQ((*slow)["status"], "OK");
  // Medians of 2 and 5 ms, and no interval of three runs.
  EXPECT_NEAR(rows[2]["a"], 2e-3, 1e-12);
  EXPECT_NEAR(rows[2]["b"], 5e-3, 1e-12);
  EXPECT_NEAR(rows[2]["ratio"], 2.5, 1e-9);
  EXPECT_TRUE(rows[2]["ci95"].is_null());
  EXPECT_EQ(rows[2]["significant"], false);
  EXPECT_EQ(rows[2]["reason"], "A: 3 timed runs: too few for an interval");
  const nlohmann::json counts = {{"runs", {{"a", 8.0}, {"b", 4.0}}},
                                 {"task-clock", {{"a", nullptr}, {"b", nullptr}}},
                                 {"page-faults", {{"a", 3.0}, {"b", 0.5}}}};
  EXPECT_EQ(rows[3]["counts"], counts);
  EXPECT_THAT(outcome_.output, HasSubstr("page-faults B"));
  EXPECT_EQ(rows[4]["status"], "DEGRADED");
  EXPECT_EQ(rows[4]["reason"], "B: waited for CPUs: 0.80 CPUs in its time");
  EXPECT_FALSE(rows[4]["ci95"].is_null());
  EXPECT_TRUE(rows[6]["ci95"].is_null());  // most of its time was that of others
  EXPECT_THAT(result["notes"], Contains(HasSubstr("the step is DEGRADED: B: waited")));
  // The first step, of 100 s, is the warm-up.
  EXPECT_LT(result["step"]["a"], 1);
  EXPECT_FALSE(result["step"]["ci95"].is_null());
  EXPECT_THAT(result["differences"],
              Contains("row only in A: convolution conv3 src:f32 src:acdb backward data"));
  EXPECT_THAT(result["differences"], Contains("primitives in a step: 16 in A, 99 in B"));
}

TEST_F(CompareTest, LiveRunsOfFewStepsCannotTell) {
  nlohmann::json live = LiveJsonLike(ProfileJson({.seed = 1}));
  for (nlohmann::json& row : live["rows"]) {
    row["execution"]["framework"] = {{"samples", {1e-3, 1e-3, 1e-3, 1e-3}}};
  }
  // The first step is the warm-up; the others take 2.5 s (median).
  nlohmann::json& series = live["live"]["steps"]["series"] = nlohmann::json::array();
  for (const double seconds : {100.0, 4.0, 1.0, 3.0, 2.0}) series.push_back({{"seconds", seconds}});
  const nlohmann::json result = Compare(live, live, {"--fail-above", "5%"});
  EXPECT_EQ(outcome_.exit_status, kExitCannotTell) << outcome_.output;
  EXPECT_EQ(result["verdict"], "cannot tell");
  EXPECT_EQ(result["step"]["a"], 2.5);
  EXPECT_TRUE(result["step"]["ci95"].is_null());
  EXPECT_THAT(result["notes"], Contains(HasSubstr("each ran fewer than 5 times on a side")));
  live["live"]["steps"] = nullptr;
  // Rows without any time are no evidence that nothing changed.
  for (nlohmann::json& row : live["rows"]) row["execution"]["framework"] = nullptr;
  EXPECT_EQ(Compare(live, live)["verdict"], "cannot tell");
}

// ---- What cannot be compared.

TEST_F(CompareTest, RefusesInOneLine) {
  const std::string profile = Write("profile.json", ProfileJson({}));
  nlohmann::json other = ProfileJson({});
  for (nlohmann::json& stage : other["stages"]) stage["name"] = "other";
  const std::string others = Write("others.json", other);
  const std::string benchmark = Write("benchmark.json", {{"context", nlohmann::json::object()},
                                                         {"benchmarks", nlohmann::json::array()}});
  const std::string comparison =
      Write("c.json", {{"schema", 1}, {"rows", {}}, {"verdict", "same"}});
  ExpectRefused({{"compare", profile, others}, "no stage in common"});
  ExpectRefused({{"compare", profile, benchmark}, "compare two results of one kind"});
  ExpectRefused({{"compare", profile, comparison}, "is a comparison file"});
  ExpectRefused({{"compare", profile, Path("none.json")}, "none.json"});
  ExpectRefused({{"compare", profile, folder_.path()}, "a folder without sweep.json"});
  ExpectRefused({{"compare", profile, profile, "--fail-above", "x"}, "must be a percentage"});
  ExpectRefused({{"compare", profile, profile, "--fail-above", "-1"}, "must be a percentage"});
  ExpectRefused({{"compare", profile, profile, "--fail-above", "nan"}, "must be a percentage"});
  ExpectRefused({{"compare", profile, profile, "--json", profile}, "profile.json"});
  ExpectRefused({{"compare", profile, profile, "--repeats", "3"}, "without --rerun"});
  ExpectRefused({{"compare", benchmark, benchmark, "--rerun"}, "records no command"});
  const std::string trace = Write("trace.json", TraceJsonLike(ProfileJson({})));
  ExpectRefused({{"compare", trace, profile}, "compare two results of one kind"});
  ExpectRefused({{"compare", trace, trace, "--rerun"}, "give profiles"});
  ExpectRefused({{"report", benchmark, "--html", Path("r.html")}, "a Google Benchmark file"});
}

// ---- Rerun.

TEST(RerunTest, KeepsTheCommandWithoutItsFiles) {
  EXPECT_THAT(
      ArgumentsToRepeat("topdnn profile cnn --json a.json --batch 8 --csv=b --record r", "A"),
      ElementsAre("profile", "cnn", "--batch", "8"));
  EXPECT_THAT(ArgumentsToRepeat("topdnn profile 'my net.onnx' --infer", "A"),
              ElementsAre("profile", "my net.onnx", "--infer"));
  for (const char* command :
       {"", "topdnn", "topdnn machine --json x", "rm -rf /tmp/x", "topdnn profile 'open",
        "topdnn profile cnn --counters replay:r.json"}) {
    EXPECT_THROW(ArgumentsToRepeat(command, "A"), UsageError) << command;
  }
}

// One run a side says little about a stage whose time depends on the placement of its pages.
TEST(ComparedResultsTest, TheSpreadOfAStageDependsOnItsBytes) {
  const auto stage = [](double bytes, double flops) {
    return nlohmann::ordered_json{
        {"name", "s"}, {"pass", "update"}, {"bytes", bytes}, {"flops", flops}};
  };
  nlohmann::ordered_json profile = {{"step", nlohmann::ordered_json::object()}};
  profile["machine"]["caches"] = {{{"level", 1}, {"size", 49152}},
                                  {{"level", 2}, {"size", 1048576}}};
  profile["stages"] = {stage(738564, 147712), stage(1312004, 262400), stage(4838400, 73984),
                       stage(40000, 8000), stage(738564, 1e8)};
  const auto spreads = [&profile] {
    std::vector<double> values;
    for (const StageTimes& one : RunOfProfile(profile).stages) values.push_back(one.spread);
    return values;
  };
  EXPECT_THAT(spreads(), ElementsAre(kSpreadInCaches, kSpreadInCaches, kSpreadOfMovedData,
                                     kSpreadOfMovedData, kSpreadOfArithmetic));
  profile.erase("machine");
  EXPECT_EQ(spreads()[0], kSpreadOfMovedData);
}

TEST_F(CompareTest, RunsBothCommandsAgain) {
  const std::string profile = Path("p.json");
  const Outcome measured =
      RunProgram({"profile", "lenet5", "--infer", "--batch", "2", "--threads", "1", "--data",
                  "synthetic", "--counters", "none", "--iterations", "5", "--json", profile});
  ASSERT_EQ(measured.exit_status, kExitGood) << measured.output;
  const nlohmann::json before = ReadJson(profile);
  const Outcome outcome = RunProgram(
      {"compare", profile, profile, "--rerun", "--repeats", "2", "--json", Path("c.json")});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json result = ReadJson(Path("c.json"));
  EXPECT_EQ(result["rows"].size(), before["stages"].size());
  // The times are those of new runs, not of the recorded one.
  EXPECT_NE(result["step"]["a"], before["step"]["seconds"]["median"]);
  EXPECT_EQ(ReadJson(profile), before);
  const Outcome failed = RunProgram(
      {"compare", profile, profile, "--rerun", "--program-b", "/bin/false", "--repeats", "2"});
  EXPECT_EQ(failed.exit_status, kExitNothing) << failed.output;
  EXPECT_THAT(failed.output, HasSubstr("a run of B ended with status 1"));
}

// The ISA of a sweep's case is not in its command. The program that runs it again measures nothing.
TEST_F(CompareTest, RunsTheCasesOfASweepAgainWithTheirIsa) {
  const std::string sweep = Path("sweep");
  const Outcome swept = RunShell(
      "TOPDNN_CEILING_SECONDS=0.05 " + QuotedProgram() +
      " sweep --networks lenet5 --modes infer --batch 2 --isa sse41 --seconds 0.05 --out " +
      Quoted(sweep));
  ASSERT_EQ(swept.exit_status, kExitGood) << swept.output;
  const std::string program = Path("program");
  std::ofstream(program) << "#!/bin/sh\necho isa $DNNL_MAX_CPU_ISA >" << Path("log") << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome outcome =
      RunProgram({"compare", sweep, sweep, "--rerun", "--repeats", "2", "--program-a", program});
  EXPECT_EQ(outcome.exit_status, kExitNothing) << outcome.output;
  std::ifstream log(Path("log"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(log), {}), "isa SSE41\n");
}

}  // namespace
}  // namespace topdnn
