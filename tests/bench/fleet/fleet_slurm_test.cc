// `topdnn fleet` with a real Slurm: a slurmctld and two nodes on this host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/bench/fleet/slurm_cluster.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const std::string kProgram = Quoted(TOPDNN_BINARY_DIR "/topdnn");

Json ReadJson(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

// Cases that take some tenths of a second, and write their names to a file as they start. While a
// file hold-SET exists, the set finishes only as many cases as the file says; the next case waits
// until the file is removed.
constexpr const char* kProfile = R"sh(#!/bin/sh
for last; do :; done
set=$SLURM_ARRAY_TASK_ID
basename "$last" >>"$FAKE/runs"
echo >>"$FAKE/runs-$set"
sleep 0.5
if [ "$(cat "$FAKE/hold-$set" 2>/dev/null || echo 99)" -lt "$(wc -l <"$FAKE/runs-$set")" ]; then
  while [ -e "$FAKE/hold-$set" ]; do sleep 0.1; done
fi
cat >"$last.part" <<END
{"schema": 1, "threads": 1, "measuring_seconds": 0.01, "partial": false, "stages": [],
 "machine": {"cpu": {"brand": "A CPU"}, "cores": 2},
 "step": {"status": "OK", "reason": null}}
END
mv "$last.part" "$last"
)sh";

class FleetSlurmTest : public SlurmClusterTest {
 protected:
  fs::path study() const { return folder_.path() / study_; }
  Outcome Fleet(const std::string& action, const std::string& more = "") const {
    return RunShell(kProgram + " fleet " + action + " " + Quoted(study().string()) + " " + more);
  }
  void Succeed(const std::string& action, const std::string& more = "") const {
    const Outcome outcome = Fleet(action, more);
    EXPECT_EQ(outcome.exit_status, 0) << action << "\n" << outcome.output;
  }
  Json Status() const {
    const Outcome outcome = Fleet("status", "--json " + Quoted(status().string()));
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
    return ReadJson(status());
  }
  fs::path status() const { return folder_.path() / "status.json"; }
  bool WaitForAll() const {
    return WaitUntil([this] {
      const Json json = Status();
      return json.at("finished") == json.at("cases");
    });
  }
  // Waits for a task in the state; returns its node ("none" without one), or "" after the limit.
  std::string NodeOfTask(int set, const std::string& state) const {
    std::string node;
    WaitUntil([&] {
      const Json task = Status().at("tasks").at(static_cast<std::size_t>(set - 1));
      if (task.at("state") != state) return false;
      node = task.at("node").is_null() ? "none" : task.at("node").get<std::string>();
      return true;
    });
    return node;
  }
  // Submits a study of `cases` cases in `sets` sets; each case is a run of kProfile.
  void SubmitCases(int cases, int sets, const std::string& more = "") const {
    const fs::path fake = folder_.path();
    setenv("FAKE", fake.c_str(), 1);
    fs::permissions(folder_.Write("profile", kProfile), fs::perms::owner_all);
    const fs::path program = folder_.Write(
        "topdnn", "#!/bin/sh\nexec " + kProgram + " \"$@\" --program \"$FAKE/profile\"\n");
    fs::permissions(program, fs::perms::owner_all);
    std::string batches = "1";
    for (int i = 2; i <= cases; ++i) batches += "," + std::to_string(i);
    Succeed("submit", "--batch " + batches + " --sets " + std::to_string(sets) + " --program " +
                          Quoted(program.string()) + " " + more);
  }
  // The number of starts of all cases together.
  std::size_t Runs() const {
    std::ifstream file(folder_.path() / "runs");
    std::size_t runs = 0;
    for (std::string line; std::getline(file, line);) ++runs;
    return runs;
  }
  // Collects, and expects that each case is there once.
  void ExpectCollected(std::size_t cases) const {
    Succeed("collect");
    ASSERT_EQ(Machines().size(), 1u);
    std::set<std::string> ids;
    const Json rows = ReadJson(Machines()[0] / "sweep.json").at("cases");
    for (const Json& row : rows) {
      EXPECT_EQ(row.at("status"), "OK") << row;
      EXPECT_TRUE(ids.insert(row.at("id")).second) << row.at("id");
    }
    EXPECT_EQ(ids.size(), cases);
  }
  // The name of the set's task in Slurm, such as "41_2" for set 2 of job 41.
  std::string NameOfTask(int set) const {
    const Json task = Status().at("tasks").at(static_cast<std::size_t>(set - 1));
    return std::to_string(task.at("job").get<int>()) + "_" + std::to_string(set);
  }
  std::vector<fs::path> Machines() const {
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(study() / "machines")) found.insert(entry);
    return {found.begin(), found.end()};
  }

  std::string study_ = "study";
};

