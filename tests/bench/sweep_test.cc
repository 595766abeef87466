// The sweep with a program in place of topdnn that takes no time and fails as the cases say; one
// test runs the real program.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "bench/studies/process/child_program.h"
#include "bench/studies/sweep/sweep_axes.h"
#include "bench/studies/sweep/sweep_case.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// Writes a profile, and appends its name to the file `runs` beside itself. What happens instead
// depends on the batch.
constexpr const char* kFakeProgram = R"sh(#!/bin/sh
for last; do :; done
printf '%s\n' "$(basename "$last")" >>"$(dirname "$0")/runs"
case " $* " in
  *" --batch 2 "*) kill -ILL $$ ;;
  *" --batch 3 "*) sleep 60 ;;
  *" --batch 18 "*) kill -TERM $$ ;;
  *" --batch 4 "*) echo 'topdnn: out of memory: use a smaller --batch' >&2; exit 1 ;;
  *" --batch 5 "*) echo 'topdnn: cnn has no kernel for bf16' >&2; exit 2 ;;
  *" --batch 6 "*) status=FAILED ;;
  *" --batch 19 "*) status=INVALID ;;
  *" --batch 20 "*) kill -40 $$ ;;
  *" --batch 21 "*) printf 'topdnn: \033[2J\n' >&2; exit 1 ;;
  *" --batch 7 "*) printf '{"schema": 1, "step"' >"$last"; exit 1 ;;
  *) status=OK ;;
esac
sleep 0.01
cat >"$last.part" <<END
{"schema": 1, "threads": 1, "measuring_seconds": 0.01, "partial": false, "stages": [],
 "step": {"status": "$status", "reason": null},
 "fed_step": {"images_per_second": 100,
  "step": {"mean": 0.4, "ci95": [0.3, 0.5],
           "seconds": {"median": 0.35, "min": 0.3, "p90": 0.5, "n": 20}},
  "compute": {"mean": 0.3, "seconds": {"median": 0.3}},
  "input_wait": {"mean": 0.09, "seconds": {"median": 0.04}},
  "other": {"mean": 0.01, "seconds": {"median": 0.01}}}}
END
mv "$last.part" "$last"
)sh";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    const auto program = folder_.Write("program", kFakeProgram);
    chmod(program.c_str(), 0755);
    arguments_ = {"sweep", "--out", out(), "--program", program.string()};
  }

  std::string out() const { return (folder_.path() / "out").string(); }
  Outcome Sweep(std::vector<std::string> more) const {
    std::vector<std::string> all = arguments_;
    all.insert(all.end(), more.begin(), more.end());
    return RunProgram(all);
  }
  nlohmann::json Index() const { return ReadJson(out() + "/sweep.json"); }
  nlohmann::json Rows() const { return Index().at("cases"); }
  std::map<int, nlohmann::json> RowsByBatch() const {
    std::map<int, nlohmann::json> rows;
    for (const auto& row : Rows()) rows[row.at("batch").get<int>()] = row;
    return rows;
  }
  // How often each case was started.
  std::map<std::string, int> Runs() const {
    std::map<std::string, int> runs;
    std::ifstream file(folder_.path() / "runs");
    for (std::string line; std::getline(file, line);) ++runs[line];
    return runs;
  }

  TestFolder folder_;
  std::vector<std::string> arguments_;
};

TEST_F(SweepTest, AFailedCaseIsARowAndNotTheEnd) {
  const Outcome outcome = Sweep({"--batch", "1,2,3,4,5,6,7,8", "--timeout", "1s"});
  EXPECT_EQ(outcome.exit_status, 1) << outcome.output;
  const auto rows = RowsByBatch();
  ASSERT_EQ(rows.size(), 8u);
  const std::vector<std::string> expected = {"OK",      "CRASHED", "TIMEOUT", "OUT_OF_MEMORY",
                                             "SKIPPED", "FAILED",  "FAILED",  "OK"};
  for (int batch = 1; batch <= 8; ++batch) {
    EXPECT_EQ(rows.at(batch).at("status"), expected[static_cast<std::size_t>(batch - 1)]) << batch;
  }
  EXPECT_THAT(rows.at(2).at("reason").get<std::string>(), HasSubstr("SIGILL"));
  EXPECT_EQ(rows.at(5).at("reason"), "cnn has no kernel for bf16");
  EXPECT_EQ(rows.at(1).at("means").at("step"), 0.4);
  EXPECT_EQ(rows.at(1).at("compute"), 0.3);
  EXPECT_EQ(rows.at(1).at("step").at("seconds").at("median"), 0.35);
  EXPECT_TRUE(rows.at(6).at("step").is_null());  // a wrong result has no time
  EXPECT_EQ(Index().at("left_out"), 0);
}

