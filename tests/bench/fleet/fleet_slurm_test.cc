// `topdnn fleet` with a real Slurm: a slurmctld and two nodes on this host, which end with the
// test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kProgram = Quoted(TOPDNN_BINARY_DIR "/topdnn");
const std::string kCluster = Quoted(TOPDNN_SOURCE_DIR "/tests/bench/fleet/cluster");

Json ReadJson(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

void Sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

// Waits until `done`, for a minute at most: Slurm finds a dead node within ten seconds.
template <class Done>
bool WaitUntil(const Done& done) {
  for (int i = 0; i < 300; ++i) {
    if (done()) return true;
    Sleep();
  }
  return false;
}

// Its processes end with this one, however that ends: their standard input is a pipe from here.
class Cluster {
 public:
  explicit Cluster(const fs::path& folder) {
    fs::create_directories(folder);
    const int port = 20000 + 3 * (getpid() % 4000);  // (below the ports of outgoing connections)
    const std::string command = "exec " + kCluster + " " + Quoted(folder.string()) + " " +
                                std::to_string(port) + " >" +
                                Quoted((folder / "cluster.log").string()) + " 2>&1";
    // NOLINTNEXTLINE(cert-env33-c)
    pipe_ = popen(command.c_str(), "we");
    ready_ = WaitUntil([&] { return fs::exists(folder / "ready"); });
    setenv("SLURM_CONF", (folder / "slurm.conf").c_str(), 1);
  }
  ~Cluster() { pclose(pipe_); }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  bool ready() const { return ready_; }
  void Tell(const std::string& line) const {
    std::fputs((line + "\n").c_str(), pipe_);
    std::fflush(pipe_);
  }

 private:
  std::FILE* pipe_ = nullptr;
  bool ready_ = false;
};

class FleetSlurmTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("PATH", (std::string(getenv("PATH")) + ":/usr/sbin:/sbin").c_str(), 1);
    for (const auto& [program, package] :
         std::map<std::string, std::string>{{"slurmctld", "slurmctld"},
                                            {"slurmd", "slurmd"},
                                            {"sbatch", "slurm-client"},
                                            {"munged", "munge"},
                                            {"mungekey", "munge"}}) {
      if (RunShell("command -v " + program).exit_status == 0) continue;
      GTEST_SKIP() << program << " is missing: install " << package;
    }
    if (RunShell("unshare --pid --fork --mount-proc true").exit_status != 0) {
      GTEST_SKIP() << "no namespace of processes for the daemons: run this as root";
    }
    cluster_ = std::make_unique<Cluster>(folder_.path() / "slurm");
    // Until here, no code of topdnn runs: a container may refuse what the daemons need.
    const std::string logs = Quoted(folder_.path().string()) + "/slurm/";
    if (!cluster_->ready() || RunShell("cat " + logs + "ready").output != "n1 idle\nn2 idle\n") {
      GTEST_SKIP() << "Slurm's nodes do not start here: "
                   << RunShell("tail -n 20 " + logs + "*.log").output;
    }
  }

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
  // Waits for a task in the state; returns its node, or nothing.
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
  // "41_2", of the task's job.
  std::string NameOfTask(int set) const {
    const Json task = Status().at("tasks").at(static_cast<std::size_t>(set - 1));
    return std::to_string(task.at("job").get<int>()) + "_" + std::to_string(set);
  }
  std::vector<fs::path> Machines() const {
    std::set<fs::path> found;
    for (const auto& entry : fs::directory_iterator(study() / "machines")) found.insert(entry);
    return {found.begin(), found.end()};
  }

  TestFolder folder_;
  std::string study_ = "study";
  std::unique_ptr<Cluster> cluster_;
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
  EXPECT_GE(commands, 7u);
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
  // (with other work on this host, no ceiling may be valid)
  EXPECT_TRUE(ReadJson(json).at("rows").at(0).contains("ratio_normalised"));
  const Outcome html = RunShell(kProgram + " report " + both + " --html - | tail -c 100");
  EXPECT_THAT(html.output, HasSubstr("</html>"));
}

// Cases that take some tenths of a second, and write their names to a file as they start.
constexpr const char* kProfile = R"sh(#!/bin/sh
for last; do :; done
basename "$last" >>"$FAKE/runs"
sleep 0.5
cat >"$last.part" <<END
{"schema": 1, "threads": 1, "measuring_seconds": 0.01, "partial": false, "stages": [],
 "machine": {"cpu": {"brand": "A CPU"}, "cores": 2},
 "step": {"status": "OK", "reason": null}}
END
mv "$last.part" "$last"
)sh";

// A node that dies, a job that is requeued, a node whose slurmd alone dies, and a job that is
// cancelled: each case is finished once, and runs again at most if it was running at that moment.
TEST_F(FleetSlurmTest, NoCaseIsLostOrCountedTwice) {
  study_ = "a 'b\"\n$(touch c) %j";  // (a shell, and Slurm's patterns)
  const fs::path fake = folder_.path();
  setenv("FAKE", fake.c_str(), 1);
  fs::permissions(folder_.Write("profile", kProfile), fs::perms::owner_all);
  const fs::path program = folder_.Write(
      "topdnn", "#!/bin/sh\nexec " + kProgram + " \"$@\" --program \"$FAKE/profile\"\n");
  fs::permissions(program, fs::perms::owner_all);
  constexpr std::size_t kCases = 20;
  std::string batches = "1";
  for (std::size_t i = 2; i <= kCases; ++i) batches += "," + std::to_string(i);
  Succeed("submit", "--batch " + batches + " --sets 4 --program " + Quoted(program.string()));

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
  Succeed("collect");
  const Outcome again = Fleet("submit", "--resume");
  EXPECT_THAT(again.output, HasSubstr("every task is complete")) << again.output;

  ASSERT_EQ(Machines().size(), 1u);
  std::set<std::string> ids;
  const Json rows = ReadJson(Machines()[0] / "sweep.json").at("cases");
  for (const Json& row : rows) {
    EXPECT_EQ(row.at("status"), "OK") << row;
    EXPECT_TRUE(ids.insert(row.at("id")).second) << row.at("id");
  }
  EXPECT_EQ(ids.size(), kCases);
  std::ifstream file(fake / "runs");
  std::size_t runs = 0;
  for (std::string line; std::getline(file, line);) ++runs;
  EXPECT_GE(runs, kCases);
  EXPECT_LE(runs, kCases + 3);
}

}  // namespace
}  // namespace topdnn
