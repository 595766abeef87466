// `topdnn corun`: its words, its results, and that none of its processes outlives it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/studies/corun/corun_words.h"
#include "harness/files/small_file.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/offline_cpu.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLenet = "lenet5 infer batch 1";

// The processes whose command line contains the text; those that have ended have none.
std::vector<pid_t> ProcessesWith(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    std::from_chars(name.data(), name.data() + name.size(), process);
    if (process == 0 || process == getpid()) continue;
    const std::string line = ReadSmallFile(entry.path() / "cmdline").text;
    if (line.find(text) != std::string::npos) found.push_back(process);
  }
  return found;
}

// A number of seconds that no other process sleeps.
std::string LongSleep() {
  return "987" + std::to_string(getpid()) + "." +
         std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Two CPUs are needed for two workloads.
#define SKIP_ON_ONE_CPU()            \
  if (AllowedCpus().cpus.size() < 2) \
  GTEST_SKIP() << "two workloads need two CPUs, and this process may use one"

Outcome Corun(const std::vector<std::string>& workloads,
              const std::vector<std::string>& options = {}, const std::string& window = "0.03") {
  std::vector<std::string> arguments = {"corun", "--rounds", "6", "--window", window};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back("--workload");
  arguments.insert(arguments.end(), workloads.begin(), workloads.end());
  return RunProgram(arguments);
}

// A group that runs for long, with a program among its members.
class RunningGroup {
 public:
  explicit RunningGroup(const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {
        TOPDNN_BINARY_DIR "/topdnn", "corun", "--rounds", "1000", "--window", "0.05"};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--workload"), std::string(kLenet),
                                    "command sh -c 'sleep " + sleep_ + "; true'"}) {
      words.push_back(word);
    }
    process_ = fork();
    if (process_ == 0) {
      const std::string log = (folder_.path() / "log").string();
      if (freopen(log.c_str(), "w", stdout) == nullptr) _exit(126);
      dup2(STDOUT_FILENO, STDERR_FILENO);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(arguments.front(), arguments.data());
      _exit(127);
    }
  }
  ~RunningGroup() {
    if (process_ != 0) kill(process_, SIGKILL);
    for (const pid_t process : ProcessesWith(sleep_)) kill(process, SIGKILL);
  }

  bool AwaitRunning() {
    return Becomes([this] { return Sleeps(); });
  }
  bool Ends() {
    return Becomes([this] { return ProcessesWith(sleep_).empty(); });
  }
  // The wait status.
  int Wait() {
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }
  std::string Log() {
    std::ifstream file(folder_.path() / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  pid_t process() const { return process_; }
  // The members' processes: the children of the command.
  std::vector<pid_t> Members() const {
    std::vector<pid_t> members;
    std::ifstream file("/proc/" + std::to_string(process_) + "/task/" + std::to_string(process_) +
                       "/children");
    for (pid_t member = 0; file >> member;) members.push_back(member);
    return members;
  }

 private:
  // Whether the program of the workload runs.
  bool Sleeps() const {
    const std::vector<pid_t> all = ProcessesWith(sleep_);
    return std::any_of(all.begin(), all.end(), [](pid_t process) {
      std::ifstream file("/proc/" + std::to_string(process) + "/comm");
      std::string name;
      return std::getline(file, name) && name == "sleep";
    });
  }

  TestFolder folder_;
  std::string sleep_ = LongSleep();
  pid_t process_ = 0;
};

// On a busy machine a short window may contain no complete iteration. Then there is no slowdown.
void ExpectSlowdown(const nlohmann::json& row) {
  const auto& slowdown = row.at("slowdown");
  const auto& interval = row.at("ci95");
  EXPECT_EQ(slowdown.is_null(), interval.is_null());
  if (slowdown.is_null()) return;
  EXPECT_GT(interval.at(0), 0);
  EXPECT_GE(slowdown, interval.at(0));
  EXPECT_LE(slowdown, interval.at(1));
}

TEST(CorunTest, ATinyRunHasAllKeys) {
  SKIP_ON_ONE_CPU();
  const TestFolder folder;
  const std::string file = (folder.path() / "corun.json").string();
  const Outcome outcome = Corun({kLenet, "probe idle"}, {"--json", file}, "0.1");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("STP"), HasSubstr("iteration"), HasSubstr("c1")));
  const nlohmann::json json = ReadJson(file);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_THAT(json.at("command").get<std::string>(), HasSubstr("probe idle"));
  EXPECT_TRUE(json.at("machine").is_object());
  EXPECT_EQ(json.at("rounds"), 6);
  EXPECT_EQ(json.at("partial"), false);
  EXPECT_FALSE(json.contains("matrix"));
  ASSERT_EQ(json.at("group").size(), 2u);
  const auto& lenet = json.at("group")[0];
  EXPECT_EQ(lenet.at("workload"), kLenet);
  for (const char* condition : {"solo", "shared"}) {
    const auto& seconds = lenet.at(condition);
    EXPECT_GT(seconds.at("n"), 0);
    EXPECT_GT(seconds.at("min"), 0);
    EXPECT_GE(seconds.at("median"), seconds.at("min"));
    EXPECT_GE(seconds.at("p90"), seconds.at("median"));
  }
  ExpectSlowdown(lenet);
  int forward = 0;
  for (const auto& stage : lenet.at("stages")) {
    if (stage.at("pass") != "reorder") {  // (the number of reorders depends on the CPU)
      EXPECT_EQ(stage.at("pass"), "forward");
      ++forward;
    }
    ExpectSlowdown(stage);
  }
  EXPECT_EQ(forward, 7);
  // One workload has times, so the metrics are those of its ratio.
  EXPECT_TRUE(json.at("group")[1].at("slowdown").is_null());
  EXPECT_TRUE(json.at("group")[1].at("solo").is_null());
  if (lenet.at("slowdown").is_null()) return;
  EXPECT_GT(json.at("stp"), 0);
  EXPECT_GT(json.at("antt"), 0);
  EXPECT_EQ(json.at("fairness"), 1);
}

