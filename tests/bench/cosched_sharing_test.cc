// `topdnn cosched` with jobs that sleep (fake_job.py): its files, its faults, and that nothing is
// left of a run. And one small run of real jobs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/studies/malleable/control_client.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/offline_cpu.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kHeader = "network,pass,batch,steps,arrival,priority,min_width,max_width\n";
const std::string kFake = TOPDNN_SOURCE_DIR "/tests/bench/fake_job.py";

// Curves of the jobs of fake_job.py, so that nothing is measured.
std::string Curves(const std::vector<int>& batches) {
  nlohmann::json curves = nlohmann::json::array();
  for (const int batch : batches) {
    curves.push_back({{"network", "cnn"},
                      {"mode", "train"},
                      {"batch", batch},
                      {"startup_seconds", 0.05},
                      {"change_seconds", 0},
                      {"steps", {{{"width", 1}, {"seconds", 0.01}}}}});
  }
  return nlohmann::json({{"curves", curves}, {"losses", nlohmann::json::array()}}).dump();
}

std::string Job(int batch, int steps, double arrival = 0, int max = 1) {
  return "cnn,train," + std::to_string(batch) + "," + std::to_string(steps) + "," +
         std::to_string(arrival) + ",0,1," + std::to_string(max) + "\n";
}

// A folder with a trace, curves and a separate temporary folder.
class Case {
 public:
  explicit Case(const std::string& trace) {
    folder_.Write("trace.csv", kHeader + trace);
    folder_.Write("curves.json", Curves({1, 2, 3, 4, 5}));
    std::filesystem::create_directory(folder_.path() / "tmp");
    setenv("TMPDIR", (folder_.path() / "tmp").c_str(), 1);
    setenv("FAKE_LOG", (folder_.path() / "jobs").c_str(), 1);
    unsetenv("FAKE_FAULTS");
    unsetenv("FAKE_STEP");
    unsetenv("FAKE_SLOWER");
  }
  ~Case() {
    unsetenv("TMPDIR");
    unsetenv("FAKE_LOG");
  }

  std::string Path(const std::string& name) const { return folder_.path() / name; }
  // Without the speed check, only the trace's jobs run.
  std::vector<std::string> Arguments(const std::string& policy,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = CheckedArguments(policy, more);
    arguments.emplace_back("--no-speed-check");
    return arguments;
  }
  // Four more processes run before the first policy, and after each.
  std::vector<std::string> CheckedArguments(const std::string& policy,
                                            const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "cosched",        "--policy",          policy,          "--trace", Path("trace.csv"),
        "--curves",       Path("curves.json"), "--job-program", kFake,     "--json",
        Path("out.json"), "--window",          "0.02s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Outcome Run(const std::string& policy, const std::vector<std::string>& more = {}) const {
    return RunProgram(Arguments(policy, more));
  }
  nlohmann::json Result() const { return ReadJson(Path("out.json")); }

  // Neither processes nor files are left.
  void ExpectNothingLeft() const {
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "tmp"));
    std::ifstream jobs(Path("jobs"));
    int process = 0, batch = 0, width = 0;
    while (jobs >> process >> batch >> width) {
      EXPECT_NE(kill(process, 0), 0) << "job " << process << " runs";
    }
  }

 private:
  TestFolder folder_;
};

TEST(CoschedTest, EveryPolicyRunsEveryJob) {
  const Case one(Job(1, 20) + Job(2, 10, 0.1, 2) + Job(1, 5, 0.2));
  const Outcome outcome = one.Run("all");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json result = one.Result();
  EXPECT_EQ(result["schema"], 1);
  EXPECT_EQ(result["complete"], true);
  ASSERT_EQ(result["policies"].size(), 5u);
  for (const nlohmann::json& policy : result["policies"]) {
    EXPECT_GT(policy["makespan"].get<double>(), 0);
    EXPECT_GT(policy["simulated_makespan"].get<double>(), 0);
    EXPECT_EQ(policy["simulated"], false);
    ASSERT_EQ(policy["jobs"].size(), 3u);
    for (const nlohmann::json& job : policy["jobs"]) {
      EXPECT_EQ(job["status"], "OK") << job;
      EXPECT_NEAR(job["turnaround"].get<double>(),
                  job["wait"].get<double>() + job["service"].get<double>(), 1e-6);
      EXPECT_GT(job["slowdown"].get<double>(), 0);
      EXPECT_FALSE(job["timeline"].empty());
    }
    EXPECT_THAT(outcome.output, HasSubstr(policy["name"].get<std::string>() + ": "));
  }
  one.ExpectNothingLeft();
}

