// bench/frameworks/compare: its cases are cases of the program; its arithmetic, with frameworks and
// a program that print given times; and what it says on a machine without frameworks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/bench/program.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCompare = TOPDNN_SOURCE_DIR "/bench/frameworks/compare";
constexpr const char* kOnnxRuntimeWorker = TOPDNN_SOURCE_DIR "/bench/frameworks/onnxruntime.js";

// In place of topdnn: the milliseconds of the trial and of four rounds.
constexpr const char* kProgram = R"(#!/bin/sh
here=$(dirname "$0")
case "$*" in
  export*) : > "$3"; exit ;;
  run*) for folder; do :; done
        cp "$here/ours.npy" "$folder/output.npy"; exit ;;
  profile*) for file; do :; done
        echo "$*" >"$here/profiled"
        cp "$here/profile.json" "$file"; exit ;;
  */auto/*) mode=auto; set -- 10.2 9 10 14 9 ;;
  *) mode=onednn; set -- 10 10 12 11 9 ;;
esac
echo >> "$here/$mode"
shift $(($(wc -l < "$here/$mode") - 1))
echo "{\"benchmarks\": [{\"step_s\": ${1}e-3}]}"
)";

// In place of Python with PyTorch: three modes in the trial, of which one is too slow to be timed
// in the rounds, and fails if it is; then the milliseconds of three rounds.
constexpr const char* kPython = R"(
here=$(dirname "$0")
case "$2" in
  --version) echo '{"framework": "Torch 0"}'; exit ;;
  *'"stages": true'*)
    echo '{"modes": {"plain": 22}, "stages": {"plain": {"conv backward": 12, "pool forward": 0.04}}}'
    exit ;;
  *'"modes": null'*) echo '{"modes": {"plain": 20, "tuned": 21, "slow": 40}}'; exit ;;
  *'"modes": ["plain"]'*) mode=plain; set -- 20 25 22 ;;
  *'"modes": ["tuned"]'*) mode=tuned; set -- 18 40 28 ;;
  *) echo 'not this mode' >&2; exit 1 ;;
esac
echo >> "$here/$mode"
shift $(($(wc -l < "$here/$mode") - 1))
echo "{\"modes\": {\"$mode\": $1}}"
)";

// In place of ONNX Runtime: gives two scores of each image, and keeps the options of its sessions.
constexpr const char* kOnnxRuntime = R"(
const fs = require("fs");
exports.env = { versions: { node: "9.8" } };
exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } };
// A session that profiles has four steps, of which two are the warm-up. The first has a slow node.
const node = (op_name, ts, dur) => ({ cat: "Node", name: op_name, ts, dur, args: { op_name } });
const step = (ts) => ({ cat: "Session", name: "model_run", ts, dur: 90, args: {} });
const trace = [
  step(0), node("Conv", 1, 80), step(100), node("Conv", 101, 70),
  step(200), node("FusedConv", 201, 30), node("Conv", 240, 20), node("Tilt", 270, 5),
  step(300), node("FusedConv", 301, 32), node("Conv", 340, 22), node("Tilt", 370, 7),
];
exports.InferenceSession = { create: async (file, options) => {
  fs.appendFileSync(__dirname + "/options", JSON.stringify(options) + "\n");
  return {
    endProfiling: () => {
      fs.writeFileSync(options.profileFilePrefix + "_0.json", JSON.stringify(trace));
    },
    inputNames: ["input"],
    run: async ({ input }) => {
      const n = input.dims[0];
      return { output: { dims: [n, 2], data: new Float32Array(2 * n).fill(input.data[1]) } };
    },
    release: async () => {},
  };
} };
)";

// A file of NumPy, version 1.0, with these values.
std::string Npy(const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  return bytes + std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
}

class FrameworksTest : public testing::Test {
 protected:
  // Makes every import of a framework fail, even if it is installed.
  void SetUp() override {
    for (const char* module : {"torch.py", "torchvision.py", "cv2.py"}) {
      folder_.Write(module, "raise ImportError('hidden for the test')\n");
    }
  }

  std::string Environment() const {
    return "PYTHONPATH=" + Quoted(path()) + " TOPDNN_PYTORCH=/usr/bin/python3 " +
           "TOPDNN_ONNXRUNTIME=" + Quoted(path() + "/npm") + " ";
  }

  Outcome Compare(const std::string& arguments) const {
    return RunShell(Environment() + Quoted(kCompare) + " " + arguments);
  }

  // With the program and the framework of this test. The counts of earlier calls are forgotten.
  Outcome CompareGiven(const std::string& arguments) const {
    for (const char* mode : {"onednn", "auto", "plain", "tuned"}) {
      std::filesystem::remove(folder_.path() / mode);
    }
    const auto program = folder_.Write("topdnn", kProgram);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    folder_.Write("python", kPython);
    return Compare("--topdnn " + Quoted(program.string()) + " --pytorch " +
                   Quoted("sh '" + path() + "/python'") + " --json " + Quoted(json()) + " " +
                   arguments);
  }

  void InstallOnnxRuntime() const {
    folder_.Write("npm/node_modules/onnxruntime-node/index.js", kOnnxRuntime);
  }

  std::string path() const { return folder_.path().string(); }
  std::string json() const { return path() + "/rows.json"; }

  TestFolder folder_;
};

TEST_F(FrameworksTest, EveryCaseIsOneOfTheProgram) {
  const Outcome list = Compare("--list 2>/dev/null");
  ASSERT_EQ(list.exit_status, 0) << list.output;
  const Outcome ours = RunProgram(
      {"bench", "--threads", "2", "--benchmark_list_tests=true", "--benchmark_filter=speed/step"});
  ASSERT_EQ(ours.exit_status, 0) << ours.output;
  int cases = 0;
  std::istringstream lines(list.output);
  for (std::string name; std::getline(lines, name); ++cases) {
    if (name.find("/first/") != std::string::npos) continue;  // topdnn run
    for (const std::string backend : {"/onednn", "/auto"}) {
      EXPECT_THAT(ours.output, HasSubstr("speed/step/" + name + backend + "/t2/"));
    }
  }
  EXPECT_GT(cases, 20);
}

TEST_F(FrameworksTest, WithoutAFrameworkItSaysWhatToInstall) {
  const Outcome none = Compare("cnn/infer/f32/n32");
  EXPECT_EQ(none.exit_status, 3) << none.output;
  EXPECT_THAT(none.output, HasSubstr("install python3-torch"));
  EXPECT_THAT(Compare("--list").output,
              AllOf(HasSubstr("opencv.py: hidden for the test"),
                    HasSubstr("pytorch.py: hidden for the test"), HasSubstr("onnxruntime.js: ")));
}

TEST_F(FrameworksTest, BadUsageIsRefused) {
  const Outcome wrong = Compare("cnn/infer/f32/n33");
  EXPECT_EQ(wrong.exit_status, 2);
  EXPECT_EQ(wrong.output, "compare: no case 'cnn/infer/f32/n33'; --list names them\n");
  const Outcome help = Compare("--help");
  EXPECT_EQ(help.exit_status, 0) << help.output;
  EXPECT_THAT(help.output, HasSubstr("within 15 % of the best"));
  const Outcome unknown = Compare("--round 3 --no-such-option");
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_THAT(unknown.output, HasSubstr("unrecognized arguments: --no-such-option"));
  const Outcome none = Compare("--rounds 0");
  EXPECT_EQ(none.exit_status, 2);
  EXPECT_EQ(none.output, "compare: --rounds 0: give a number above 0\n");
  const Outcome command = Compare("--list --pytorch " + Quoted(path() + "/no-such-python"));
  EXPECT_THAT(command.output, HasSubstr("no-such-python: No such file or directory"));
}

// Medians by hand: onednn 11, auto 10; plain 22, tuned 28. In the rounds auto / plain is 9/20,
// 10/25 and 14/22: the median, 0.450, is not the ratio of the medians.
TEST_F(FrameworksTest, TheRatioIsTheMedianOfTheRoundsToTheBestPeer) {
  const Outcome table = CompareGiven("cnn/train/f32/n32 --rounds 3");
  ASSERT_EQ(table.exit_status, 0) << table.output;
  EXPECT_THAT(table.output, testing::ContainsRegex("cnn/train/f32/n32 +10.00 +22.00 ms +0.450 +"
                                                   "0.400 to 0.636 +auto +. Torch 0, plain\n"));
  const nlohmann::json row = ReadJson(json()).at("rows").at(0);
  EXPECT_THAT(row.at("rounds").at("Torch 0").at("tuned"), ElementsAre(18, 40, 28));
  EXPECT_FALSE(row.at("rounds").at("Torch 0").contains("slow"));
  EXPECT_EQ(row.at("trials").at("Torch 0").at("slow"), 40);
  EXPECT_DOUBLE_EQ(row.at("ratio").at("max").get<double>(), 14.0 / 22);
}

// Two convolutions' gradients are one row, and 0.04 ms of a pooling are less than 0.5 % of a step.
TEST_F(FrameworksTest, StagesStandBesideThoseOfTheBestPeer) {
  folder_.Write("profile.json", R"({"step": {"seconds": {"median": 0.010}}, "stages": [
    {"op": "conv", "pass": "backward_data", "seconds": {"median": 0.003}},
    {"op": "conv", "pass": "backward_weights", "seconds": {"median": 0.0045}},
    {"op": "sgd", "pass": "update", "seconds": {"median": 0.0005}},
    {"op": "moving_average", "pass": "update", "seconds": {"median": 0.001}}]})");
  const Outcome outcome = CompareGiven("cnn/train/f32/n32 --stages");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              testing::EndsWith(R"(cnn/train/f32/n32, ms: topdnn, onednn; Torch 0, plain
conv backward                           7.50       12.00
update                                  1.50           -
smaller stages                          0.00        0.04
not in a stage                          1.00        9.96
step                                   10.00       22.00
)"));
  EXPECT_THAT(RunShell("cat " + Quoted(path() + "/profiled")).output,
              HasSubstr("profile cnn --train --dtype f32 --batch 32 --backend onednn --threads 2"));
  // The modes of an earlier comparison: auto is its faster backend, at 9 ms.
  ASSERT_EQ(CompareGiven("cnn/train/f32/n32 --rounds 3").exit_status, 0);
  EXPECT_THAT(CompareGiven("cnn/train/f32/n32 --stages").output,
              HasSubstr("ms: topdnn, auto; Torch 0, plain\n"));
  const Outcome none = CompareGiven("cnn/infer/f32/n32 resnet50/first/f32/n1 --stages");
  EXPECT_EQ(none.exit_status, 1);
  EXPECT_THAT(none.output, HasSubstr("resnet50/first/f32/n1: FAILED: pass first has no stages"));
}

TEST_F(FrameworksTest, AResumedComparisonKeepsTheRowsOfItsFile) {
  ASSERT_EQ(CompareGiven("cnn/train/f32/n32 --rounds 3").exit_status, 0);
  const Outcome resumed = CompareGiven("cnn/train/f32/n32 cnn/train/f32/n128 --rounds 3 --resume");
  ASSERT_EQ(resumed.exit_status, 0) << resumed.output;
  EXPECT_THAT(resumed.output, Not(HasSubstr("cnn/train/f32/n32, ms")));
  EXPECT_THAT(resumed.output, HasSubstr("cnn/train/f32/n128, ms"));
  EXPECT_EQ(ReadJson(json()).at("rows").size(), 2);
  const Outcome other = CompareGiven("cnn/train/f32/n32 --rounds 2 --resume");
  EXPECT_EQ(other.exit_status, 2) << other.output;
  EXPECT_THAT(other.output, HasSubstr("written with --rounds 3"));
}

// The framework has no time to print in a fourth round.
TEST_F(FrameworksTest, ASideThatFailsIsNotCompared) {
  const Outcome failed = CompareGiven("cnn/train/f32/n32 --rounds 4");
  EXPECT_EQ(failed.exit_status, 1);
  EXPECT_THAT(failed.output, HasSubstr("Torch 0: FAILED: "));
  EXPECT_THAT(failed.output, testing::ContainsRegex("cnn/train/f32/n32 +n/a: Torch 0: "));
}

class OnnxRuntimeTest : public FrameworksTest {
 protected:
  void SetUp() override {
    FrameworksTest::SetUp();
    if (RunShell("node --version").exit_status != 0) {
      GTEST_SKIP() << "node is not installed: apt-get install nodejs";
    }
    InstallOnnxRuntime();
  }
};

TEST_F(OnnxRuntimeTest, AStepRunsOnTheThreadsOfTheTask) {
  const std::string task =
      R"({"network": "cnn", "pass": "infer", "type": "f32", "batch": 4, "side": 8, "threads": 3,
          "seconds": 0.001, "steps": 2, "modes": ["fixed batch"], "onnx": "cnn.onnx"})";
  const Outcome worker =
      RunShell(Environment() + "node " + Quoted(kOnnxRuntimeWorker) + " " + Quoted(task));
  ASSERT_EQ(worker.exit_status, 0) << worker.output;
  const nlohmann::json modes = nlohmann::json::parse(worker.output).at("modes");
  EXPECT_EQ(modes.size(), 1);
  EXPECT_GT(modes.at("fixed batch"), 0);
  const nlohmann::json options = ReadJson(path() + "/npm/node_modules/onnxruntime-node/options");
  EXPECT_EQ(options.at("intraOpNumThreads"), 3);
  EXPECT_EQ(options.at("graphOptimizationLevel"), "all");
  EXPECT_EQ(options.at("freeDimensionOverrides").at("N"), 4);
}

// The medians of the two steps after the warm-up: 30 + 20 and 32 + 22 us, 5 and 7 us.
TEST_F(OnnxRuntimeTest, StagesAreMediansOverStepsOfTheProfiler) {
  const std::string task =
      R"({"network": "cnn", "pass": "infer", "type": "f32", "batch": 4, "side": 8, "threads": 1,
          "seconds": 0.001, "steps": 2, "modes": ["defaults"], "stages": true, "onnx": "cnn.onnx"})";
  const Outcome worker =
      RunShell(Environment() + "node " + Quoted(kOnnxRuntimeWorker) + " " + Quoted(task));
  ASSERT_EQ(worker.exit_status, 0) << worker.output;
  const nlohmann::json stages = nlohmann::json::parse(worker.output).at("stages").at("defaults");
  EXPECT_EQ(stages.size(), 2);
  EXPECT_NEAR(stages.at("conv forward"), 0.052, 1e-9);
  EXPECT_NEAR(stages.at("Tilt"), 0.006, 1e-9);
}

// The framework above gives the image's second pixel as both scores. Random.random of Python with
// seed 1 gives 0.13436424411240122, 0.8474337369372327, ...
TEST_F(OnnxRuntimeTest, TheFirstResultIsComparedWithOurs) {
  folder_.Write("ours.npy", Npy({0.8474337F, 0.8474337F}));
  const Outcome table = CompareGiven("resnet50/first/f32/n1 --rounds 2");
  ASSERT_EQ(table.exit_status, 0) << table.output;
  EXPECT_THAT(table.output,
              AllOf(HasSubstr("resnet50/first/f32/n1, s\n"),
                    HasSubstr("resnet50/first/f32/n1, MiB\n"), HasSubstr("| ONNX Runtime 9.8, ")));
  const nlohmann::json rows = ReadJson(json()).at("rows");
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row.at("rounds").at("ONNX Runtime 9.8").at("basic").size(), 2);
  }

  folder_.Write("ours.npy", Npy({0.8474337F, 0.8F}));
  const Outcome wrong = CompareGiven("resnet50/first/f32/n1 --rounds 2");
  EXPECT_EQ(wrong.exit_status, 1);
  EXPECT_THAT(wrong.output, HasSubstr("scores differ by 0.0474 of 0.847"));
}

}  // namespace
}  // namespace topdnn
