// `topdnn trace --live`: an unchanged program with oneDNN, one that forks, one that is killed, and
// programs that cannot be measured.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kProgram = Quoted(TOPDNN_BINARY_DIR "/topdnn");
const std::string kBounded = "timeout 60 " + kProgram;
const std::string kSample = Quoted(TOPDNN_BINARY_DIR "/tests/live_sample");  // sample/sample.cc

class LiveCommandTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's runtime must be the first library of the program";
#endif
  }
  Outcome Run(const std::string& command) const {
    return RunShell("cd " + Quoted(folder_.path().string()) + " && " + command);
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(folder_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  nlohmann::json Result() const { return nlohmann::json::parse(Text("l.json")); }
  Outcome Live(const std::string& command) const {
    return Run("OMP_NUM_THREADS=1 " + kBounded + " trace --live --no-replay --json l.json -- " +
               command);
  }

  TestFolder folder_;
};

TEST_F(LiveCommandTest, ATrainingStepIsTheSameAndEachTaskHasItsLine) {
  const std::string step = kProgram + " step lenet5 --batch 8 --threads 1 --dump ";
  const Outcome alone = Run(step + "alone.npz > alone.txt");
  ASSERT_EQ(alone.exit_status, 0) << alone.output;
  const Outcome live =
      Run(kBounded + " trace --live --no-replay --json l.json -- " + step + "live.npz > live.txt");
  ASSERT_EQ(live.exit_status, 0) << live.output;
  EXPECT_EQ(Run("python3 -c 'import zipfile as z; a, b = [{n: f.read(n) for n in f.namelist()} for "
                "f in (z.ZipFile(\"alone.npz\"), z.ZipFile(\"live.npz\"))]; assert a == b and a'")
                .exit_status,
            0);
  // The names of the dumps are the only difference.
  std::string expected = Text("alone.txt");
  for (std::size_t at = 0; (at = expected.find("alone.npz", at)) != std::string::npos;) {
    expected.replace(at, 9, "live.npz");
  }
  EXPECT_EQ(Text("live.txt"), expected);
  EXPECT_THAT(live.output, AllOf(HasSubstr("live: 30 primitives in 1 process"),
                                 HasSubstr("convolution"), Not(HasSubstr("onednn_verbose"))));
  const nlohmann::json json = Result();
  EXPECT_EQ(json["primitives"], 30);
  EXPECT_EQ(json["live"]["lost"], 0);
  double share = 0;
  for (const nlohmann::json& row : json["rows"]) {
    EXPECT_GT(row["framework_seconds"].get<double>(), 0) << row;
    EXPECT_TRUE(row["measured_seconds"].is_null());
    share += row["live_share"].get<double>();
  }
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 1);
  if (json["live"]["libraries"].empty()) GTEST_SKIP() << "this oneDNN is built without ITT tasks";
  EXPECT_EQ(json["live"]["tasks"], 30);
  EXPECT_EQ(json["live"]["tasks_without_line"], 0);
  EXPECT_EQ(json["live"]["lines_without_task"], 0);
  for (const nlohmann::json& row : json["rows"]) {
    EXPECT_GE(row["live_seconds"].get<double>(), row["framework_seconds"].get<double>() - 1e-6);
    EXPECT_EQ(row["overlapped"], 0);
    EXPECT_GT(row["counters"]["task-clock"].get<double>(), 0);
    EXPECT_FALSE(row["counters"]["page-faults"].is_null());
  }
}

TEST_F(LiveCommandTest, ForkedProcessesAndLaterThreadsAreMeasured) {
  const Outcome outcome = Live(kSample + " fork > out.txt");
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_THAT(outcome.output, HasSubstr("ended with status 7"));
  EXPECT_EQ(Text("out.txt"), "begin end\n");
  const nlohmann::json json = Result();
  EXPECT_EQ(json["primitives"], 15);
  EXPECT_EQ(json["live"]["processes"], 3);
  EXPECT_EQ(json["rows"].size(), 1u);
}

TEST_F(LiveCommandTest, AProgramThatIsKilledOrClosesItsOutputKeepsItsRows) {
  const Outcome outcome = Live(kSample + " kill");
  EXPECT_EQ(outcome.exit_status, 128 + SIGKILL);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("was ended by signal 9"), HasSubstr("live: 6 primitives")));
  EXPECT_EQ(Result()["primitives"], 6);
}