// A socket's path has at most 107 bytes.
TEST(CoschedTest, ALongTemporaryFolderIsRefused) {
  const Case one(Job(1, 1));
  const std::string folder = one.Path("tmp/" + std::string(100, 'a'));
  std::filesystem::create_directory(folder);
  setenv("TMPDIR", folder.c_str(), 1);
  const Outcome outcome = one.Run("fcfs");
  EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is too long for a socket: set TMPDIR to a shorter path"));
  std::filesystem::remove(folder);  // it is empty
  one.ExpectNothingLeft();
}

TEST(CoschedTest, OnOneCpuFcfsRunsOneJobAtATime) {
  const Case one(Job(1, 20) + Job(2, 20) + Job(3, 20));
  ASSERT_EQ(one.Run("fcfs", {"--cpus", "1"}).exit_status, 0);
  double last = 0;
  for (const nlohmann::json& job : one.Result()["policies"][0]["jobs"]) {
    EXPECT_GE(job["wait"].get<double>(), last);  // all arrive at 0
    last = job["turnaround"].get<double>();
  }
}

// One job alone has two CPUs, and one beside another. It is long enough for the other to end.
TEST(CoschedTest, AMalleableJobChangesItsWidth) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
  const Case one(Job(1, 300, 0, 2) + Job(2, 30, 0.3, 2));
  ASSERT_EQ(one.Run("equal").exit_status, 0);
  const nlohmann::json first = one.Result()["policies"][0]["jobs"][0];
  std::vector<int> widths;
  for (const nlohmann::json& segment : first["timeline"]) widths.push_back(segment["width"]);
  EXPECT_THAT(widths, testing::ElementsAre(2, 1, 2));
}

std::size_t LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

struct Fault {
  std::string name, message;
  std::string timeout = "60s";
};

// The second of three jobs has the fault. The others get their results. Only a fault that is a
// silence waits for its end: beside a compiler, an interpreter's start alone took more than 4 s.
TEST(CoschedTest, AJobThatFailsIsARowWithItsReason) {
  const std::vector<Fault> faults = {{"die", "signal 9"},
                                     {"fail", "status 1 (it said: the disk is full)"},
                                     {"hang", "hangs: no step ended for 10 s", "10s"},
                                     {"deaf", "does not answer requests for 10 s", "10s"},
                                     {"junk", "a reply that is not valid"},
                                     {"flood", "floods its control socket"},
                                     {"nosocket", "hangs", "10s"}};
  for (const auto& [name, message, timeout] : faults) {
    const Case one(Job(1, 20) + Job(2, 3000) + Job(3, 20));
    setenv("FAKE_FAULTS", ("2:" + name).c_str(), 1);
    const Outcome outcome = one.Run("uncontrolled", {"--timeout", timeout});
    EXPECT_EQ(outcome.exit_status, 1) << name << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("job 2 cnn train FAILED: ")) << name;
    const nlohmann::json jobs = one.Result()["policies"][0]["jobs"];
    EXPECT_EQ(jobs[0]["status"], "OK");
    EXPECT_EQ(jobs[1]["status"], "FAILED");
    EXPECT_THAT(jobs[1]["reason"].get<std::string>(), HasSubstr(message)) << name;
    EXPECT_TRUE(jobs[1]["slowdown"].is_null());
    EXPECT_EQ(jobs[2]["status"], "OK");
    one.ExpectNothingLeft();
  }
}

TEST(CoschedTest, AJobThatRefusesAWidthFails) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
  const Case one(Job(1, 300, 0, 2) + Job(2, 20, 0.3, 2));
  setenv("FAKE_FAULTS", "1:refuse", 1);
  EXPECT_EQ(one.Run("equal").exit_status, 1);
  const nlohmann::json jobs = one.Result()["policies"][0]["jobs"];
  EXPECT_EQ(jobs[0]["reason"], "refused a request: no other width\\nwill do");
  EXPECT_EQ(jobs[1]["status"], "OK");
}