TEST_F(SweepTest, AnInvalidStepHasNoTime) {
  Sweep({"--batch", "19"});
  EXPECT_EQ(RowsByBatch().at(19).at("status"), "INVALID");
  EXPECT_TRUE(RowsByBatch().at(19)["step"].is_null());
}

// 40 is a real-time signal, which has no name.
TEST_F(SweepTest, ASignalWithoutANameIsANumber) {
  EXPECT_EQ(Sweep({"--batch", "20"}).exit_status, 1);
  EXPECT_EQ(RowsByBatch().at(20).at("reason"), "signal 40");
}

TEST_F(SweepTest, ALogDoesNotControlTheTerminal) {
  const Outcome outcome = Sweep({"--batch", "21"});
  EXPECT_THAT(outcome.output, HasSubstr("\\u{1b}[2J"));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("\033")));
}

// Its index was removed, or has another plan.
TEST_F(SweepTest, AProfileOfAnEarlierSweepIsNotTheResult) {
  Sweep({"--batch", "5"});
  const std::string id = Rows()[0].at("id");
  std::filesystem::remove(out() + "/sweep.json");
  folder_.Write("out/cases/" + id + ".json", R"({"schema": 1, "partial": false, "stages": [],
                                                 "step": {"status": "OK"}})");
  EXPECT_EQ(Sweep({"--batch", "5"}).exit_status, 3);
  EXPECT_EQ(RowsByBatch().at(5).at("status"), "SKIPPED");
}

// Without --max-time, a case that took too long is no reason to leave out another one.
TEST_F(SweepTest, ACaseAfterATimeoutIsRun) {
  Sweep({"--batch", "3", "--threads", "1,2", "--timeout", "0.2s"});
  EXPECT_EQ(Index().at("left_out"), 0);
  ASSERT_EQ(Rows().size(), 2u);
  for (const auto& row : Rows()) EXPECT_EQ(row.at("status"), "TIMEOUT");
}

TEST_F(SweepTest, ASweepThatIsKilledAndResumedRunsEachFinishedCaseOnce) {
  const int kills = std::getenv("TOPDNN_FAULTS") == nullptr ? 20 : 200;
  const std::vector<std::string> grid = {"--batch",    "8,9,10,11,12,13,14,15,16,17",
                                         "--dtype",    "f32,bf16",
                                         "--prefetch", "0,2",
                                         "--threads",  "1,2",
                                         "--resume"};
  constexpr std::size_t kCases = 80;
  std::vector<std::string> command = {TOPDNN_BINARY_DIR "/topdnn"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  command.insert(command.end(), grid.begin(), grid.end());
  std::mt19937 random(1);
  std::map<std::string, int> finished;  // by case, how often it had run when it was finished
  for (int i = 0; i < kills; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::vector<char*> words;
      for (std::string& word : command) words.push_back(word.data());
      words.push_back(nullptr);
      fclose(stdout);
      fclose(stderr);
      execv(words.front(), words.data());
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 150));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    // The child of the sweep has ended with it.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!std::filesystem::exists(out() + "/sweep.json")) continue;
    const auto runs = Runs();
    for (const auto& [name, count] : finished) EXPECT_EQ(runs.at(name), count) << name;
    for (const auto& row : Rows()) {  // (the index is always whole)
      const std::string name = row.at("id").get<std::string>() + ".json";
      finished.emplace(name, runs.at(name));
    }
  }
  EXPECT_EQ(Sweep(grid).exit_status, 0);
  EXPECT_EQ(Rows().size(), kCases);
  std::set<std::string> ids;
  for (const auto& row : Rows()) ids.insert(row.at("id").get<std::string>());
  EXPECT_EQ(ids.size(), kCases);
  int repeated = 0;
  for (const auto& [name, count] : Runs()) {
    repeated += count - 1;
    if (finished.contains(name)) {
      EXPECT_EQ(count, finished.at(name)) << name;
    }
  }
  EXPECT_LE(repeated, kills);  // each kill repeats at most the case that was running
}