// The commands of docs/fleets.md, which run a study on both nodes.
TEST_F(FleetSlurmTest, AStudyOnTwoNodesIsComparedByMachine) {
  std::ifstream page(TOPDNN_SOURCE_DIR "/docs/fleets.md");
  const std::string program = "build/release/topdnn ";
  std::size_t commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(program)) continue;
    ++commands;
    const Outcome outcome = RunShell("cd " + Quoted(folder_.path().string()) + " && " + kProgram +
                                     " " + line.substr(program.size()));
    EXPECT_EQ(outcome.exit_status, 0) << line << "\n" << outcome.output;
    if (commands == 1) {
      ASSERT_TRUE(WaitForAll()) << Fleet("status").output;
    }
  }
  EXPECT_GE(commands, 9u);
  EXPECT_EQ(RunShell("grep -c '\"kind\":\"machines\"' " +
                     Quoted((folder_.path() / "fleet.html").string()))
                .output,
            "1\n");
  EXPECT_EQ(Status().at("tasks")[1].at("node"), "n2");
  const auto machines = Machines();
  ASSERT_EQ(machines.size(), 2u);
  for (const std::size_t i : {0u, 1u}) {
    const Json rows = ReadJson(machines[i] / "sweep.json").at("cases");
    ASSERT_EQ(rows.size(), 1u);
    for (const Json& row : rows) EXPECT_EQ(row.at("host"), i == 0 ? "n1" : "n2");
  }
  const std::string both = Quoted(machines[0].string()) + " " + Quoted(machines[1].string());
  const fs::path json = folder_.path() / "compare.json";
  const Outcome compared =
      RunShell(kProgram + " compare " + both + " --json " + Quoted(json.string()));
  EXPECT_EQ(compared.exit_status, 0) << compared.output;
  const Json stages = ReadJson(json).at("rows");
  ASSERT_FALSE(stages.empty());
  for (const Json& stage : stages) {
    // (other work on this host can make a time or a ceiling invalid)
    if (stage.at("status") == "INVALID") continue;
    EXPECT_GT(stage.at("ratio").get<double>(), 0) << stage;
    const Json& a = stage.at("a_peak_fraction");
    const Json& b = stage.at("b_peak_fraction");
    const Json& normalised = stage.at("ratio_normalised");
    if (a.is_null() || b.is_null()) {
      EXPECT_TRUE(normalised.is_null()) << stage;
    } else {
      EXPECT_DOUBLE_EQ(normalised.get<double>(), a.get<double>() / b.get<double>()) << stage;
    }
  }
  const Outcome html = RunShell(kProgram + " report " + both + " --html - | tail -c 100");
  EXPECT_THAT(html.output, HasSubstr("</html>"));
}