// The machine becomes ten times slower with the tenth process, the job of the second policy: four
// processes of the first check, a job, and four of the second check are before it.
TEST(CoschedTest, AMachineThatBecomesSlowerIsFound) {
  const Case one(Job(1, 10));
  setenv("FAKE_STEP", "0.002", 1);
  setenv("FAKE_SLOWER", "10:10", 1);
  const Outcome outcome = RunProgram(one.CheckedArguments("fcfs,equal"));
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json policies = one.Result()["policies"];
  ASSERT_EQ(policies.size(), 2u);
  const nlohmann::json& fast = policies[0]["machine_speed"];
  const nlohmann::json& slow = policies[1]["machine_speed"];
  // The check after a policy is the one before the next.
  EXPECT_EQ(fast["after"], slow["before"]);
  EXPECT_LT(slow["after"].get<double>(), slow["before"].get<double>());
  EXPECT_EQ(policies[1]["status"], "DEGRADED");
  EXPECT_THAT(policies[1]["reason"].get<std::string>(),
              AllOf(HasSubstr("changed during its run"), HasSubstr("is not that of the other")));
  EXPECT_LT(policies[0]["simulated_makespan"].get<double>(),
            policies[1]["simulated_makespan"].get<double>());
  EXPECT_THAT(outcome.output, HasSubstr("~equal speed"));
  EXPECT_EQ(LinesOf(one.Path("jobs")), 14u);
  one.ExpectNothingLeft();
}

// The job of the trace ends before its fault, and the jobs of the checks do not.
TEST(CoschedTest, ACheckWhoseJobDiesLeavesTheSpeedUnknown) {
  const Case one(Job(2, 2));
  setenv("FAKE_FAULTS", "2:die", 1);
  const Outcome outcome = RunProgram(one.CheckedArguments("fcfs"));
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  const std::string unknown =
      "the machine's speed around its run is not known: the job cnn train batch 2 was ended by "
      "signal 9";
  EXPECT_THAT(outcome.output, HasSubstr(unknown));
  const nlohmann::json policy = one.Result()["policies"][0];
  EXPECT_EQ(policy["jobs"][0]["status"], "OK");
  EXPECT_EQ(policy["status"], "DEGRADED");
  EXPECT_THAT(policy["reason"].get<std::string>(), HasSubstr(unknown));
  EXPECT_TRUE(policy["machine_speed"].is_null());
  one.ExpectNothingLeft();
}

// The program in the background.
class Background {
 public:
  explicit Background(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TOPDNN_BINARY_DIR "/topdnn");
    process_ = fork();
    if (process_ != 0) return;
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    execv(words.front(), words.data());
    _exit(127);
  }
  ~Background() {
    if (process_ != 0) kill(process_, SIGKILL);
  }
  pid_t process() const { return process_; }
  int Status() {
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_;
};

TEST(CoschedTest, AnInterruptWritesWhatThereIsAndLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Case one(Job(1, 5) + Job(2, 1000000) + Job(3, 1000000));
    Background run(one.Arguments("uncontrolled,fcfs"));
    ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(run.process(), signal);
    EXPECT_EQ(run.Status(), 130);
    one.ExpectNothingLeft();
    ASSERT_TRUE(std::filesystem::exists(one.Path("out.json"))) << signal;
    const nlohmann::json result = one.Result();
    EXPECT_EQ(result["complete"], false);
    ASSERT_EQ(result["policies"].size(), 1u);
    EXPECT_EQ(result["policies"][0]["complete"], false);
    EXPECT_EQ(result["policies"][0]["jobs"][1]["status"], "INTERRUPTED");
    EXPECT_TRUE(result["policies"][0]["jobs"][1]["turnaround"].is_null());
  }
}

TEST(CoschedTest, AnInterruptEndsACheck) {
  const Case one(Job(1, 5));
  setenv("FAKE_FAULTS", "1:hang", 1);
  Background run(one.CheckedArguments("fcfs"));
  ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 4; }));
  kill(run.process(), SIGINT);
  EXPECT_EQ(run.Status(), 130);
  one.ExpectNothingLeft();
  const nlohmann::json result = one.Result();
  EXPECT_EQ(result["complete"], false);
  EXPECT_TRUE(result["policies"].empty());
}