TEST(CorunTest, AMatrixHasEveryPair) {
  SKIP_ON_ONE_CPU();
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome = RunProgram({"corun", "--rounds", "6", "--window", "0.02", "--matrix",
                                      "lenet5 infer batch 1,probe fma", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("victim"));
  const nlohmann::json json = ReadJson(file);
  std::vector<std::string> pairs;
  for (const auto& pair : json.at("matrix")) {
    ExpectSlowdown(pair);
    pairs.push_back(pair.at("victim").get<std::string>() + "|" +
                    pair.at("aggressor").get<std::string>());
  }
  EXPECT_THAT(pairs, testing::UnorderedElementsAre("lenet5 infer batch 1|lenet5 infer batch 1",
                                                   "lenet5 infer batch 1|probe fma",
                                                   "probe fma|lenet5 infer batch 1",
                                                   "probe fma|probe fma"));
  EXPECT_TRUE(json.at("group").empty());
  EXPECT_TRUE(json.at("stp").is_null());
}

// Two programs on one CPU take turns, so the group does the work of about one.
TEST(CorunTest, WorkloadsMayShareACpu) {
  const std::string cpu = std::to_string(AllowedCpus().cpus.front());
  const Outcome outcome = Corun({"cpus " + cpu + " probe fma", "probe fma cpus " + cpu});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("take turns on a CPU"));
}

TEST(CorunTest, ARunOfACommandIsAnIteration) {
  SKIP_ON_ONE_CPU();
  const TestFolder folder;
  const std::string file = (folder.path() / "corun.json").string();
  const std::string counted = (folder.path() / "runs").string();
  const Outcome outcome =
      Corun({"probe idle", "command echo >> '" + counted + "'"}, {"--json", file}, "0.2");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const auto command = ReadJson(file).at("group")[1];
  const std::int64_t timed = command.at("solo").at("n").get<std::int64_t>() +
                             command.at("shared").at("n").get<std::int64_t>();
  std::ifstream runs(counted);
  const auto all = std::count(std::istreambuf_iterator<char>(runs), {}, '\n');
  EXPECT_GT(timed, 0);
  EXPECT_LE(timed, all);
  EXPECT_GE(timed, all - 12);  // at most the last run of each window is not complete
}

TEST(CorunTest, ACommandThatNeverEndsHasNoTime) {
  SKIP_ON_ONE_CPU();
  const std::string seconds = LongSleep();
  const TestFolder folder;
  const std::string file = (folder.path() / "corun.json").string();
  const Outcome outcome = Corun({kLenet, "command sleep " + seconds}, {"--json", file});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  const auto command = ReadJson(file).at("group")[1];
  EXPECT_TRUE(command.at("solo").is_null());
  EXPECT_TRUE(command.at("slowdown").is_null());
  EXPECT_THAT(command.at("reason").get<std::string>(), HasSubstr("--window"));
  EXPECT_THAT(ProcessesWith(seconds), testing::IsEmpty());
}

