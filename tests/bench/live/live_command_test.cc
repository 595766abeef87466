// `topdnn trace --live`: an unchanged program with oneDNN, one that forks, one that is killed, and
// programs that cannot be measured.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

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
// a task that is not described.
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
static struct IttDomain *executions, *creations;
static void Begin(struct IttDomain* domain, const char* description) {
  const struct IttId none = {{0, 0, 0}};
  begin(domain, none, none, make_handle("reorder"));
  if (description) add(domain, make_handle("%s"), description);
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
  puts("end");
  return 0;
})");
  ASSERT_EQ(Run("cc -I " + Quoted(TOPDNN_SOURCE_DIR) + " client.c -o client").exit_status, 0);
  const Outcome outcome = Live("./client > out.txt");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_EQ(Text("out.txt"), "end\n");
  const nlohmann::json json = Result();
  EXPECT_EQ(json["live"]["tasks"], 5);
  EXPECT_EQ(json["live"]["tasks_without_line"], 4);
  std::map<std::string, int> runs;
  for (const nlohmann::json& row : json["rows"]) runs[row["problem"]] = row["count"];
  // (the outer task lost its description to the inner one)
  EXPECT_THAT(runs, ElementsAre(Pair("", 2), Pair("2x2", 1), Pair("3x3", 1), Pair("7x7", 1)));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("2 primitives without a line: oneDNN's log was off"),
                                    HasSubstr("2 primitives without a line: this oneDNN has no")));
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

// ---- --modules, with a package that has the parts of PyTorch's interface that its hooks use.

class LiveModulesTest : public LiveCommandTest {
 protected:
  void WriteTorch() const {
    folder_.Write("torch/__init__.py", R"(
class Node:
    def __init__(self):
        self.metadata = {}
class Tensor:
    def __init__(self, node=None):
        self.grad_fn = node
        self.hooks = []
    def register_hook(self, hook):
        self.hooks.append(hook)
from torch import autograd, nn
)");
    folder_.Write("torch/autograd.py", R"(
callbacks = []
class Engine:
    def queue_callback(self, callback):
        callbacks.append(callback)
class Variable:
    _execution_engine = Engine()
)");
    folder_.Write("torch/nn/__init__.py", "from torch.nn import modules\n");
    folder_.Write("torch/nn/modules/__init__.py", "from torch.nn.modules import module\n");
    folder_.Write("torch/nn/modules/module.py", R"(
before, after = [], []
def register_module_forward_pre_hook(hook):
    before.append(hook)
def register_module_forward_hook(hook):
    after.append(hook)
class Module:
    def __eq__(self, other):
        return True
    def named_modules(self, prefix=""):
        yield prefix, self
        for name, module in vars(self).items():
            if isinstance(module, Module):
                yield from module.named_modules(prefix + "." + name if prefix else name)
    def modules(self):
        return (module for _, module in self.named_modules())
    def __call__(self, *inputs):
        for hook in before:
            hook(self, inputs)
        output = self.forward(*inputs)
        for hook in after:
            hook(self, inputs, output)
        return output
)");
    folder_.Write("user/sitecustomize.py", "print('sitecustomize of the user')\n");
    folder_.Write("program.py", R"(
import ctypes, sys, sitecustomize
print(sitecustomize.__file__, [p for p in sys.path if "live_python" in p])
import torch
execute = ctypes.CDLL(sys.argv[1]).ExecutePrimitive
Module = torch.nn.modules.module.Module
tape = []
def operation():
    execute()
    tape.append(torch.Tensor(torch.Node()))
    return tape[-1]
class Layer(Module):
    def forward(self, x):
        if x == "wrong":
            execute()
            raise ValueError(x)
        return operation()
class Same(Module):
    def forward(self, x):
        return x
class Block(Module):
    def __init__(self):
        self.a, self.same, self.b = Layer(), Same(), Layer()
    def forward(self, x):
        return operation() if self.b(self.same(self.a(x))) else None
class Net(Module):
    def __init__(self):
        self.features, self.head = Block(), Layer()
    def forward(self, x):
        x = self.features(x)
        operation()
        return self.head(operation())
class InPlace(Module):
    def forward(self, x):
        x.grad_fn = torch.Node()
        return x
class Loss(Module):
    def __init__(self):
        self.layer, self.inplace = Layer(), InPlace()
    def forward(self, x):
        return self.inplace(self.layer(x))
def backward():
    while tape:
        gradient = tape.pop()
        for hook in gradient.hooks:
            hook(gradient)
        execute()
    for callback in torch.autograd.callbacks:
        callback()
net, other, loss = Net(), Net(), Loss()
execute()
loss(net(torch.Tensor()))
backward()
execute()
try:
    net("wrong")
except ValueError as error:
    print(error)
net(torch.Tensor())
execute()
tape.clear()
other.features(other.head(torch.Tensor()))
print(torch.__loader__, flush=True)
)");
  }
};