// Slurm ends a job by a signal to all of its processes: the case is not a crash, and runs again.
TEST_F(SweepTest, ACaseThatIsEndedFromOutsideIsLeftOut) {
  EXPECT_EQ(Sweep({"--batch", "18"}).exit_status, 3);
  EXPECT_TRUE(Rows().empty());
  EXPECT_EQ(Index().at("left_out"), 1);
}

// A sweep may be killed after a case has written its profile and before its row is in the index.
TEST_F(SweepTest, AProfileWithoutARowIsNotMeasuredAgain) {
  EXPECT_EQ(Sweep({"--batch", "1,8"}).exit_status, 0);
  nlohmann::json index = Index();
  index["cases"].erase(0);
  folder_.Write("out/sweep.json", index.dump());
  EXPECT_EQ(Sweep({"--resume"}).exit_status, 0);
  EXPECT_EQ(RowsByBatch().size(), 2u);
  for (const auto& [name, count] : Runs()) EXPECT_EQ(count, 1) << name;
}

TEST_F(SweepTest, ResumingWithoutAxesContinuesTheSameSweep) {
  EXPECT_EQ(Sweep({"--batch", "1,8", "--max-time", "0.001s"}).exit_status, 3);
  EXPECT_EQ(Index().at("left_out"), 2);
  EXPECT_EQ(Sweep({"--resume"}).exit_status, 0);
  EXPECT_EQ(RowsByBatch().size(), 2u);
  EXPECT_EQ(Index().at("left_out"), 0);
}

// Without axes, the folder says what the sweep is. With axes, the options say it.
TEST_F(SweepTest, ResumingWithoutAxesRefusesOtherOptionsOfTheCases) {
  EXPECT_EQ(Sweep({"--batch", "1", "--repeats", "2"}).exit_status, 0);
  for (const char* option : {"--repeats", "--seed", "--seconds"}) {
    const Outcome outcome = Sweep({"--resume", option, "3"});
    EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(std::string(option) + ": --resume without axes"));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
  EXPECT_EQ(Rows().size(), 2u);
  EXPECT_EQ(Sweep({"--resume", "--batch", "1", "--repeats", "3"}).exit_status, 0);
  EXPECT_EQ(Rows().size(), 3u);
}

TEST_F(SweepTest, AnotherSweepIsKept) {
  EXPECT_EQ(Sweep({"--batch", "1"}).exit_status, 0);
  const Outcome again = Sweep({"--batch", "8"});
  EXPECT_EQ(again.exit_status, 2);
  EXPECT_THAT(again.output, HasSubstr("add --resume"));
  folder_.Write("out/sweep.json", "{\"schema\": 1, \"cases\": [");
  const Outcome damaged = Sweep({"--batch", "8", "--resume"});
  EXPECT_EQ(damaged.exit_status, 2);
  EXPECT_THAT(damaged.output, HasSubstr("truncated"));
}

