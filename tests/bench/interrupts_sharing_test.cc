// SIGINT and SIGTERM at random moments of whole commands: status 130, whole files, no temporary
// file and no process left. TOPDNN_INTERRUPTS=30 tries that many moments of each command.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;

struct InterruptedCommand {
  const char* name;
  const char* arguments;  // for the shell, after the program's name
  double most_seconds;    // of the moment
  int cpus = 1;
};

void PrintTo(const InterruptedCommand& command, std::ostream* stream) { *stream << command.name; }

const InterruptedCommand kInterrupted[] = {
    {"auto",
     "profile cnn --infer --batch 2 --backend auto --seconds 0.5 --counters none --threads 1 "
     "--json out.json --csv out.csv",
     2.5},
    {"profile", "profile lenet5 --train --batch 8 --seconds 1 --json out.json --record r.json", 2},
    {"sweep", "sweep --networks lenet5 --batch 2,4 --seconds 0.5 --out study", 2.5},
    {"corun",
     "corun --workload 'lenet5 infer batch 2 threads 1' 'lenet5 infer batch 2 threads 1' "
     "--rounds 20 --window 0.1s --counters none --json out.json",
     2, 2},
    {"train", "train lenet5 --data synthetic --epochs 50 --threads 1 --save out.onnx", 1.5},
    {"export", "export resnet50 out.onnx", 1.5}};

class InterruptsTest : public testing::TestWithParam<InterruptedCommand> {};

// A process in its own group, whose orphans become children of this one.
int InterruptedStatus(const InterruptedCommand& command, const fs::path& folder, int signal,
                      double seconds, double& took) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string line = "cd " + Quoted(folder.string()) +
                           " && exec env XDG_CACHE_HOME=" + Quoted((folder / "cache").string()) +
                           " " + QuotedProgram() + " " + command.arguments + " >log.txt 2>&1";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);  // a shell starts a program in the background with it ignored
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const auto begin = std::chrono::steady_clock::now();
  kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string LogText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_P(InterruptsTest, EndWithStatus130AndWholeFiles) {
  const InterruptedCommand& command = GetParam();
  if (static_cast<int>(std::thread::hardware_concurrency()) < command.cpus) {
    GTEST_SKIP() << "needs " << command.cpus << " CPUs";
  }
  const char* const wanted = std::getenv("TOPDNN_INTERRUPTS");
  const int tries = wanted == nullptr ? 2 : std::atoi(wanted);
  std::mt19937 random(7);
  // The shell takes some milliseconds to start the program.
  std::uniform_real_distribution<double> moments(0.1, command.most_seconds);
  for (int i = 0; i < tries; ++i) {
    const TestFolder folder;
    const double moment = moments(random);
    const int signal = i % 2 == 0 ? SIGINT : SIGTERM;
    SCOPED_TRACE(testing::Message() << "signal " << signal << " after " << moment << " s");
    double took = 0;
    const int status = InterruptedStatus(command, folder.path(), signal, moment, took);
    const std::string log = LogText(folder.path() / "log.txt");
    // (on a fast machine it may have ended before)
    if (status != kExitGood || took > 0.05) {
      EXPECT_EQ(status, kExitInterrupted) << log;
    }
    EXPECT_EQ(log.find("internal error"), std::string::npos) << log;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".topdnn-")) << entry.path();
      if (entry.path().extension() == ".json") {
        EXPECT_NO_THROW(ReadJson(entry.path())) << entry.path();
      }
    }
    EXPECT_TRUE(Becomes([] { return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }))
        << "a process is left";
  }
}

INSTANTIATE_TEST_SUITE_P(Commands, InterruptsTest, testing::ValuesIn(kInterrupted),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace topdnn
