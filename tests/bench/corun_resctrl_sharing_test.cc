// `topdnn corun` with partitions, as a user runs it, on a plain folder that looks like a resctrl
// file system.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/machine/cpu_set.h"
#include "harness/resctrl/control_group.h"
#include "harness/resctrl/files.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A folder with the files of a machine with 12 ways and one socket.
class ResctrlFolder {
 public:
  ResctrlFolder() {
    folder_.Write("info/L3/cbm_mask", "fff\n");
    folder_.Write("info/L3/min_cbm_bits", "1\n");
    folder_.Write("info/L3/num_closids", "8\n");
    folder_.Write("info/MB/num_closids", "8\n");
    folder_.Write("info/MB/min_bandwidth", "10\n");
    folder_.Write("info/MB/bandwidth_gran", "10\n");
    folder_.Write("schemata", "    L3:0=fff\n    MB:0= 100\n");
    folder_.Write("tasks", "");
    std::filesystem::create_directory(folder_.path() / "others");
  }
  const TestFolder& folder() const { return folder_; }
  std::string path() const { return folder_.path(); }
  // The groups of topdnn.
  std::vector<std::string> Groups() const {
    std::vector<std::string> groups = OpenResctrlFiles(path())->Folders("");
    std::erase_if(groups, [](const std::string& name) { return !name.starts_with("topdnn-"); });
    return groups;
  }
  std::string Text(const std::string& name) const {
    return OpenResctrlFiles(path())->Read(name).text;
  }

 private:
  TestFolder folder_;
};

std::vector<std::string> OnFirstCpu() {
  const std::string cpu = "cpus " + std::to_string(AllowedCpus().cpus.front());
  return {cpu + " probe branch", cpu + " probe idle"};
}