struct Failing {
  std::string command, message;
};

TEST(CorunTest, ACommandThatFailsEndsTheGroup) {
  SKIP_ON_ONE_CPU();
  for (const auto& [command, message] :
       {Failing{"command false", "ended with status 1"},
        Failing{"command kill -SEGV $$", "signal 11"},
        Failing{"command no_such_program", "cannot be started"},
        Failing{"command echo first >&2; echo second >&2; exit 3", "(it said: second)"}}) {
    const Outcome outcome = Corun({kLenet, command});
    EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("workload '" + command + "'"), HasSubstr(message)));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

TEST(CorunTest, AnInterruptKeepsTheRoundsAndLeavesNoProcess) {
  SKIP_ON_ONE_CPU();
  for (const int signal : {SIGINT, SIGTERM}) {
    const TestFolder folder;
    const std::string file = (folder.path() / "corun.json").string();
    RunningGroup group({"--json", file});
    ASSERT_TRUE(group.AwaitRunning());
    kill(group.process(), signal);
    const int status = group.Wait();
    EXPECT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted) << group.Log();
    EXPECT_THAT(group.Log(), HasSubstr(std::string(kLenet) + " (CPU"));  // its table
    EXPECT_TRUE(group.Ends()) << signal;
    ASSERT_TRUE(std::filesystem::exists(file)) << signal;
    EXPECT_EQ(ReadJson(file).at("partial"), true);
    EXPECT_EQ(ReadJson(file).at("group").size(), 2u);
  }
}

// As a service manager ends a service.
TEST(CorunTest, ASignalToAllProcessesIsAnInterrupt) {
  SKIP_ON_ONE_CPU();
  RunningGroup group;
  ASSERT_TRUE(group.AwaitRunning());
  const std::vector<pid_t> members = group.Members();
  kill(group.process(), SIGTERM);
  for (const pid_t member : members) kill(member, SIGTERM);
  const int status = group.Wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted) << group.Log();
  EXPECT_TRUE(group.Ends());
}

TEST(CorunTest, AKillOfTheCommandLeavesNoProcess) {
  SKIP_ON_ONE_CPU();
  RunningGroup group;
  ASSERT_TRUE(group.AwaitRunning());
  kill(group.process(), SIGKILL);
  group.Wait();
  EXPECT_TRUE(group.Ends());
}

TEST(CorunTest, AMemberThatIsKilledEndsTheGroup) {
  SKIP_ON_ONE_CPU();
  for (const std::size_t member : {0u, 1u}) {
    RunningGroup group;
    ASSERT_TRUE(group.AwaitRunning());
    ASSERT_EQ(group.Members().size(), 2u);
    kill(group.Members()[member], SIGKILL);
    const int status = group.Wait();
    EXPECT_EQ(WEXITSTATUS(status), kExitWrong);
    EXPECT_THAT(group.Log(), AllOf(HasSubstr(member == 0 ? kLenet : "workload 'command"),
                                   HasSubstr("signal 9")));
    EXPECT_TRUE(group.Ends());
  }
}

TEST(CorunTest, AMemberThatHangsEndsTheGroup) {
  SKIP_ON_ONE_CPU();
  RunningGroup group({"--timeout", "10s"});
  ASSERT_TRUE(group.AwaitRunning());
  ASSERT_EQ(group.Members().size(), 2u);
  kill(group.Members().front(), SIGSTOP);
  const int status = group.Wait();
  EXPECT_EQ(WEXITSTATUS(status), kExitWrong);
  EXPECT_THAT(group.Log(), AllOf(HasSubstr(kLenet), HasSubstr("hangs")));
  EXPECT_TRUE(group.Ends());
}

// As the kernel does when the CPU of a workload goes offline.
TEST(CorunTest, AMemberOnOtherCpusEndsTheGroup) {
  SKIP_ON_ONE_CPU();
  RunningGroup group;
  ASSERT_TRUE(group.AwaitRunning());
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  ASSERT_EQ(sched_setaffinity(group.Members().at(0), sizeof all, &all), 0);
  const int status = group.Wait();
  EXPECT_EQ(WEXITSTATUS(status), kExitWrong);
  EXPECT_THAT(group.Log(), AllOf(HasSubstr(kLenet), HasSubstr("it lost its CPUs")));
  EXPECT_TRUE(group.Ends());
}

