// `topdnn results`: nothing is lost by writers that run at once or are killed, by full disks, or by
// a damaged index.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

class ResultsTest : public testing::Test {
 protected:
  ResultsTest() { folder_.Write("p.json", ProfileJson({}).dump()); }

  Outcome Results(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "results");
    arguments.insert(arguments.end(), {"--store", Store()});
    return RunProgram(arguments);
  }
  void Add() {
    const Outcome added = Results({"add", Path("p.json")});
    ASSERT_EQ(added.exit_status, kExitGood) << added.output;
  }
  std::string Path(const std::string& name) const { return folder_.path() / name; }
  std::string Store() const { return Path("store"); }
  std::string Index() const { return Path("store/index.sqlite"); }
  // The directories of complete runs.
  std::vector<std::filesystem::path> Runs() const {
    std::vector<std::filesystem::path> runs;
    for (const auto& entry : std::filesystem::directory_iterator(Path("store/runs"))) {
      if (!entry.path().filename().string().starts_with(".")) runs.push_back(entry.path());
    }
    std::sort(runs.begin(), runs.end());
    return runs;
  }
  // The number of results by the index.
  int Count() {
    const Outcome outcome = Results({"query", "SELECT 'n' || count(*) AS n FROM results"});
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    const std::size_t at = outcome.output.rfind('n');
    return std::stoi(outcome.output.substr(at + 1));
  }

  TestFolder folder_;
};

TEST_F(ResultsTest, ListsShowsAndQueries) {
  Add();
  Add();
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood);
  for (const char* text : {"id", "cnn", "training", "f32", "profile", "OK"}) {
    EXPECT_THAT(list.output, HasSubstr(text));
  }
  const std::vector<std::filesystem::path> runs = Runs();
  ASSERT_EQ(runs.size(), 2u);
  const std::string id = runs[1].filename();
  EXPECT_THAT(list.output, HasSubstr(id));
  const Outcome shown = Results({"show", id});
  EXPECT_EQ(shown.exit_status, kExitGood);
  EXPECT_EQ(nlohmann::json::parse(shown.output), ProfileJson({}));
  EXPECT_EQ(ReadJson(runs[1] / "stored.json")["id"], id);
  const Outcome query = Results({"query", "SELECT max(seconds) * 0 + 7 AS s FROM stages"});
  EXPECT_THAT(query.output, HasSubstr("s\n7\n"));
}

TEST_F(ResultsTest, ASweepIsStoredCaseByCase) {
  const nlohmann::json one = {
      {"id", "x"}, {"network", "cnn"}, {"status", "OK"}, {"file", "cases/x.json"}};
  const nlohmann::json failed = {
      {"id", "y"}, {"network", "cnn"}, {"status", "CRASHED"}, {"file", nullptr}};
  folder_.Write("sweep/sweep.json",
                nlohmann::json{{"schema", 1}, {"cases", {one, failed}}, {"left_out", 0}}.dump());
  folder_.Write("sweep/cases/x.json", ProfileJson({}).dump());
  const Outcome added = Results({"add", Path("sweep")});
  EXPECT_EQ(added.exit_status, kExitGood) << added.output;
  EXPECT_EQ(Count(), 1);
}

TEST_F(ResultsTest, ASweepWithADamagedCaseIsNotStored) {
  const nlohmann::json one = {{"id", "x"}, {"status", "OK"}, {"file", "cases/x.json"}};
  const nlohmann::json damaged = {{"id", "y"}, {"status", "OK"}, {"file", "cases/y.json"}};
  folder_.Write("sweep/sweep.json",
                nlohmann::json{{"schema", 1}, {"cases", {one, damaged}}, {"left_out", 0}}.dump());
  folder_.Write("sweep/cases/x.json", ProfileJson({}).dump());
  folder_.Write("sweep/cases/y.json", R"({"schema": 1, "step")");
  Add();
  ExpectRefused({{"results", "add", Path("sweep"), "--store", Store()}, "truncated"});
  EXPECT_EQ(Count(), 1);
}

TEST_F(ResultsTest, RefusesInOneLine) {
  const std::string store = Store();
  ExpectRefused({{"results", "list", "--store", store}, "there is no store"});
  ExpectRefused({{"results", "add", Path("none.json"), "--store", store}, "none.json"});
  Add();
  ExpectRefused({{"results", "list", "--store", folder_.path()}, "is not a store of results"});
  ExpectRefused({{"results", "add", Path("p.json"), "--store", folder_.path()}, "is not a store"});
  ExpectRefused({{"results", "show", "2", "x", "--store", store}, "takes one ID"});
  ExpectRefused({{"results", "show", "../p", "--store", store}, "no such result"});
  ExpectRefused({{"results", "what", "--store", store}, "no action 'what'"});
  for (const char* sql : {"DELETE FROM results", "ATTACH '/dev/null' AS other", "VACUUM INTO 'x'",
                          "PRAGMA user_version = 1", "DROP TABLE stages"}) {
    ExpectRefused({{"results", "query", sql, "--store", store}, "only SELECT is possible"});
  }
  ExpectRefused({{"results", "query", "SELECT 1; SELECT 2", "--store", store}, "one statement"});
  ExpectRefused({{"results", "query", "SELEC", "--store", store}, "syntax error"});
  std::ofstream(Path("store/topdnn-store.json")) << R"({"topdnn_store": 99})";
  ExpectRefused({{"results", "list", "--store", store}, "is not a store of version 1"});
}