TEST_F(SweepTest, TwoSweepsDoNotWriteToOneFolder) {
  std::thread first([this] { Sweep({"--batch", "3", "--timeout", "2s"}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const Outcome second = Sweep({"--batch", "8", "--resume"});
  EXPECT_EQ(second.exit_status, 2);
  EXPECT_THAT(second.output, HasSubstr("another sweep writes"));
  first.join();
}

TEST_F(SweepTest, RepeatsAreSeparateRounds) {
  EXPECT_EQ(Sweep({"--batch", "1,8", "--repeats", "3"}).exit_status, 0);
  std::multiset<int> repeats;
  for (const auto& row : Rows()) repeats.insert(row.at("repeat").get<int>());
  EXPECT_EQ(repeats, (std::multiset<int>{1, 1, 2, 2, 3, 3}));
}

TEST(SweepCaseTest, TheScheduleHasEachCaseOnceARoundInAnotherOrder) {
  const AxisValues values = {{"batch", {"1", "2", "3", "4", "5", "6", "7"}},
                             {"dtype", {"f32", "bf16"}}};
  const auto schedule = ScheduleOf(values, 2, 1);
  ASSERT_EQ(schedule.size(), 28u);
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (const SweepCase& one : schedule) {
    (one.repeat == 1 ? first : second).push_back(one.values.at("batch") + one.values.at("dtype"));
  }
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 14u);
}

TEST(SweepCaseTest, EveryDifferenceChangesTheName) {
  SweepCase one{.values = Product({}).front(), .repeat = 1};
  std::set<std::string> ids = {IdOf(one, {})};
  ids.insert(IdOf(one, {{"--seconds", "5"}}));
  SweepCase other = one;
  other.repeat = 2;
  ids.insert(IdOf(other, {}));
  for (const SweepAxis& axis : SweepAxes()) {
    other = one;
    other.values[axis.key] += "1";
    ids.insert(IdOf(other, {}));
  }
  EXPECT_EQ(ids.size(), 3 + SweepAxes().size());
  other = one;
  other.values["network"] = "../../etc/a b.onnx";
  EXPECT_EQ(IdOf(other, {}).find_first_of("/ "), std::string::npos);
}

TEST(SweepCaseTest, APrivatePlacementLeavesOneCpuToTheInputPipeline) {
  SweepCase one{.values = Product({{"placement", {"private"}}}).front(), .repeat = 1};
  const auto threads = [&](int cpus) {
    const auto arguments = ArgumentsOf(one, {}, "out.json", cpus);
    const auto at = std::find(arguments.begin(), arguments.end(), "--threads");
    return at == arguments.end() ? std::string("none") : *(at + 1);
  };
  EXPECT_EQ(threads(8), "7");
  EXPECT_EQ(threads(1), "none");  // the profile says why it is not possible
  one.values["threads"] = "3";
  EXPECT_EQ(threads(8), "3");
}

// A profile that cannot write its JSON prints its table all the same, after the line.
TEST(ChildProgramTest, TheReasonIsTheLastLineToTheUser) {
  const TestFolder folder;
  EXPECT_EQ(ReasonInLog(folder.Write("a", "topdnn: busy\ntopdnn: cannot write\ntable\n\n")),
            "topdnn: cannot write");
  EXPECT_EQ(ReasonInLog(folder.Write("b", "one\nanother\n\n")), "another");
  EXPECT_EQ(ReasonInLog((folder.path() / "none").string()), "");
}

TEST(ChildProgramTest, AChildThatCannotStartSaysWhy) {
  const TestFolder folder;
  const ChildOutcome outcome = RunChild({.arguments = {"/no/such/program"},
                                         .environment = {},
                                         .log = (folder.path() / "log").string(),
                                         .most_seconds = 10,
                                         .cancel = nullptr});
  EXPECT_EQ(outcome.end, ChildOutcome::End::kExited);
  EXPECT_EQ(outcome.status, 127);
  EXPECT_THAT(outcome.last_line, HasSubstr("/no/such/program: cannot be started"));
}

class RefusedSweepTest : public testing::TestWithParam<RefusedCommand> {};

TEST_P(RefusedSweepTest, IsOneLineAndStatusTwo) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Sweeps, RefusedSweepTest,
    testing::Values(
        RefusedCommand{{"sweep", "--batch", "8"}, "--out DIR: give the folder"},
        RefusedCommand{{"sweep", "--batch", "8,nan", "--out", "none"}, "must be whole numbers"},
        RefusedCommand{{"sweep", "--batch", "8,8", "--out", "none"}, "has 8 twice"},
        RefusedCommand{{"sweep", "--batch", ",", "--out", "none"}, "--batch"},
        RefusedCommand{{"sweep", "--dtype", "f31", "--out", "none"}, "f32"},
        RefusedCommand{{"sweep", "--networks", "cnm", "--out", "none"}, "cnn"},
        RefusedCommand{{"sweep", "--study", "tensor", "--out", "none"}, "tensorflow"},
        RefusedCommand{{"sweep", "--max-time", "15x", "--out", "none"}, "like 90s, 15m or 1.5h"},
        RefusedCommand{{"sweep", "--max-time", "nan", "--out", "none"}, "like 90s, 15m or 1.5h"},
        RefusedCommand{{"sweep", "--repeats", "0", "--out", "none"}, "--repeats 0"},
        RefusedCommand{{"sweep", "--batch", "8", "--out", "/dev/null"}, "--out /dev/null"},
        RefusedCommand{{"profile", "cnn", "--prefetch", "-1"}, "--prefetch -1: must be 0 to 64"},
        RefusedCommand{{"profile", "cnn", "--loaders", "0"}, "--loaders 0: must be 1 to 64"},
        RefusedCommand{{"profile", "cnn", "--augment", "crop,flop"}, "flip"},
        RefusedCommand{{"profile", "cnn", "--source-rate", "0"}, "--source-rate 0"},
        RefusedCommand{{"profile", "cnn", "--placement", "mine"}, "placement"}));

}  // namespace
}  // namespace topdnn