TEST(CoschedTest, AKilledSchedulerTakesItsJobsWithIt) {
  const Case one(Job(1, 1000000) + Job(2, 1000000));
  Background run(one.Arguments("uncontrolled"));
  ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 2; }));
  kill(run.process(), SIGKILL);
  EXPECT_EQ(run.Status(), -SIGKILL);
  std::ifstream jobs(one.Path("jobs"));
  int process = 0, batch = 0, width = 0;
  while (jobs >> process >> batch >> width) {
    EXPECT_TRUE(Becomes([&] { return kill(process, 0) != 0; }));
  }
}

// The scheduler loses a CPU while two jobs have one each: both go on, on the CPU that is left.
TEST(CoschedTest, AJobWhoseCpuGoesContinuesOnAnother) {
  const CpuSet cpus = AllowedCpus();
  if (cpus.cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
  const Case one(Job(1, 400) + Job(2, 400));
  Background run(one.Arguments("equal", {"--cpus", "2"}));
  ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 2; }));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<std::size_t>(cpus.cpus[0]), &mask);
  ASSERT_EQ(sched_setaffinity(run.process(), sizeof mask, &mask), 0);
  std::ifstream jobs(one.Path("jobs"));
  int process = 0, batch = 0, width = 0;
  while (jobs >> process >> batch >> width) {
    EXPECT_TRUE(Becomes([&] {
      cpu_set_t now;
      return sched_getaffinity(process, sizeof now, &now) == 0 && CPU_EQUAL(&now, &mask) != 0;
    }));
  }
  EXPECT_EQ(run.Status(), 0);
  for (const nlohmann::json& job : one.Result()["policies"][0]["jobs"])
    EXPECT_EQ(job["status"], "OK");
}

// While the first job runs, a CPU goes. The second job may have two CPUs, and the third needs them.
// They arrive late, because the first job needs seconds to start beside other tests.
TEST(CoschedTest, JobsThatArriveAfterALossOfCpus) {
  const CpuSet cpus = AllowedCpus();
  if (cpus.cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
  for (const char* policy : {"equal", "uncontrolled", "fcfs"}) {
    const Case one(Job(1, 600) + Job(2, 20, 5, 2) + "cnn,train,3,20,5,0,2,2\n");
    Background run(one.Arguments(policy, {"--cpus", "2"}));
    ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 1; }));
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpus.cpus[0]), &mask);
    ASSERT_EQ(sched_setaffinity(run.process(), sizeof mask, &mask), 0);
    EXPECT_EQ(run.Status(), 1);
    const nlohmann::json jobs = one.Result()["policies"][0]["jobs"];
    EXPECT_EQ(jobs[1]["status"], "OK") << policy << jobs[1];
    EXPECT_EQ(jobs[2]["status"], "FAILED") << policy;
    const std::string reason = jobs[2]["reason"];
    const bool starts = policy == std::string("uncontrolled");
    EXPECT_THAT(reason, HasSubstr(starts ? "must be 1 to 1" : "needs 2 CPUs, and the run has 1"));
  }
}

