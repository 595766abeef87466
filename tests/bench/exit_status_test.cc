// The end of a run whose output cannot be written, that can measure nothing, or that reaches a
// limit of the process: it ends at once, with one line that gives the reason, and the documented
// status.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "harness/topdown/perf_events.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// A command that fits any machine and takes a second.
const std::string kProfile =
    " profile lenet5 --infer --batch 2 --iterations 3 --data synthetic --counters none"
    " --threads 1 ";
// A command that hangs is ended with status 124.
const std::string kBounded = "timeout 120 ";

// Beside other work, one line says that the machine is busy.
std::string WithoutBusyLine(std::string output) {
  const std::size_t line = output.find("topdnn: the machine is busy");
  if (line != std::string::npos) output.erase(line, output.find('\n', line) + 1 - line);
  return output;
}

// Without that one.
std::size_t LinesOf(const std::string& output) {
  const std::string text = WithoutBusyLine(output);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::size_t FilesIn(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class FullOutputTest : public testing::TestWithParam<std::string> {};

TEST_P(FullOutputTest, IsAnError) {
  const Outcome outcome = RunShell(kBounded + QuotedProgram() + GetParam() + " >/dev/full");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("No space left on device"));
  EXPECT_EQ(LinesOf(outcome.output), 1u) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(Commands, FullOutputTest,
                         testing::Values(" --help", " --version", " profile --help",
                                         " plan lenet5 --batch 2", kProfile,
                                         " bench --benchmark_list_tests=true"));

// With --json - the table goes to standard error. It is printed, and the last line is the error.
TEST(FullOutputTest, JsonThatCannotBeWrittenLosesNoTable) {
  const Outcome outcome =
      RunShell(kBounded + QuotedProgram() + kProfile + "--no-isolated --json - >/dev/full");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("GFLOP/s"));
  const std::size_t last = outcome.output.rfind('\n', outcome.output.size() - 2) + 1;
  EXPECT_THAT(outcome.output.substr(last), HasSubstr("No space left on device"));
}

// Every other output is written, and the table is printed. (--json comes before --record.)
TEST(FullOutputTest, AnOutputThatCannotBeWrittenLosesNoOther) {
  const TestFolder folder;
  const std::string csv = folder.path() / "out.csv";
  const std::string record = folder.path() / "record.json";
  const Outcome outcome =
      RunShell(kBounded + QuotedProgram() + kProfile + "--no-isolated --json /dev/full --csv " +
               Quoted(csv) + " --record " + Quoted(record));
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("topdnn: cannot write '/dev/full': No space left"));
  EXPECT_THAT(outcome.output, HasSubstr("GFLOP/s"));  // the table
  EXPECT_TRUE(std::filesystem::exists(csv));
  EXPECT_TRUE(ReadJson(record).is_object());
}

TEST(FullOutputTest, AFullDiskIsAnErrorForRecordedCountsToo) {
  const TestFolder folder;
  const auto events = folder.Write("counts.json", R"({"events": {"TOPDOWN.SLOTS": 6000}})");
  const Outcome outcome = RunShell(QuotedProgram() + " topdown --cpu sapphire_rapids --events " +
                                   Quoted(events.string()) + " --json - >/dev/full");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("input/output error"));
}

TEST(ClosedOutputTest, IsAnErrorAndNoFileIsWritten) {
  const TestFolder folder;
  const std::string json = folder.path() / "o.json";
  const Outcome outcome = RunShell(QuotedProgram() + kProfile + "--json " + Quoted(json) + " >&-");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_EQ(ReadJson(json)["schema"], 1);
}

// (dash has no pipefail: the program's status goes to a file)
TEST(BrokenPipeTest, AReaderThatEndsIsNotAnError) {
  const TestFolder folder;
  const std::string json = folder.path() / "o.json";
  for (const std::string trap : {"", "trap '' PIPE; "}) {
    const std::string status = folder.path() / "status";
    const Outcome outcome = RunShell(trap + "{ " + QuotedProgram() + kProfile + "--json " +
                                     Quoted(json) + "; echo $? >" + Quoted(status) + "; } | true");
    EXPECT_EQ(WithoutBusyLine(outcome.output), "");
    EXPECT_EQ(ReadJson(status), 128 + SIGPIPE) << trap;
    EXPECT_EQ(ReadJson(json)["schema"], 1);
  }
}

// The file is written before the table, whose reader may have ended.
TEST(BrokenPipeTest, AFileIsWrittenBeforeTheTable) {
  const TestFolder folder;
  const std::string json = folder.path() / "o.json";
  for (const std::string command : {" networks", " machine", " compare a.json a.json"}) {
    if (command.starts_with(" compare")) {
      ASSERT_EQ(RunShell("cd " + Quoted(folder.path().string()) + " && " + QuotedProgram() +
                         kProfile + "--json a.json")
                    .exit_status,
                kExitGood);
    }
    std::filesystem::remove(json);
    RunShell("cd " + Quoted(folder.path().string()) + "; " + QuotedProgram() + command +
             " --json " + Quoted(json) + " | true");
    EXPECT_TRUE(std::filesystem::exists(json)) << command;
  }
}

TEST(BrokenPipeTest, TheFileOfBenchHasTheRowsThatNobodyReads) {
  const TestFolder folder;
  const std::string json = folder.path() / "o.json";
  RunShell(QuotedProgram() + " bench --problem relu/1x16x14x14 --benchmark_min_time=0.001s" +
           " --benchmark_out=" + Quoted(json) + " | true");
  EXPECT_GT(ReadJson(json)["benchmarks"].size(), 1U);
}