Outcome Corun(const ResctrlFolder& machine, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {"corun", "--rounds",  "6",           "--window",
                                        "0.02",  "--resctrl", machine.path()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back("--workload");
  for (const std::string& words : OnFirstCpu()) arguments.push_back(words);
  return RunProgram(arguments);
}

TEST(CorunPartitionsTest, ARunHasItsPartitionsAndRestores) {
  const ResctrlFolder machine;
  std::filesystem::create_directory(
      machine.folder().path() / ("topdnn-" + std::to_string(PidNamespace()) + "-1073741800-1-0"));
  const TestFolder folder;
  const std::string file = folder.path() / "corun.json";
  const Outcome outcome =
      Corun(machine, {"--ways", "0xff,0x0f", "--bandwidth", "100,15", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("overlap"), HasSubstr("rounded up to 20 %"),
                                    HasSubstr("removed 1 group"), HasSubstr("ways 0xff")));
  const nlohmann::json json = ReadJson(file);
  EXPECT_EQ(json.at("group")[0].at("ways"), "0xff");
  EXPECT_EQ(json.at("group")[1].at("bandwidth_percent"), 20);
  EXPECT_TRUE(json.at("group")[0].at("llc_occupancy_bytes").is_null());  // a folder counts nothing
  EXPECT_EQ(json.at("notes").size(), 3u);
  EXPECT_THAT(machine.Groups(), IsEmpty());
  EXPECT_THAT(OpenResctrlFiles(machine.path())->Folders(""), ElementsAre("info", "others"));
  EXPECT_EQ(machine.Text("schemata"), "    L3:0=fff\n    MB:0= 100\n");
  EXPECT_EQ(machine.Text("tasks"), "");
}

TEST(CorunPartitionsTest, ASweepHasEveryNumberOfWays) {
  const ResctrlFolder machine;
  machine.folder().Write("info/L3/cbm_mask", "f\n");
  const TestFolder folder;
  const std::string file = folder.path() / "corun.json";
  const Outcome outcome = Corun(machine, {"--sweep-ways", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json json = ReadJson(file);
  ASSERT_EQ(json.at("ways").size(), 3u);
  EXPECT_EQ(json.at("ways")[0].at("mask"), "0x1");
  EXPECT_EQ(json.at("rounds"), 6);
  EXPECT_TRUE(json.at("group").empty());
  EXPECT_THAT(machine.Groups(), IsEmpty());
}

TEST(CorunPartitionsTest, RefusalsAreOneLineAndLeaveNothing) {
  const ResctrlFolder machine;
  struct Case {
    std::vector<std::string> options;
    const char* message;
  };
  for (const auto& [options, message] :
       {Case{{"--ways", "0,f"}, "is zero"}, Case{{"--ways", "f"}, "has 1 value for 2 workloads"},
        Case{{}, "--resctrl: has no effect"}, Case{{"--bandwidth", "5,100"}, "from 10 to 100"},
        Case{{"--ways", "f,f", "--sweep-ways"}, "leave out --ways"},
        Case{{"--ways", "f,f", "--matrix", "probe fma,probe l2"}, "--matrix"},
        Case{{"--cache-curve", "--workload", "probe l2"}, "has 3 workloads"}}) {
    const Outcome outcome = Corun(machine, options);
    EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    EXPECT_THAT(machine.Groups(), IsEmpty());
  }
  const std::string elsewhere = machine.path() + "/others";
  const Outcome outcome = RunProgram(
      {"corun", "--ways", "f", "--resctrl", elsewhere, "--workload", OnFirstCpu().front()});
  EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is not mounted at " + elsewhere));
  EXPECT_THAT(OpenResctrlFiles(elsewhere)->Folders(""), IsEmpty());
}

TEST(CorunPartitionsTest, AWorkloadThatFailsLeavesNoGroup) {
  const ResctrlFolder machine;
  const Outcome outcome = RunProgram({"corun", "--resctrl", machine.path(), "--ways", "f",
                                      "--window", "0.05", "--workload", "command false"});
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(machine.Groups(), IsEmpty());
}

// A run that lasts long, with partitions.
class LongRun {
 public:
  explicit LongRun(const ResctrlFolder& machine) : machine_(machine) {
    std::vector<std::string> words = {TOPDNN_BINARY_DIR "/topdnn",
                                      "corun",
                                      "--rounds",
                                      "1000",
                                      "--window",
                                      "0.05",
                                      "--resctrl",
                                      machine.path(),
                                      "--ways",
                                      "f,ff0",
                                      "--workload"};
    for (const std::string& word : OnFirstCpu()) words.push_back(word);
    process_ = fork();
    if (process_ != 0) return;
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments.front(), arguments.data());
    _exit(127);
  }
  ~LongRun() {
    if (process_ != 0) End(SIGKILL);
  }
  // Returns once both workloads are in their groups; false after 20 s.
  bool AwaitTasks() const {
    for (int i = 0; i < 2000; ++i) {
      const std::vector<std::string> groups = machine_.Groups();
      const auto has_task = [this](const std::string& group) {
        return !machine_.Text(group + "/tasks").empty();
      };
      if (groups.size() == 2 && std::all_of(groups.begin(), groups.end(), has_task)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // The wait status.
  int End(int signal) {
    kill(process_, signal);
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }
  pid_t process() const { return process_; }

 private:
  const ResctrlFolder& machine_;
  pid_t process_ = 0;
};

TEST(CorunPartitionsTest, TheProcessesOfAWorkloadAreItsTasks) {
  const ResctrlFolder machine;
  LongRun run(machine);
  ASSERT_TRUE(run.AwaitTasks());
  const std::string process = std::to_string(run.process());
  std::ifstream file("/proc/" + process + "/task/" + process + "/children");
  for (const std::string& group : machine.Groups()) {
    int child = 0;
    file >> child;
    EXPECT_EQ(machine.Text(group + "/tasks"), std::to_string(child) + "\n");
  }
  EXPECT_EQ(machine.Text(machine.Groups()[0] + "/schemata"), "L3:0=f\n");
  EXPECT_EQ(machine.Text(machine.Groups()[1] + "/schemata"), "L3:0=ff0\n");
}

TEST(CorunPartitionsTest, AnInterruptRestores) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ResctrlFolder machine;
    LongRun run(machine);
    ASSERT_TRUE(run.AwaitTasks());
    const int status = run.End(signal);
    EXPECT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted);
    EXPECT_THAT(machine.Groups(), IsEmpty()) << signal;
  }
}

TEST(CorunPartitionsTest, TheNextRunRemovesWhatAKilledOneLeaves) {
  const ResctrlFolder machine;
  LongRun running(machine);
  ASSERT_TRUE(running.AwaitTasks());
  const std::vector<std::string> kept = machine.Groups();
  {
    const ResctrlFolder other;
    LongRun killed(other);
    ASSERT_TRUE(killed.AwaitTasks());
    for (const std::string& group : other.Groups()) {
      std::filesystem::copy(other.path() + "/" + group, machine.path() + "/" + group);
    }
    killed.End(SIGKILL);
    EXPECT_EQ(other.Groups().size(), 2u);
  }
  ASSERT_EQ(machine.Groups().size(), 4u);
  const Outcome outcome = Corun(machine, {"--ways", "f,f0"});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("removed 2 groups"));
  EXPECT_EQ(machine.Groups(), kept);  // those of the run that continues
}

}  // namespace
}  // namespace topdnn