TEST_F(LiveModulesTest, EachPrimitiveHasItsModuleForwardAndBackward) {
  WriteTorch();
  const std::string program =
      " python3 -B program.py " + Quoted(TOPDNN_BINARY_DIR "/tests/liblive_module.so");
  const std::string path = "PYTHONPATH=$PWD/user:$PWD ";
  const Outcome alone = Run(path + program);
  ASSERT_EQ(alone.exit_status, 0) << alone.output;
  const Outcome live =
      Run(path + kBounded + " trace --live --no-replay --modules --json l.json --" + program +
          " 2> table.txt");
  ASSERT_EQ(live.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(live.output.substr(0, live.output.rfind("object at")),
            alone.output.substr(0, alone.output.rfind("object at")));
  EXPECT_THAT(live.output, HasSubstr("sitecustomize of the user"));
  EXPECT_THAT(live.output, HasSubstr("user/sitecustomize.py []"));
  EXPECT_THAT(Text("table.txt"), HasSubstr("features.a"));
  std::map<std::string, int> runs;
  const nlohmann::json json = Result();
  for (const nlohmann::json& row : json["rows"]) {
    runs[row["module"].is_null() ? "" : row["module"].get<std::string>()] = row["count"];
  }
  // Two forward passes and one backward pass of the net; a begun one; one forward pass of the
  // other's parts. The net itself has two operations in a pass, of which the last one's result is
  // an input of the head: its backward pass follows the head's.
  const std::map<std::string, int> expected = {
      {"", 3},        {"features.a", 4}, {"features.b", 3}, {"features", 3},
      {"head", 3},    {"Net", 6},        {"Loss:layer", 2}, {"Layer", 1},
      {"Block:a", 1}, {"Block:b", 1},    {"Block", 1}};
  EXPECT_EQ(runs, expected);
}

TEST_F(LiveModulesTest, ARealModelsRowsAreNamed) {
  if (Run("python3 -c 'import torch'").exit_status != 0) {
    GTEST_SKIP() << "Python has no module torch";
  }
  const std::string program =
      "python3 " + Quoted(TOPDNN_SOURCE_DIR "/examples/resnet18.py") + " 2 2 32";
  const Outcome alone = Run(program + " 2> alone.txt");
  const Outcome live = Run(kProgram + " trace --live --no-replay --modules --json l.json -- " +
                           program + " 2> table.txt");
  ASSERT_EQ(live.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(live.output, alone.output);
  std::map<std::string, int> forward, weights;
  const nlohmann::json json = Result();
  for (const nlohmann::json& row : json["rows"]) {
    if (row["primitive"] != "convolution" || row["module"].is_null()) continue;
    if (row["pass"] == "forward") forward[row["module"]] += row["count"].get<int>();
    if (row["pass"] == "backward_weights") weights[row["module"]] += row["count"].get<int>();
  }
  // 17 convolutions of 3 x 3 and 7 x 7, and three in shortcuts, once in each of two steps.
  EXPECT_EQ(forward.size(), 20u);
  EXPECT_EQ(weights, forward);
  for (const auto& [module, runs] : forward) EXPECT_EQ(runs, 2) << module;
  EXPECT_EQ(forward.count("0"), 1u);
  EXPECT_EQ(forward.count("11.shortcut.0"), 0u);
  EXPECT_EQ(forward.count("10.shortcut.0"), 1u);
  EXPECT_EQ(forward.count("11.body.3"), 1u);
}

}  // namespace
}  // namespace topdnn