TEST(CoschedTest, JobsContinueWhenACpuGoesOfflineAndComesBack) {
  const OfflineCpu cpu;
  if (!cpu.refusal().empty()) GTEST_SKIP() << cpu.refusal();
  const Case one(Job(1, 500) + Job(2, 500));
  Background run(one.Arguments("equal"));
  ASSERT_TRUE(Becomes([&] { return LinesOf(one.Path("jobs")) == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  cpu.TakeOffline();
  // Both jobs may use the other CPUs only, and the scheduler has given them some.
  std::ifstream jobs(one.Path("jobs"));
  int process = 0, batch = 0, width = 0;
  while (jobs >> process >> batch >> width) {
    EXPECT_TRUE(Becomes([&] {
      cpu_set_t now;
      return sched_getaffinity(process, sizeof now, &now) == 0 && CPU_COUNT(&now) > 0 &&
             !CPU_ISSET(static_cast<std::size_t>(cpu.number()), &now);
    }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  cpu.TakeOnline();
  EXPECT_EQ(run.Status(), 0);
  for (const nlohmann::json& job : one.Result()["policies"][0]["jobs"])
    EXPECT_EQ(job["status"], "OK");
  one.ExpectNothingLeft();
}

TEST(CoschedTest, ATraceIsWrittenAndReadAgain) {
  const Case one("");
  const auto simulate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "cosched", "--simulate", "--curves", "nominal", "--cpus",
        "4",       "--policy",   "equal",    "--json",  one.Path("out.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
    return one.Result()["policies"];
  };
  const nlohmann::json first =
      simulate({"--jobs", "20", "--seed", "5", "--write-trace", one.Path("w.csv")});
  EXPECT_EQ(first[0]["jobs"].size(), 20u);
  EXPECT_EQ(first[0]["simulated"], true);
  EXPECT_EQ(first[0]["makespan"], first[0]["simulated_makespan"]);
  EXPECT_EQ(simulate({"--trace", one.Path("w.csv")}), first);
  EXPECT_EQ(simulate({"--jobs", "20", "--seed", "5"}), first);
  EXPECT_NE(simulate({"--jobs", "20", "--seed", "6"}), first);
}

TEST(CoschedTest, BadInputIsOneLine) {
  const Case one("cnn,train,1,1,0,0,1,1\nvgg99,train,1,1,0,0,1,1\n");
  const TestFolder folder;
  const std::string curves = folder.Write("c.json", R"({"curves": [{"network": 1}]})");
  const std::string text = folder.Write("t.json", "no json");
  const std::vector<RefusedCommand> refused = {
      {{"cosched", "--policy", "lottery"}, "--policy lottery: there is no such policy: name all"},
      {{"cosched", "--trace", one.Path("trace.csv")}, "trace.csv:3: "},
      {{"cosched", "--trace", one.Path("none.csv")}, "none.csv"},
      {{"cosched", "--trace", one.Path("trace.csv"), "--jobs", "3"},
       "--jobs: has no effect with --trace"},
      {{"cosched", "--cpus", "4096"}, "--cpus 4096: this process may use"},
      {{"cosched", "--jobs", "0"}, "--jobs 0"},
      {{"cosched", "--load", "0"}, "--load 0"},
      {{"cosched", "--jobs", "5000"}, "take --simulate"},
      {{"cosched", "--simulate", "--cpus", "4", "--part-width", "5"}, "--part-width 5: must be 1"},
      {{"cosched", "--curves", curves}, "c.json: curves[0]: network: is not text"},
      {{"cosched", "--curves", text}, "t.json: is not JSON"},
      {{"cosched", "--timeout", "0s"}, "--timeout"}};
  for (const RefusedCommand& each : refused) ExpectRefused(each);
}

TEST(CoschedControlTest, RepliesThatAreNotValidAreAbsent) {
  const auto good =
      ParseControlReply(R"({"ok":true,"width":2,"wanted":1,"min":1,"max":2,"iterations":7})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->width, 2);
  EXPECT_EQ(good->wanted, 1);
  EXPECT_EQ(good->iterations, 7);
  EXPECT_EQ(ParseControlReply(R"({"ok":false,"error":"a\nb"})")->error, "a\\nb");
  for (const std::string bad :
       {"", "{", "[]", "7", R"({"ok":1})", R"({"ok":true})",
        R"({"ok":true,"width":-1,"wanted":1,"iterations":1})",
        R"({"ok":true,"width":1.5,"wanted":1,"iterations":1})",
        R"({"ok":true,"width":99999999999,"wanted":1,"iterations":1})",
        R"({"ok":true,"width":1,"wanted":1,"iterations":99999999999999999999})"}) {
    EXPECT_FALSE(ParseControlReply(bad)) << bad;
  }
  EXPECT_FALSE(ParseControlReply(std::string(5000, '[')));
}

// Real jobs, measured and run. The makespans depend on the machine's other load.
TEST(CoschedTest, RealJobs) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "this process may use one CPU";
  if (RunProgram({"malleable", "--help"}).exit_status != 0) {
    GTEST_SKIP() << "this program has no command malleable";
  }
  const Case one("lenet5,infer,4,200,0,0,1,2\nlenet5,infer,4,100,0.1,0,1,2\n");
  const Outcome outcome =
      RunProgram({"cosched", "--policy", "equal", "--trace", one.Path("trace.csv"), "--window",
                  "0.02s", "--no-speed-check", "--json", one.Path("out.json")});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  for (const nlohmann::json& policy : one.Result()["policies"]) {
    for (const nlohmann::json& job : policy["jobs"]) EXPECT_EQ(job["status"], "OK") << job;
  }
  one.ExpectNothingLeft();
}

}  // namespace
}  // namespace topdnn