TEST(FullDiskTest, TheFileIsNamedAndTheStatusIsThatOfAFailure) {
  const Outcome outcome = RunShell(QuotedProgram() + kProfile + "--json /dev/full");
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("cannot write '/dev/full'"));
  EXPECT_THAT(outcome.output, HasSubstr("input/output error"));
}

TEST(NothingMeasuredTest, CountersOfAMissingPmuAreStatusThree) {
  if (OpenPerf({}, PerfSetting::Here()).source) GTEST_SKIP() << "this machine has a PMU";
  const Outcome outcome = RunShell(
      QuotedProgram() + " profile lenet5 --infer --batch 2 --counters perf --iterations 3");
  EXPECT_EQ(outcome.exit_status, kExitNothing) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("--counters perf: nothing can be counted: "));
  EXPECT_EQ(LinesOf(outcome.output), 1u) << outcome.output;
}

// The line is printed before the long work begins. The test ends the run when it has the line.
TEST(LongRunTest, IsAnnouncedOnceWithoutATerminal) {
  const TestFolder folder;
  const std::string said = Quoted((folder.path() / "said").string());
  // (on this signal `timeout` kills the program; the file exists before `grep` looks)
  const Outcome outcome = RunShell(
      ": >" + said + "; timeout --signal=KILL 120 " + QuotedProgram() +
      " profile lenet5 --infer --iterations 100000000 --data synthetic --counters none 2>" + said +
      " >/dev/null & for i in $(seq 400); do grep -q takes " + said +
      " && break; sleep 0.2; done; kill -ALRM $!; wait; cat " + said);
  EXPECT_THAT(outcome.output, HasSubstr("topdnn: this takes about "));
  EXPECT_EQ(LinesOf(outcome.output), 1u) << outcome.output;
}

// The program's folder has no Eigen library, as on a machine with another ISA than that of the
// build.
TEST(MissingLibraryTest, OneLineSaysWhatToBuild) {
  const TestFolder folder;
  const auto program = folder.path() / "bin" / "topdnn";
  std::filesystem::create_directory(program.parent_path());
  std::filesystem::copy_file(TOPDNN_BINARY_DIR "/topdnn", program);
  const Outcome outcome = RunShell(Quoted(program.string()) + " plan lenet5 --backend eigen");
  EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("build the target topdnn_eigen_libraries"));
  EXPECT_EQ(LinesOf(outcome.output), 1u) << outcome.output;
}

struct Limit {
  std::string shell;  // the shell command that sets the limit
  std::string command;
  int status = 0;
  std::string message;
};

void PrintTo(const Limit& limit, std::ostream* out) { *out << limit.shell << limit.command; }

class LimitTest : public testing::TestWithParam<Limit> {};

TEST_P(LimitTest, EndsInOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers reserve terabytes of addresses, and write files when they start";
#endif
  const TestFolder folder;
  const TestFolder cache;
  const Limit& limit = GetParam();
  const Outcome outcome =
      RunShell("cd " + Quoted(folder.path().string()) +
               " && export XDG_CACHE_HOME=" + Quoted(cache.path().string()) + " && " + limit.shell +
               "; " + kBounded + QuotedProgram() + limit.command);
  EXPECT_EQ(outcome.exit_status, limit.status) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(limit.message));
  EXPECT_EQ(FilesIn(folder.path()), 0u);
}

// (dash counts file sizes in blocks of 512 bytes)
INSTANTIATE_TEST_SUITE_P(
    FileSizes, LimitTest,
    testing::Values(Limit{"ulimit -f 1", kProfile + "--json o.json", kExitWrong, "ulimit -f"},
                    Limit{"ulimit -f 1", " step lenet5 --batch 2 --threads 1 --dump o.npz",
                          kExitWrong, "ulimit -f"},
                    Limit{"ulimit -f 1", " export lenet5 o.onnx", kExitWrong, "ulimit -f"}));

// (in KiB; OpenBLAS alone maps 128 MiB per thread when it starts)
INSTANTIATE_TEST_SUITE_P(
    Memory, LimitTest,
    testing::Values(Limit{"ulimit -v 150000", " plan lenet5", kExitWrong, "out of memory"},
                    Limit{"ulimit -v 200000", " plan lenet5", kExitWrong, "out of memory"},
                    Limit{"ulimit -d 100000", " plan lenet5", kExitWrong, "ulimit -d"}));

INSTANTIATE_TEST_SUITE_P(Teams, LimitTest,
                         testing::Values(Limit{"export OMP_THREAD_LIMIT=1",
                                               " plan lenet5 --threads 3 --oversubscribe",
                                               kExitUsage, "OMP_THREAD_LIMIT"},
                                         Limit{"export OMP_STACKSIZE=100000G",
                                               " plan lenet5 --threads 3 --oversubscribe",
                                               kExitUsage, "take fewer --threads"}));

// An interrupt arrives while matrix products run. The finished steps are reported. On a busy
// machine the first step may not be finished after three seconds; then the interrupt comes later.
TEST(InterruptTest, EndsTheRunAndReportsFinishedSteps) {
  Outcome outcome;
  for (const char* const seconds : {"3", "12", "40"}) {
    outcome = RunShell("timeout --preserve-status -s INT " + std::string(seconds) + " " +
                       QuotedProgram() +
                       " profile lenet5 --train --batch 8 --data synthetic --seconds 100 "
                       "--counters none --threads 1");
    EXPECT_EQ(outcome.exit_status, kExitInterrupted) << outcome.output;
    if (!WithoutBusyLine(outcome.output).empty()) break;
  }
  EXPECT_THAT(outcome.output, HasSubstr("step: "));
}

}  // namespace
}  // namespace topdnn