TEST_F(LiveCommandTest, TasksBesideEachOtherAreMarked) {
  const Outcome outcome = Live(kSample + " overlap");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json json = Result();
  EXPECT_EQ(json["primitives"].get<int>() + json["live"]["lost"].get<int>(), 40000);
  EXPECT_EQ(json["live"]["lost"], 0);
  if (json["live"]["tasks"] == 0) GTEST_SKIP() << "this oneDNN is built without ITT tasks";
  EXPECT_GT(json["rows"][0]["overlapped"], 0);
  EXPECT_GT(json["live"]["steps"]["series"].size(), 10u);
}

// The library of such a module finds the C library's printf before the preloaded one.
TEST_F(LiveCommandTest, AModuleThatIsBoundDeeplyIsMeasured) {
  folder_.Write("load.c", R"(
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int count, char** words) {
  void* module = dlopen(words[count - 1], RTLD_NOW | RTLD_DEEPBIND);
  ((void (*)(void))dlsym(module, "ExecutePrimitive"))();
  ((void (*)(void))dlsym(module, "ExecutePrimitive"))();
  return 0;
})");
  ASSERT_EQ(Run("cc load.c -o load").exit_status, 0);
  const Outcome outcome =
      Live("./load " + Quoted(TOPDNN_BINARY_DIR "/tests/liblive_module.so") + " > out.txt");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json json = Result();
  if (json["live"]["libraries"].empty()) GTEST_SKIP() << "this oneDNN is built without ITT tasks";
  EXPECT_EQ(json["live"]["tasks"], 2);
  EXPECT_EQ(json["live"]["tasks_without_line"], 0);
}

TEST_F(LiveCommandTest, EventsOfPerfAreCountedForEachRow) {
  const Outcome outcome = Run(kBounded +
                              " trace --live --no-replay --counters perf --metrics page-faults "
                              "--json l.json -- " +
                              kSample);
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json row = Result()["rows"][0];
  if (row["counters"].is_null()) GTEST_SKIP() << "this oneDNN is built without ITT tasks";
  if (outcome.output.find("were not counted") != std::string::npos) {
    GTEST_SKIP() << "perf counts nothing here";
  }
  // Both the kernel and perf count the faults of the process; perf those in user mode.
  EXPECT_LE(row["counters"]["perf/page-faults"], row["counters"]["page-faults"]);
}

// A user who asks for oneDNN's log gets it.
TEST_F(LiveCommandTest, TheLogIsPassedOnIfTheUserAskedForIt) {
  const Outcome outcome = Run("ONEDNN_VERBOSE=1 " + kBounded + " trace --live --no-replay -- " +
                              kSample + " 2> table.txt");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("onednn_verbose,exec,cpu,reorder"));
  EXPECT_THAT(Text("table.txt"), HasSubstr("live: 2 primitives"));
}

TEST_F(LiveCommandTest, WhatCannotBeMeasuredIsRefusedInOneLine) {
  folder_.Write("empty.c", "int main(void) { return 0; }\n");
  ASSERT_EQ(Run("cc -static empty.c -o static && cc empty.c -o empty").exit_status, 0);
  const std::string live = kBounded + " trace --live -- ";
  const Outcome refused = Run(live + "./static");
  EXPECT_EQ(refused.exit_status, kExitUsage);
  EXPECT_THAT(refused.output, HasSubstr("./static is a static program"));
  EXPECT_EQ(Run(live + "./missing").exit_status, kExitUsage);
  EXPECT_EQ(Run(live).exit_status, kExitUsage);
  const Outcome nothing = Run(live + "./empty");
  EXPECT_EQ(nothing.exit_status, kExitNothing);
  EXPECT_THAT(nothing.output, HasSubstr("no primitive of oneDNN was seen"));
  EXPECT_EQ(Run(live + "sh -c 'exit 5'").exit_status, 5);
  EXPECT_EQ(Run(kBounded + " trace --step 2 log").exit_status, kExitUsage);
}

}  // namespace
}  // namespace topdnn