TEST_F(ResultsTest, AMissingOrDamagedIndexIsMadeAgain) {
  Add();
  std::filesystem::remove(Index());
  EXPECT_EQ(Count(), 1);
  std::ofstream(Index()) << "not a database, but long enough to be read as one by SQLite";
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood) << list.output;
  EXPECT_THAT(list.output, HasSubstr("made again from the results"));
  EXPECT_THAT(list.output, HasSubstr("cnn"));
  EXPECT_THAT(Results({"list"}).output, Not(HasSubstr("made again")));
  // A page in the middle is overwritten.
  std::fstream file(Index(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(4096, '\x5a');
  file.close();
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(Results({"rebuild"}).output, "1 results\n");
}

TEST_F(ResultsTest, ATruncatedResultIsMarkedAndTheOthersAreIntact) {
  Add();
  Add();
  const std::vector<std::filesystem::path> runs = Runs();
  std::filesystem::resize_file(runs[0] / "result.json", 100);
  std::filesystem::create_directory(Path("store/runs/empty"));
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood) << list.output;
  EXPECT_THAT(list.output, HasSubstr("DAMAGED"));
  EXPECT_THAT(list.output, HasSubstr("result.json: not JSON, or truncated"));
  EXPECT_THAT(list.output, HasSubstr("cnn"));
  EXPECT_EQ(Count(), 3);
}

TEST_F(ResultsTest, ADamagedMachineOfOneResultDoesNotHideTheOthers) {
  Add();
  Add();
  std::filesystem::remove(Runs()[0] / "stored.json");
  std::filesystem::create_directory(Runs()[0] / "stored.json");
  std::filesystem::remove(Index());
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood) << list.output;
  EXPECT_THAT(list.output, HasSubstr("DAMAGED"));
  EXPECT_THAT(list.output, HasSubstr("cnn"));
}

TEST_F(ResultsTest, TwoWritersLoseNothing) {
  constexpr int kEach = 50;
  const std::string writer = "for i in $(seq " + std::to_string(kEach) + "); do " +
                             QuotedProgram() + " results add " + Quoted(Path("p.json")) +
                             " --store " + Quoted(Store()) + " >/dev/null || echo failed; done";
  const Outcome outcome = RunShell("(" + writer + ") & (" + writer + "); wait");
  EXPECT_THAT(outcome.output, Not(HasSubstr("failed")));
  EXPECT_EQ(Runs().size(), 2u * kEach);
  EXPECT_EQ(Count(), 2 * kEach);
}

TEST_F(ResultsTest, AKilledWriterLeavesOnlyCompleteResults) {
  Add();
  const std::string add =
      QuotedProgram() + " results add " + Quoted(Path("p.json")) + " --store " + Quoted(Store());
  // The moments cover twice the time of a run, which takes much longer under the sanitizers.
  const Outcome outcome =
      RunShell("begin=$(date +%s%N); " + add + " >/dev/null; took=$(($(date +%s%N) - begin)); " +
               "for i in $(seq 40); do " + add + " >/dev/null 2>&1 & pid=$!; " +
               "wait=$((took * i / 20)); " +
               "sleep $(printf '%d.%09d' $((wait / 1000000000)) $((wait % 1000000000))); " +
               "kill -9 $pid; wait $pid; done 2>/dev/null");
  const std::vector<std::filesystem::path> runs = Runs();
  EXPECT_GT(runs.size(), 2u);
  for (const std::filesystem::path& run : runs) {
    EXPECT_EQ(ReadJson(run / "result.json"), ProfileJson({})) << run;
  }
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood) << list.output;
  EXPECT_THAT(list.output, Not(HasSubstr("DAMAGED")));
  EXPECT_EQ(Count(), static_cast<int>(runs.size()));
}

TEST_F(ResultsTest, AFullDiskLosesNothing) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer writes a file when it starts";
#endif
  Add();
  // (a file may have 1 block of 512 or 1024 bytes)
  const Outcome outcome = RunShell("ulimit -f 1; " + QuotedProgram() + " results add " +
                                   Quoted(Path("p.json")) + " --store " + Quoted(Store()));
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("cannot write"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  EXPECT_EQ(Count(), 1);
  const std::filesystem::directory_iterator left(Path("store/runs"));
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

// The index cannot be written, because its name is a folder's.
TEST_F(ResultsTest, WithoutAnIndexTheFilesAreRead) {
  Add();
  std::filesystem::remove(Index());
  std::filesystem::create_directories(Index() + "/x");
  Add();
  const Outcome list = Results({"list"});
  EXPECT_EQ(list.exit_status, kExitGood) << list.output;
  EXPECT_THAT(list.output, HasSubstr("the results are read from their files"));
  EXPECT_EQ(Count(), 2);
}

TEST_F(ResultsTest, AnIndexThatAnotherProcessHoldsIsNotWaitedForForever) {
  Add();
  const std::string hold =
      "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
      "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); time.sleep(60)";
  const Outcome outcome =
      RunShell("python3 -c " + Quoted(hold) + " " + Quoted(Index()) + " >" + Quoted(Path("held")) +
               " & pid=$!; while [ ! -s " + Quoted(Path("held")) + " ]; do sleep 0.1; done; " +
               QuotedProgram() + " results add " + Quoted(Path("p.json")) + " --store " +
               Quoted(Store()) + "; echo status $?; kill $pid");
  EXPECT_THAT(outcome.output, HasSubstr("locked"));
  EXPECT_THAT(outcome.output, HasSubstr("status 0"));
  EXPECT_EQ(Count(), 2);
}

}  // namespace
}  // namespace topdnn