// A node dies, a job is requeued, and a job is cancelled. Each case is finished once. Only a case
// that was running at such a moment runs again.
TEST_F(FleetSlurmTest, NoCaseIsLostOrCountedTwice) {
  study_ = "a 'b\"\n$(touch c) %j";  // (special characters of a shell and of Slurm)
  constexpr std::size_t kCases = 20;
  SubmitCases(kCases, 4);

  const std::string dead = NodeOfTask(1, "RUNNING");
  ASSERT_THAT((std::vector<std::string>{"n1", "n2"}), Contains(dead));
  cluster_->Tell("off " + dead);
  Succeed("collect");  // while jobs run, and one was lost
  ASSERT_NE(NodeOfTask(2, "RUNNING"), dead);
  EXPECT_EQ(RunShell("scontrol requeue " + NameOfTask(2)).exit_status, 0);
  EXPECT_NE(NodeOfTask(3, "RUNNING"), dead);
  EXPECT_EQ(RunShell("scancel " + NameOfTask(3)).exit_status, 0);
  EXPECT_NE(NodeOfTask(3, "CANCELLED"), "");
  Succeed("submit", "--resume");
  EXPECT_TRUE(WaitUntil([&] {
    const Outcome outcome = RunShell("sinfo --noheader --format=%t --nodes=" + dead);
    return outcome.output.find("down") != std::string::npos;
  })) << RunShell("sinfo").output;
  cluster_->Tell("start " + dead);
  ASSERT_TRUE(WaitForAll()) << Fleet("status").output;
  ExpectCollected(kCases);
  const Outcome again = Fleet("submit", "--resume");
  EXPECT_THAT(again.output, HasSubstr("every task is complete")) << again.output;
  EXPECT_GE(Runs(), kCases);
  EXPECT_LE(Runs(), kCases + 3);
}

// The slurmd of both nodes are killed; their jobs continue. The slurmd of set 2 starts again, and
// its job completes on the same node. The slurmd of set 1 stays down: Slurm marks its node as down
// and requeues its job on the other node. There it waits until the first job has ended, and has no
// case left to run.
TEST_F(FleetSlurmTest, AJobOutlivesItsSlurmd) {
  for (const char* set : {"hold-1", "hold-2"}) folder_.Write(set, "0");
  SubmitCases(4, 2);
  const std::string lost = NodeOfTask(1, "RUNNING");
  const std::string kept = NodeOfTask(2, "RUNNING");
  ASSERT_EQ((std::set<std::string>{lost, kept}), (std::set<std::string>{"n1", "n2"}));
  ASSERT_TRUE(WaitUntil([&] { return Runs() == 2; }));
  cluster_->Tell("kill " + lost);
  cluster_->Tell("kill " + kept);
  cluster_->Tell("start " + kept);
  fs::remove(folder_.path() / "hold-2");
  EXPECT_EQ(NodeOfTask(2, "COMPLETED"), kept);
  ASSERT_TRUE(WaitUntil([&] {
    const Json task = Status().at("tasks")[0];
    return task.at("state") == "RUNNING" && task.at("node") == kept;
  })) << Fleet("status").output;
  EXPECT_EQ(Status().at("finished"), 2);
  fs::remove(folder_.path() / "hold-1");
  EXPECT_EQ(NodeOfTask(1, "COMPLETED"), kept) << Fleet("status").output;
  ExpectCollected(4);
  EXPECT_EQ(Runs(), 4u);
}

// Slurm's smallest limit is a minute, and Slurm checks it every 30 s.
class TimeLimitSlurmTest : public FleetSlurmTest {
 protected:
  void SetUp() override {
    if (getenv("TOPDNN_SLOW_SLURM") == nullptr) {
      GTEST_SKIP() << "waits 60 to 100 s for a time limit of Slurm: set TOPDNN_SLOW_SLURM=1";
    }
    FleetSlurmTest::SetUp();
  }
};

TEST_F(TimeLimitSlurmTest, WhatATimeLimitEndsIsContinued) {
  folder_.Write("hold-1", "2");
  SubmitCases(4, 1, "--time-limit 1m");
  ASSERT_TRUE(WaitUntil([&] { return Runs() == 3; }));
  ASSERT_TRUE(WaitUntil([&] { return Status().at("tasks")[0].at("state") == "TIMEOUT"; }, 150))
      << Fleet("status").output;
  EXPECT_EQ(Status().at("finished"), 2);
  EXPECT_THAT(Status().at("tasks")[0].at("problem").dump(), HasSubstr("time limit"));
  Succeed("collect");
  EXPECT_EQ(ReadJson(Machines().at(0) / "sweep.json").at("cases").size(), 2u);
  fs::remove(folder_.path() / "hold-1");
  Succeed("submit", "--resume");
  ASSERT_TRUE(WaitForAll()) << Fleet("status").output;
  ExpectCollected(4);
  EXPECT_EQ(Runs(), 5u);  // the case that was running, twice
}

}  // namespace
}  // namespace topdnn
