// `topdnn trace --live`: an unchanged program with oneDNN, one that forks, one that is killed, and
// programs that cannot be measured.

#include "tests/bench/live/live_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

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
  // (the number of reorders depends on the CPU)
  const std::string count =
      Run("ONEDNN_VERBOSE=1 " + step + "log.npz | grep -c '^onednn_verbose,exec'").output;
  const int executed = std::stoi(count);
  EXPECT_GE(executed, 25);
  EXPECT_THAT(live.output,
              AllOf(HasSubstr("live: " + std::to_string(executed) + " primitives in 1 process"),
                    HasSubstr("convolution"), Not(HasSubstr("onednn_verbose"))));
  const nlohmann::json json = Result();
  EXPECT_EQ(json["primitives"], executed);
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
  EXPECT_EQ(json["live"]["tasks"], executed);
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

// A program that switches the log off. Its tasks have names since oneDNN 3.12.
TEST_F(LiveCommandTest, TasksWithoutALogAreMeasured) {
  const Outcome outcome = Live(kSample + " quiet > out.txt");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json json = Result();
  if (json["live"]["libraries"].empty()) GTEST_SKIP() << "this oneDNN is built without ITT tasks";
  const bool named = std::stoi(Text("out.txt")) >= 312;
  EXPECT_EQ(json["live"]["tasks_without_line"], 4);
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["primitive"], "reorder");
  EXPECT_EQ(json["rows"][0]["problem"], named ? "10x100" : "");
  EXPECT_EQ(json["rows"][0]["count"], 4);
  EXPECT_THAT(outcome.output,
              HasSubstr(named ? "ITT's metadata name them" : "rows are kinds of primitives"));
}

// A program that calls ITT as oneDNN 3.12 does: a line in its task, none, one in an inner task, and
// a task that is not described. And as PyTorch does if it is built with ITT.
TEST_F(LiveCommandTest, TheMetadataOfATaskAreItsNameIfItHasNoLine) {
  folder_.Write("client.c", R"(
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench/live/collector_itt.h"
static void (*begin)(struct IttDomain*, struct IttId, struct IttId, struct IttHandle*);
static void (*end)(struct IttDomain*);
static void (*add)(struct IttDomain*, struct IttHandle*, ...);
static struct IttDomain* (*make_domain)(const char*);
static struct IttHandle* (*make_handle)(const char*);
static struct IttDomain *executions, *creations, *pytorch;
static void Begin(struct IttDomain* domain, const char* description) {
  const struct IttId none = {{0, 0, 0}};
  begin(domain, none, none, make_handle("reorder"));
  if (description) add(domain, make_handle("%s"), description);
}
static void Range(const char* name) {
  const struct IttId none = {{0, 0, 0}};
  begin(pytorch, none, none, make_handle(name));
}
int main(void) {
  static struct IttFunction functions[] = {
      {"__itt_task_begin", (void**)&begin},
      {"__itt_task_end", (void**)&end},
      {"__itt_formatted_metadata_add", (void**)&add},
      {"__itt_domain_create", (void**)&make_domain},
      {"__itt_string_handle_create", (void**)&make_handle},
      {NULL}};
  static struct IttGlobal itt = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
                                 .major = 3, .functions = functions};
  void* library = dlopen(getenv("INTEL_LIBITTNOTIFY64"), RTLD_NOW);
  if (!library) return 1;
  ((void (*)(struct IttGlobal*, int))dlsym(library, "__itt_api_init"))(&itt, 0);
  executions = make_domain("dnnl::primitive::execute");
  creations = make_domain("dnnl::primitive::create");
  pytorch = make_domain("PyTorch");
  Begin(creations, "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,9x9");
  end(creations);
  Begin(executions, "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,1x1");
  printf("onednn_verbose,v1,primitive,exec,%s,2\n",
         "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,2x2");
  end(executions);
  Begin(executions, "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,3x3");
  printf("onednn_verbose,v1,primitive,create:cache_hit,%s,2\n",
         "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,4x4");
  add(creations, make_handle("%s"), "cpu,reorder,of no task,undef,,,,4x4");
  end(executions);
  add(executions, make_handle("%s"), "cpu,reorder,of no task,undef,,,,5x5");
  Begin(executions, "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,6x6");
  Begin(executions, "cpu,reorder,jit:uni,undef,src:f32::blocked:ab::f0,,,7x7");
  end(executions);
  end(executions);
  Begin(executions, NULL);
  end(executions);
  end(pytorch); /* of a range that began before */
  Range("loop"); /* (of the program, not an operator) */
  Range("aten::conv2d");
  Range("aten::convolution");
  Begin(executions, NULL);
  end(executions);
  end(pytorch);
  end(pytorch);
  Range("aten::relu");
  end(pytorch);
  end(pytorch);
  puts("end");
  return 0;
})");
  ASSERT_EQ(Run("cc -I " + Quoted(TOPDNN_SOURCE_DIR) + " client.c -o client").exit_status, 0);
  const Outcome outcome = Live("./client > out.txt");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_EQ(Text("out.txt"), "end\n");
  const nlohmann::json json = Result();
  EXPECT_EQ(json["live"]["tasks"], 6);
  EXPECT_EQ(json["live"]["tasks_without_line"], 5);
  std::map<std::string, int> runs;
  for (const nlohmann::json& row : json["rows"]) {
    runs[TextOf(row, "problem") + TextOf(row, "operator")] = row["count"];
  }
  // (the outer task lost its description to the inner one)
  EXPECT_THAT(runs, ElementsAre(Pair("", 2), Pair("2x2", 1), Pair("3x3", 1), Pair("7x7", 1),
                                Pair("aten::conv2d", 1)));
  EXPECT_THAT(OperatorsOf(json), ElementsAre(Pair("aten::conv2d", 1), Pair("aten::relu", 1)));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("2 primitives without a line: oneDNN's log was off"),
                                    HasSubstr("3 primitives without a line: this oneDNN has no")));
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
  EXPECT_THAT(outcome.output, ContainsRegex("onednn_verbose,(v1,primitive,)?exec,cpu,reorder"));
  EXPECT_THAT(Text("table.txt"), HasSubstr("live: 2 primitives"));
}

// oneDNN 3 prints errors alone with this level, and earlier versions nothing.
TEST_F(LiveCommandTest, ExecutionsAreSeenAtAnotherLevelOfTheLog) {
  const Outcome outcome = Run("ONEDNN_VERBOSE=error " + kBounded + " trace --live --no-replay -- " +
                              kSample + " 2> table.txt");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_THAT(Text("table.txt"), HasSubstr("live: 2 primitives"));
}

TEST_F(LiveCommandTest, AResultOnStandardOutputStandsThereAlone) {
  const Outcome outcome = Run(kBounded + " trace --live --no-replay --json - -- sh -c 'echo own; " +
                              kSample + "' 2> table.txt");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_TRUE(nlohmann::json::accept(outcome.output)) << outcome.output;
  EXPECT_THAT(Text("table.txt"), HasSubstr("own\n"));
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