TEST(CorunTest, ACpuThatGoesOfflineEndsTheGroup) {
  const OfflineCpu cpu;
  if (!cpu.refusal().empty()) GTEST_SKIP() << cpu.refusal();
  RunningGroup group;
  ASSERT_TRUE(group.AwaitRunning());
  cpu.TakeOffline();
  const int status = group.Wait();
  EXPECT_EQ(WEXITSTATUS(status), kExitWrong);
  EXPECT_THAT(group.Log(), HasSubstr("it lost its CPUs"));
  EXPECT_TRUE(group.Ends());
}

TEST(CorunWordsTest, SetEveryOption) {
  const CorunWorkload network =
      ParseCorunWords(" cpus 0,3-5  cnn train batch 32 threads 2 backend openblas dtype f32 ");
  EXPECT_EQ(network.network.network, "cnn");
  EXPECT_TRUE(network.training);
  EXPECT_EQ(network.network.batch, 32);
  EXPECT_EQ(network.network.threads, 2);
  EXPECT_EQ(network.network.backend, "openblas");
  EXPECT_THAT(network.wish.cpus, ElementsAre(0, 3, 4, 5));
  EXPECT_EQ(network.wish.threads, 2u);
  const CorunWorkload command = ParseCorunWords("cpus 1 command echo  'a  b' train");
  EXPECT_EQ(command.command, "echo  'a  b' train");
  EXPECT_EQ(ParseCorunWords("probe dram threads 3").wish.threads, 3u);
  EXPECT_EQ(ParseCorunList("cnn train,resnet50 infer batch 2,probe llc").size(), 3u);
}

std::string CpusPlusOne() { return std::to_string(AllowedCpus().cpus.size() + 1); }

class RefusedCorunTest : public testing::TestWithParam<RefusedCommand> {};

TEST_P(RefusedCorunTest, IsOneLineAndStatusTwo) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Words, RefusedCorunTest,
    testing::Values(
        RefusedCommand{{"corun"}, "give workloads"},
        RefusedCommand{{"corun", "--workload", "cnm train"}, "did you mean cnn"},
        RefusedCommand{{"corun", "--workload", "lenet5"}, "train or infer"},
        RefusedCommand{{"corun", "--workload", "lenet5 learn"}, "'learn': must be train or infer"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer batch"}, "the value of batch"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer batch 0"},
                       "batch 0: must be a whole number"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer batch 2x"}, "batch 2x"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer speed 2"}, "no setting 'speed'"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer backend mkl"}, "no backend 'mkl'"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer dtype f31"}, "no dtype 'f31'"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer cpus 3-1"}, "cpus 1"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer cpus 0,0"}, "names a CPU twice"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer cpus 65000"}, "may use the CPUs"},
        RefusedCommand{{"corun", "--workload", "lenet5 infer cpus 0 threads 1 batch -1"},
                       "batch -1"},
        RefusedCommand{{"corun", "--workload", "probe"}, "the name of a probe"},
        RefusedCommand{{"corun", "--workload", "probe drm"}, "there are: llc dram"},
        RefusedCommand{{"corun", "--workload", "command"}, "the program is missing"},
        RefusedCommand{{"corun", "--workload", " "}, "is empty"},
        RefusedCommand{{"corun", "--workload", "probe idle", "--rounds", "5"},
                       "--rounds 5: must be 6"},
        RefusedCommand{{"corun", "--workload", "probe idle", "--window", "1x"}, "--window 1x"},
        RefusedCommand{{"corun", "--workload", "probe idle", "--timeout", "0"}, "--timeout 0"},
        RefusedCommand{{"corun", "--matrix", "probe idle,,probe fma"}, "is empty"},
        RefusedCommand{{"corun", "--workload", "probe idle", "--json", "/no/such/folder/x"},
                       "/no/such"}));

TEST(RefusedCorunTest, MoreWorkloadsThanCpus) {
  std::vector<std::string> arguments = {"corun", "--workload"};
  for (std::size_t i = 0; i <= AllowedCpus().cpus.size(); ++i) arguments.push_back("probe idle");
  ExpectRefused({arguments, CpusPlusOne() + " workloads"});
  ExpectRefused({{"corun", "--workload", "lenet5 infer threads " + CpusPlusOne()}, "need more"});
}

// Only the member's process finds this error. The line names the workload.
TEST(RefusedCorunTest, WhatTheMemberRefuses) {
  ExpectRefused({{"corun", "--workload", "/no/such.onnx infer"},
                 "workload '/no/such.onnx infer': /no/such.onnx"});
}

}  // namespace
}  // namespace topdnn
