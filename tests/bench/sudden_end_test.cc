// The end of a process that crashes, hangs or gets SIGTERM in a call that does not return: one line
// names what ran, the status is the documented one, and no temporary file is left. The measurements
// run in a forked process.

#include "bench/command_line/sudden_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "harness/files/atomic_file.h"
#include "harness/measure/measure.h"
#include "harness/measure/watched_run.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerReports = true;  // the sanitizer's handler reports the crash
#else
constexpr bool kSanitizerReports = false;
#endif

struct ProcessEnd {
  int exit_status = -1;
  int signal = 0;
  std::string line{};
  double seconds = 0;
};

// Runs `work` in a forked process, which then ends with status 0. `meanwhile` gets its id, once it
// has written a first byte (SayReady).
ProcessEnd EndOfProcess(const std::function<void()>& work,
                        const std::function<void(pid_t)>& meanwhile = {}) {
  std::array<int, 2> pipe_ends;
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    alarm(20);
    work();
    _exit(0);
  }
  close(pipe_ends[1]);
  ProcessEnd end;
  if (meanwhile) {
    char ready = 0;
    EXPECT_EQ(read(pipe_ends[0], &ready, 1), 1);
  }
  const auto begin = std::chrono::steady_clock::now();
  if (meanwhile) meanwhile(child);
  std::array<char, 2048> text;
  for (ssize_t n = 0; (n = read(pipe_ends[0], text.data(), text.size())) > 0;) {
    end.line.append(text.data(), static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

void SayReady() { EXPECT_EQ(write(STDERR_FILENO, "r", 1), 1); }

// Measures two stages, of which the second one calls `late` from its 9th call on.
void MeasureWith(const std::function<void()>& late) {
  int calls = 0;
  auto good = [] {};
  auto bad = [&] {
    if (++calls > 8) late();
  };
  const std::vector<TimedStage> stages = {{"conv1", Action::Of(good)}, {"conv2", Action::Of(bad)}};
  MeasureOptions options;
  options.iterations = 100;
  options.most_warmup_iterations = 3;
  MeasureSequence(stages, options);
}

void SpinForever() {
  for (volatile bool forever = true; forever;) continue;
}

TEST(SuddenEndTest, ACrashNamesTheStage) {
  if (kSanitizerReports) GTEST_SKIP() << "a sanitizer reports crashes itself";
  const ProcessEnd end = EndOfProcess([] {
    CatchCrashes();
    MeasureWith([] { raise(SIGSEGV); });
  });
  EXPECT_EQ(end.exit_status, kExitWrong);
  EXPECT_EQ(end.line, "topdnn: conv2 crashed (SIGSEGV)\n");
  EXPECT_TRUE(IsCrashLine(end.line));
  EXPECT_FALSE(IsCrashLine("topdnn: conv2 hangs"));
}

TEST(SuddenEndTest, OutsideOfAStageTheInnermostNameIsUsed) {
  if (kSanitizerReports) GTEST_SKIP() << "a sanitizer reports crashes itself";
  const auto crash = [](const char* name) {
    return EndOfProcess([name] {
      CatchCrashes();
      const WatchedRun outer("the check");
      const WatchedRun inner(name);
      abort();
    });
  };
  EXPECT_EQ(crash("a\nb").line, "topdnn: a?b crashed (SIGABRT)\n");
  EXPECT_EQ(crash("").line, "topdnn: the check crashed (SIGABRT)\n");
}

TEST(SuddenEndTest, AForkedProcessAndASignalFromOutsideAreNoCrashOfTheProgram) {
  const ProcessEnd sent = EndOfProcess(
      [] {
        CatchCrashes();
        SayReady();
        for (;;) pause();
      },
      [](pid_t child) { kill(child, SIGFPE); });
  EXPECT_EQ(sent.signal, kSanitizerReports ? 0 : SIGFPE);
  const ProcessEnd forked = EndOfProcess([] {
    CatchCrashes();
    const pid_t child = fork();
    if (child == 0) raise(SIGBUS);
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFSIGNALED(status) ? 7 : 8);
  });
  EXPECT_EQ(forked.exit_status, kSanitizerReports ? 8 : 7) << forked.line;
}

TEST(SuddenEndTest, AHangNamesTheStage) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delays a signal until the program calls a library";
#endif
  constexpr int kPoll = 20;
  const ProcessEnd end = EndOfProcess([] {
    const HangWatch watch(/*warm=*/false, kPoll);
    MeasureWith(SpinForever);
  });
  EXPECT_EQ(end.exit_status, kExitWrong);
  EXPECT_THAT(end.line, StartsWith("topdnn: conv2 hangs: "));
}

// A stage that is always slow does not hang, nor does one outside of the scope.
TEST(SuddenEndTest, ASlowStageIsNoHang) {
  constexpr int kPoll = 5;
  const ProcessEnd slow = EndOfProcess([] {
    const HangWatch watch(/*warm=*/false, kPoll);
    auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
    const std::vector<TimedStage> stages = {{"conv1", Action::Of(sleep)}};
    MeasureOptions options;
    options.iterations = 5;
    options.most_warmup_iterations = 1;
    MeasureSequence(stages, options);
  });
  EXPECT_EQ(slow.exit_status, 0) << slow.line;
  const ProcessEnd outside = EndOfProcess([] {
    { const HangWatch watch(/*warm=*/true, kPoll); }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  EXPECT_EQ(outside.exit_status, 0) << outside.line;
}

TEST(SuddenEndTest, SigtermEndsAnEndlessLoopWithinASecond) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delays a signal until the program calls a library";
#endif
  const TestFolder folder;
  const std::string path = folder.path() / "result.json";
  const ProcessEnd end = EndOfProcess(
      [&path] {
        InterruptFlag();
        const AtomicFile file(path);
        MeasureWith([] {
          SayReady();
          SpinForever();
        });
      },
      [](pid_t child) { kill(child, SIGTERM); });
  EXPECT_EQ(end.exit_status, kExitInterrupted);
  EXPECT_THAT(end.line, HasSubstr("topdnn: conv2 was running when SIGTERM ended it\n"));
  EXPECT_GT(end.seconds, 0.8);  // the command had time to notice it
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SuddenEndTest, ACommandThatNoticesSigtermMayFinish) {
  const ProcessEnd end = EndOfProcess(
      [] {
        InterruptFlag();
        SayReady();
        while (!Interrupted()) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        _exit(9);
      },
      [](pid_t child) { kill(child, SIGTERM); });
  EXPECT_EQ(end.exit_status, 9) << end.line;
}

// Before a command asks for the flag; and for the second one after it.
TEST(SuddenEndTest, AnInterruptEndsAtOnceAndLeavesNoFile) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delays a signal until the program calls a library";
#endif
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const bool asks : {false, true}) {
      const TestFolder folder;
      const std::string path = folder.path() / "result.json";
      const ProcessEnd end = EndOfProcess(
          [&path, asks] {
            // (an earlier test of this process may have asked)
            for (const int usual : {SIGINT, SIGTERM}) {
              if (!asks) std::signal(usual, SIG_DFL);
            }
            EndOnInterrupt();
            if (asks) InterruptFlag();
            const AtomicFile file(path);
            const RemovedFile of_a_library(path + ".map");
            std::ofstream(of_a_library.path()) << "names\n";
            SayReady();
            SpinForever();
          },
          [signal, asks](pid_t child) {
            kill(child, signal);
            if (!asks) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            kill(child, signal);
          });
      EXPECT_EQ(end.exit_status, kExitInterrupted) << signal << asks;
      EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << signal << asks;
    }
  }
}

}  // namespace
}  // namespace topdnn
