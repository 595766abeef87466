// `topdnn trace --live` of a program with PyTorch: the names of its modules and operators.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/live/live_command.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

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
    runs[TextOf(row, "module")] = row["count"];
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

// ---- --operators, with a library that has the class of functions which PyTorch calls at ranges
// (torch/csrc/profiler/stubs/base.h), compiled as C++.

class LiveOperatorsTest : public LiveCommandTest {
 protected:
  void WriteTorch(const std::string& version) const {
    folder_.Write("torch/stubs.cc", R"(
#include <cstdint>
#include <functional>
#include <memory>
namespace torch { namespace profiler { namespace impl {
struct ProfilerStubs {
  virtual void record(int* device, std::shared_ptr<void>* event, int64_t* cpu_ns) const = 0;
  virtual float elapsed(const std::shared_ptr<void>* event,
                        const std::shared_ptr<void>* event2) const = 0;
  virtual void mark(const char* name) const = 0;
  virtual void rangePush(const char* name) const = 0;
  virtual void rangePop() const = 0;
  virtual bool enabled() const { return false; }
  virtual void onEachDevice(std::function<void(int)> op) const = 0;
  virtual void synchronize() const = 0;
  virtual ~ProfilerStubs() {}
};
static ProfilerStubs* registered;
void registerITTMethods(ProfilerStubs* stubs) { registered = stubs; }
}}}
using torch::profiler::impl::registered;
extern "C" int Enabled() { return registered && registered->enabled(); }
extern "C" void Push(const char* name) { if (registered) registered->rangePush(name); }
extern "C" void Pop() { if (registered) registered->rangePop(); }
)");
    folder_.Write("torch/__init__.py", "__version__ = '" + version + R"('
import ctypes, os
library = ctypes.CDLL(os.path.dirname(__file__) + "/libtorch_cpu.so")
class profiler:
    def _enable_profiler():
        print("the program's profiler")
    class emit_itt:
        def __enter__(self):
            if not library.Enabled():
                raise RuntimeError("compiled without ITT")
        def __exit__(self, *reason):
            print("left")
    _prepare_profiler = None
class autograd:
    profiler = profiler
)");
    folder_.Write("program.py", R"(
import ctypes, sys, torch
from contextlib import contextmanager
execute = ctypes.CDLL(sys.argv[1]).ExecutePrimitive
@contextmanager
def ranged(name):
    torch.library.Push(name.encode())
    yield
    torch.library.Pop()
execute()
torch.library.Pop()
for _ in range(2):
    with ranged("aten::conv2d"):
        with ranged("aten::convolution"):
            execute()
        execute()
with ranged("Optimizer.step#SGD.step"):
    with ranged("aten::add_"):
        pass
    with ranged("autograd::engine::evaluate_function: ConvolutionBackward0"):
        execute()
print("end", flush=True)
if len(sys.argv) > 2:
    torch.autograd.profiler._enable_profiler()
    execute()
)");
    ASSERT_EQ(Run("c++ -shared -fPIC torch/stubs.cc -o torch/libtorch_cpu.so").exit_status, 0);
  }
  Outcome Operators(const std::string& argument) const {
    return Run("PYTHONPATH=$PWD " + kBounded +
               " trace --live --no-replay --operators --json l.json -- python3 -B program.py " +
               Quoted(TOPDNN_BINARY_DIR "/tests/liblive_module.so") + argument + " 2> table.txt");
  }
};

TEST_F(LiveOperatorsTest, EachOuterOperatorHasItsRunsAndItsPrimitives) {
  WriteTorch("1.13.1+cpu");
  const Outcome outcome = Operators("");
  ASSERT_EQ(outcome.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(outcome.output, "end\nleft\n");
  const nlohmann::json json = Result();
  EXPECT_THAT(OperatorsOf(json), ElementsAre(Pair("ConvolutionBackward0", 1), Pair("aten::add_", 1),
                                             Pair("aten::conv2d", 2)));
  std::map<std::string, int> runs;
  for (const nlohmann::json& row : json["rows"]) runs[TextOf(row, "operator")] = row["count"];
  EXPECT_THAT(runs,
              ElementsAre(Pair("", 1), Pair("ConvolutionBackward0", 1), Pair("aten::conv2d", 4)));
  // (oneDNN may say 0 ms of such a primitive)
  for (const nlohmann::json& own : json["live"]["operators"]) {
    EXPECT_GT(own["seconds"], own["primitive_seconds"]) << own["name"];
  }
  EXPECT_THAT(Text("table.txt"), HasSubstr("operators of PyTorch: "));
}

TEST_F(LiveOperatorsTest, AProgramWithoutPrimitivesHasItsOperators) {
  WriteTorch("1.13.1");
  folder_.Write("program.py",
                "import torch\ntorch.library.Push(b'aten::add')\ntorch.library.Pop()\n");
  ASSERT_EQ(Operators("").exit_status, 0) << Text("table.txt");
  EXPECT_THAT(OperatorsOf(Result()), ElementsAre(Pair("aten::add", 1)));
  EXPECT_THAT(Text("table.txt"), HasSubstr("aten::add"));
}

TEST_F(LiveOperatorsTest, TheProgramsOwnProfilerIsGivenTheThread) {
  WriteTorch("2.14.1");
  const Outcome outcome = Operators(" own");
  ASSERT_EQ(outcome.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(outcome.output, "end\nleft\nthe program's profiler\n");
  EXPECT_THAT(Text("table.txt"), HasSubstr("the program starts a profiler of its own"));
}

TEST_F(LiveOperatorsTest, AnUnknownVersionWithoutIttHasNoOperators) {
  WriteTorch("2.99.0");
  const Outcome outcome = Operators("");
  ASSERT_EQ(outcome.exit_status, 0) << Text("table.txt");
  EXPECT_EQ(outcome.output, "end\n");
  EXPECT_THAT(Text("table.txt"),
              HasSubstr("note: --operators: PyTorch 2.99.0 does not announce its operators: "
                        "compiled without ITT"));
  EXPECT_EQ(Result()["live"]["operators"].size(), 0u);
}

TEST_F(LiveModulesTest, ARealModelsRowsAreNamed) {
  MeasureResNet18("--modules");
  if (IsSkipped() || HasFatalFailure()) return;
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

TEST_F(LiveOperatorsTest, ARealModelsOperatorsAreMeasured) {
  MeasureResNet18("--operators");
  if (IsSkipped() || HasFatalFailure()) return;
  const nlohmann::json json = Result();
  const std::map<std::string, int> runs = OperatorsOf(json);
  // 20 convolutions, each with a normalization, in each of two steps.
  for (const char* name : {"aten::conv2d", "ConvolutionBackward0", "aten::batch_norm"}) {
    EXPECT_EQ(runs.at(name), 40) << name;
  }
  for (const nlohmann::json& row : json["rows"]) {
    if (row["primitive"] != "convolution") continue;
    EXPECT_EQ(row["operator"], row["pass"] == "forward" ? "aten::conv2d" : "ConvolutionBackward0");
  }
}

}  // namespace
}  // namespace topdnn
