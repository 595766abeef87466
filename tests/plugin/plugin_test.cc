// Plug-ins (kernels/plugin/topdnn/plugin.h): the examples agree with the reference. A plug-in with
// faults leads to a refusal, a FAILED row or an error of one line, and never crashes the program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/plugin_words.h"
#include "bench/workload/images.h"
#include "bench/workload/workload.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/registry.h"
#include "kernels/op/problem.h"
#include "kernels/plugin/plugins.h"
#include "kernels/plugin/request_numbers.h"
#include "networks/parameters/parameters.h"
#include "networks/plan/check.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/plugin/faults.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kMine = TOPDNN_BINARY_DIR "/examples/libmine.so";
constexpr const char* kXnnpack = TOPDNN_BINARY_DIR "/examples/libtopdnn_xnnpack.so";
constexpr const char* kNoXnnpack = "no libxnnpack-dev of 2022 is installed (Debian 12)";
constexpr const char* kHostile = TOPDNN_BINARY_DIR "/tests/plugin/libplugin_hostile.so";
constexpr double kSeconds = 10;
constexpr double kFewSeconds = 1;  // for one that hangs

Outcome RunProgram(const std::vector<std::string>& arguments) {
  std::string command = Quoted(TOPDNN_BINARY_DIR "/topdnn");
  for (const std::string& argument : arguments) command += " " + Quoted(argument);
  return RunShell(command);
}

// What the backend answers: "kernel IMPLEMENTATION", "refused: ..." or "FAILED: ...".
std::string Answer(const std::string& backend, const std::string& problem,
                   Pass pass = Pass::kForward, const std::map<Arg, Layout>& layouts = {}) {
  KernelRequest request;
  request.op = ParseProblem(problem);
  request.execution = {pass, pass != Pass::kForward, DataType::kF32};
  request.layouts = layouts;
  const KernelOrRefusal answer = MakeKernel(backend, request);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return "refused: " + refusal->reason;
  const Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(answer);
  const std::string failure = FailureOf(kernel);
  return failure.empty() ? "kernel " + kernel.implementation() : "FAILED: " + failure;
}

// The width of the image that has this fault (faults.h).
std::string WidthOf(const std::string& fault) {
  const auto* const found = std::find(std::begin(kKernelFaults), std::end(kKernelFaults), fault);
  EXPECT_NE(found, std::end(kKernelFaults)) << fault;
  return std::to_string(std::distance(std::begin(kKernelFaults), found) + 1);
}

std::string AnswerTo(const std::string& fault) {
  return Answer("hostile", "flatten/2x3x5x" + WidthOf(fault));
}

TEST(PluginTest, TheExampleConvolves) {
  LoadPlugins({kMine}, kSeconds);
  for (const char* problem : {"conv/n2c3h12w9k4r3s3u1v1p1q1_bias", "conv/n1c4h11w11k8r5s3u2v3p2q0",
                              "conv/n1c2h7w7k2r1s1", "conv/n1c2h6w6k3r3s3u1v1p0q1P2Q0"}) {
    EXPECT_EQ(Answer("mine", problem), "kernel rows") << problem;
  }
  EXPECT_EQ(Answer("mine", "conv/n1c4h7w7k4r1s1g2"), "refused: plug-in mine: it has no groups");
  EXPECT_EQ(Answer("mine", "conv/n1c4h7w7k4r1s1", Pass::kBackwardData),
            "refused: plug-in mine: it computes the forward pass only");
  EXPECT_EQ(
      Answer("mine", "conv/n1c4h7w7k4r1s1", Pass::kForward, {{Arg::kSrc, Layout::ChannelsLast(4)}}),
      "refused: plug-in mine computes src in abcd, not in acdb");
  EXPECT_EQ(Answer("mine", "relu/1x2x3x4"), "refused: backend mine has no relu");
}

TEST(PluginTest, XnnpackAgreesWithTheReference) {
  if (!std::filesystem::exists(kXnnpack)) GTEST_SKIP() << kNoXnnpack;
  LoadPlugins({kXnnpack}, kSeconds);
  for (const char* problem :
       {"conv/n2c3h12w9k4r3s3u1v1p1q1_bias", "conv/n1c4h11w11k8r5s3u2v3p2q0_relu",
        "conv/n1c4h11w11k8r3s3d2e2_bias_relu_bound0.5", "conv/n1c8h9w9k8r3s3p1q1g8",
        "conv/n1c8h9w9k4r3s3p1q1g2_bias"}) {
    EXPECT_EQ(Answer("xnnpack", problem), "kernel xnnpack:igemm") << problem;
  }
  for (const char* problem : {"pool/maxn2c5h12w9r3s3u2v2p1q1", "pool/averagen2c5h12w9r2s2u2v2p0q0",
                              "pool/averagen2c5h12w9r3s3u2v2p1q1", "pool/averagen2c5h7w7r7s7",
                              "inner_product/n4c37k10_bias", "inner_product/n2c6h3w4k5_relu"}) {
    EXPECT_EQ(Answer("xnnpack", problem), "kernel xnnpack") << problem;
  }
  EXPECT_THAT(Answer("xnnpack", "pool/maxn2c5h12w9r1s1"), HasSubstr("refused: "));
}

// A pooling with windows of one element is a copy. Its backward pass reads a workspace, which the
// plug-in's own forward pass writes.
TEST(PluginTest, BackwardPassesAreChecked) {
  LoadPlugins({kHostile}, kFewSeconds);
  EXPECT_EQ(Answer("hostile", "flatten/2x3x5x1", Pass::kBackwardData), "kernel copy");
  EXPECT_EQ(Answer("hostile", "pool/maxn2c3h5w1r1s1", Pass::kBackwardData), "kernel copy");
  EXPECT_THAT(Answer("hostile", "pool/maxn2c3h5w64r2s2", Pass::kBackwardData),
              HasSubstr("FAILED: plug-in hostile: "));
}

// A copy of whole blocks: 13 of 16 channels are padding.
TEST(PluginTest, PaddingIsZeroBeforeAndAfter) {
  LoadPlugins({kHostile}, kFewSeconds);
  const auto answer_to = [](const std::string& fault) {
    return Answer("hostile", "pool/maxn2c3h5w" + WidthOf(fault) + "r1s1");
  };
  EXPECT_EQ(answer_to("copy in blocks"), "kernel copy");
  EXPECT_EQ(answer_to("write into the padding"),
            "FAILED: plug-in hostile: run leaves values in the padding of dst, layout aBcd16b: "
            "write zeros there");
}

// Half of the inputs are negative.
TEST(PluginTest, ANanOfTheReferenceIsExpected) {
  LoadPlugins({kHostile}, kFewSeconds);
  EXPECT_EQ(Answer("hostile", "reduce/log_sum2x1x" + WidthOf("take logarithms") + "_b"),
            "kernel copy");
}

TEST(PluginTest, AFaultOfAKernelIsNamed) {
  LoadPlugins({kHostile}, kFewSeconds);
  EXPECT_EQ(AnswerTo("none"), "kernel copy");
  EXPECT_EQ(AnswerTo("give a name that is no text"), "kernel co?py?");
  EXPECT_EQ(AnswerTo("refuse"), "refused: plug-in hostile: it computes nothing at all");
  const std::map<std::string, std::string> failures = {
      {"crash in create", "create crashes (SIGSEGV"},
      {"name no layout", "create gives dst the layout 'what', which is none for 2x"},
      {"name the layout of a matrix", "create gives src the layout 'ab', which is none for 2x3x5x"},
      {"fail in prepare", "prepare fails: it has run out of something"},
      {"crash", "run crashes (SIGSEGV"},
      {"abort", "run crashes (SIGABRT"},
      {"exit", "it ends the process, with status 3"},
      {"be killed", "its process ends with signal 9"},
      {"return an error", "the plug-in's run failed with status 7"},
      {"write nothing", "unwritten or not finite"},
      {"write far behind", "run reads or writes outside of dst"},
      {"write just behind", "run writes outside of dst"},
      {"write in front", "run writes outside of dst"},
      {"read far behind", "run reads or writes outside of src"},
      {"read far in front", "run reads or writes outside of src"},
      {"write its input", "run writes to its input src"},
      {"return garbage", "dst differs from the reference"},
      {"be wrong the second time", "dst differs from the reference"},
      {"crash in destroy", "destroy crashes (SIGSEGV"},
      {"crash in load", "load crashes (SIGSEGV"},
      {"fail in load", "load fails: it cannot pack"}};
  for (const auto& [fault, text] : failures) {
    const std::string answer = AnswerTo(fault);
    EXPECT_THAT(answer, testing::StartsWith("FAILED: plug-in hostile: ")) << fault;
    EXPECT_THAT(answer, HasSubstr(text)) << fault;
  }
  EXPECT_THAT(AnswerTo("hang in create"),
              HasSubstr("FAILED: plug-in hostile: create does not end"));
  EXPECT_THAT(AnswerTo("hang"), HasSubstr("FAILED: plug-in hostile: run does not end"));
  // After two hangs no other kernel is tried, because each may take the full time.
  EXPECT_THAT(Answer("hostile", "flatten/1x1x2x4"), HasSubstr("is not tried again after 2 calls"));
  EXPECT_EQ(std::size(failures) + 10, std::size(kKernelFaults)) << "a fault is not tried";
}

std::string ErrorOf(const std::string& path) try {
  LoadPlugins({path}, kFewSeconds);
  return "";
} catch (const RequestError& error) {
  return error.what();
}

TEST(PluginTest, AFaultOfALibraryIsOneLine) {
  const std::map<std::string, std::string> faults = {
      {"have another abi", "is built for version 2 of the plug-in interface, and this topdnn has"},
      {"have a short table", "its table has 8 bytes instead of"},
      {"take a name", "there is already a backend 'onednn'"},
      {"have no name", "'Not A Name' is no name for a backend"},
      {"have no run", "its table lacks one of create, prepare, run and destroy"},
      {"have no table", "its function topdnn_plugin returns no table"},
      {"crash", "loading it crashes (SIGSEGV"},
      {"hang", "loading it does not end"}};
  const std::size_t before = Plugins().size();
  const TestFolder own;  // (another test may have loaded the file itself)
  const std::string path = own.path() / "libfaulty.so";
  std::filesystem::copy_file(kHostile, path);
  for (const auto& [fault, text] : faults) {
    setenv("HOSTILE", fault.c_str(), 1);
    const std::string error = ErrorOf(path);
    EXPECT_THAT(error, HasSubstr(text));
    EXPECT_THAT(error, HasSubstr("--plugin " + path + ": ")) << fault;
    EXPECT_EQ(error.find('\n'), error.npos) << error;
  }
  unsetenv("HOSTILE");
  const std::string folder = TOPDNN_BINARY_DIR "/tests/plugin/libplugin_";
  EXPECT_THAT(ErrorOf(folder + "no_function.so"), HasSubstr("exports no function topdnn_plugin"));
  EXPECT_THAT(ErrorOf(folder + "unresolved.so"),
              HasSubstr("undefined symbol: a_function_of_no_library"));
  EXPECT_THAT(ErrorOf(TOPDNN_SOURCE_DIR "/README.md"), HasSubstr("cannot be loaded: "));
  EXPECT_THAT(ErrorOf("/none.so"), HasSubstr("--plugin /none.so: no such file"));
  EXPECT_EQ(Plugins().size(), before);
}

TEST(PluginTest, TheNumbersOfAProblem) {
  const auto numbers_of = [](const char* problem) {
    std::map<std::string, double> numbers;
    for (const topdnn_number& number : NumbersOf(*ParseProblem(problem))) {
      numbers[number.name] = number.value;
    }
    return numbers;
  };
  const std::map<std::string, double> gemm = {{"m", 2},     {"n", 3},       {"k", 4},
                                              {"batch", 5}, {"trans_a", 0}, {"trans_b", 1},
                                              {"alpha", 2}, {"beta", 0.5}};
  EXPECT_EQ(numbers_of("gemm/b5m2n3k4_tb_alpha2_beta0.5"), gemm);
  const std::map<std::string, double> product = {{"n", 2},    {"inputs", 12}, {"outputs", 5},
                                                 {"bias", 1}, {"relu", 0},    {"relu_bound", 0}};
  EXPECT_EQ(numbers_of("inner_product/n2c3h2w2k5_bias"), product);
  EXPECT_EQ(numbers_of("conv/n1c4h9w9k8r3s3d2e1g2_bias_relu_bound6").at("relu_bound"), 6);
  EXPECT_EQ(numbers_of("conv/n1c4h9w9k8r3s3d2e1g2").at("dilation_h"), 2);
  EXPECT_TRUE(numbers_of("relu/2x3").empty());
}

TEST(PluginTest, TheWordsOfTheOptions) {
  EXPECT_THAT(
      PluginsIn({"profile", "--plugin", "a.so", "cnn", "--plugin=b.so", "--", "--plugin", "c.so"}),
      ElementsAre("a.so", "b.so"));
  EXPECT_THAT(WithJoinedValues({"profile", "--fallback", "onednn", "cnn", "--fallback", "cnn"}),
              ElementsAre("profile", "--fallback=onednn", "cnn", "--fallback", "cnn"));
}

TEST(PluginTest, AnotherBackendComputesWhatAPluginLacks) {
  const std::vector<std::string> plan = {"plan", "lenet5",    "--infer", "--plugin",
                                         kMine,  "--backend", "mine",    "--batch",
                                         "2",    "--threads", "1"};
  const Outcome alone = RunProgram(plan);
  EXPECT_EQ(alone.exit_status, kExitUsage) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("cannot run on mine: backend mine has no relu; choose "));
  std::vector<std::string> both = plan;
  both.insert(both.end(), {"--fallback", "onednn"});
  const Outcome outcome = RunProgram(both);
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("c1 +forward +conv +rows "));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("s2 +forward +pool +onednn "));
}

WorkloadOptions Lenet5On(const std::string& backend) {
  WorkloadOptions options;
  options.network = "lenet5";
  options.backend = backend;
  options.fallback = "onednn";
  options.batch = 2;
  options.threads = 1;
  options.data = "synthetic";
  return options;
}

// In inference a plug-in may keep packed weights.
TEST(PluginTest, WeightsThatChangeAreLoadedAgain) {
  if (!std::filesystem::exists(kXnnpack)) GTEST_SKIP() << kNoXnnpack;
  LoadPlugins({kXnnpack}, kSeconds);
  const WorkloadOptions options = Lenet5On("xnnpack");
  const Workload workload = MakeWorkload(options, /*training=*/false);
  Plan& plan = *workload.plan;
  TrainingImages(options, workload).FillNext(plan);
  for (const std::uint64_t seed : {1, 2}) {
    InitializeParameters(plan, seed, options.draw);
    int on_plugin = 0;
    const std::vector<StageCheck> checks = CheckStages(plan);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Stage& stage = plan.stages()[i];
      on_plugin += stage.backend == "xnnpack" ? 1 : 0;
      EXPECT_TRUE(checks[i].agrees) << stage.name << ": " << checks[i].reason;
    }
    EXPECT_EQ(on_plugin, 7);
  }
}

TEST(PluginTest, WeightsAreLoadedInEachTrainingStep) {
  if (!std::filesystem::exists(kXnnpack)) GTEST_SKIP() << kNoXnnpack;
  LoadPlugins({kXnnpack}, kSeconds);
  const WorkloadOptions options = Lenet5On("xnnpack");
  const Workload workload = MakeWorkload(options, /*training=*/true);
  Plan& plan = *workload.plan;
  TrainingImages(options, workload).FillNext(plan);
  for (int step = 0; step < 3; ++step) plan.Run();
  const std::vector<StageCheck> checks = CheckStages(plan);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    EXPECT_TRUE(checks[i].agrees) << plan.stages()[i].name << ": " << checks[i].reason;
  }
}

TEST(PluginTest, TheStagesAfterAFailedOneAreRight) {
  LoadPlugins({kHostile}, kFewSeconds);
  WorkloadOptions options = Lenet5On("hostile");
  EXPECT_THROW(MakeWorkload(options, /*training=*/false), KernelFailed);
  options.reports_failures = true;
  const Workload workload = MakeWorkload(options, /*training=*/false);
  Plan& plan = *workload.plan;
  TrainingImages(options, workload).FillNext(plan);
  int failed = 0;
  const std::vector<StageCheck> checks = CheckStages(plan);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Stage& stage = plan.stages()[i];
    EXPECT_EQ(checks[i].agrees, stage.backend != "hostile") << stage.name << checks[i].reason;
    if (checks[i].agrees) continue;
    ++failed;
    EXPECT_THAT(checks[i].reason, testing::StartsWith("plug-in hostile: "));
    EXPECT_LT(checks[i].error, 1e-3) << "no backend computes the result in its place";
  }
  EXPECT_EQ(failed, 2);
}

TEST(PluginTest, AWrongKernelIsAFailedRowOfTheProfile) {
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  const Outcome outcome =
      RunProgram({"profile", "lenet5",        "--infer", "--plugin", kHostile,    "--backend",
                  "hostile", "--fallback",    "onednn",  "--batch",  "2",         "--iterations",
                  "2",       "--threads",     "1",       "--data",   "synthetic", "--counters",
                  "none",    "--no-isolated", "--json",  path});
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  int failed = 0;
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  for (const auto& stage : json["stages"]) {
    const bool of_plugin = stage["op"] == "pool";
    failed += of_plugin ? 1 : 0;
    EXPECT_EQ(stage["status"] == "FAILED", of_plugin) << stage["name"];
    if (!of_plugin) continue;
    EXPECT_TRUE(stage["seconds"].is_null()) << stage["name"];
    EXPECT_THAT(stage["reason"].get<std::string>(), HasSubstr("plug-in hostile: "));
  }
  EXPECT_EQ(failed, 2);
  EXPECT_EQ(json["machine"]["libraries"]["hostile"]["version"], "1");
}

TEST(PluginTest, OtherCommandsRefuseAWrongKernel) {
  const Outcome outcome =
      RunProgram({"step", "lenet5", "--plugin", kHostile, "--backend", "hostile", "--fallback",
                  "onednn", "--batch", "2", "--data", "synthetic", "--dump", "none.npz"});
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("plug-in hostile: "));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

TEST(PluginTest, ARowOfTheBenchmarkFailsAndTheOthersRun) {
  const Outcome outcome = RunProgram({"bench", "--problem", "flatten/2x3x5x8", "--plugin", kHostile,
                                      "--threads", "1", "--benchmark_min_time=0.001",
                                      "--benchmark_filter=forward/(hostile|onednn)/f32/t1/manual"});
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("FAILED: plug-in hostile: run crashes (SIGSEGV"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("forward/onednn/f32/t1/manual_time +[0-9]"));
}

// A pooling that copies an image of this width, and a ReLU.
void WriteCopyingModel(const std::string& file, std::int64_t width) {
  ModelBuilder model;
  model.Input("x", {2, 3, 5, width}).Output("relu");
  AddInts(model.Node("MaxPool", "copy", {"x"}), "kernel_shape", {1, 1});
  model.Node("Relu", "relu", {"copy"});
  std::ofstream(file) << model.Bytes();
}

// The profile starts again, and names the kernel.
TEST(PluginTest, AProfileGoesOnWithoutAKernelThatCrashesLater) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer reports crashes itself";
#endif
  const TestFolder folder;
  const std::string model = folder.path() / "model.onnx";
  const std::string path = folder.path() / "out.json";
  WriteCopyingModel(model, 28);
  for (const std::string backend : {"hostile"}) {
    std::filesystem::remove(path);
    const Outcome outcome =
        RunProgram({"profile", model, "--infer", "--plugin", kHostile, "--backend", backend,
                    "--fallback", "onednn", "--iterations", "20", "--threads", "1", "--counters",
                    "none", "--no-isolated", "--no-experiments", "--json", path});
    EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("topdnn: copy forward crashed (SIGSEGV)\n"
                                          "topdnn: starting again without this kernel\n"));
    EXPECT_THAT(outcome.output, HasSubstr("forward is not computed by this kernel: it crashed in "
                                          "a later run\n"));
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    EXPECT_NE(json["stages"][0]["backend"], "hostile");
    EXPECT_GT(json["stages"][0]["seconds"]["median"], 0);
  }
}

// The rows before it are in the file, and one more says what ended the program.
TEST(PluginTest, ACrashInALaterCallIsOneLineAndKeepsTheRows) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer reports crashes itself";
#endif
  const auto of = [](const std::string& fault) {
    const auto* const found = std::find(std::begin(kKernelFaults), std::end(kKernelFaults), fault);
    return "flatten/2x3x5x" + std::to_string(std::distance(std::begin(kKernelFaults), found) + 1);
  };
  for (const std::string format : {"json", "csv"}) {
    const TestFolder folder;
    const std::string path = folder.path() / "out";
    const Outcome outcome =
        RunProgram({"bench", "--problem", of("none"), "--problem", of("crash later"), "--plugin",
                    kHostile, "--threads", "1", "--benchmark_min_time=0.001",
                    "--benchmark_filter=forward/hostile/f32/t1/manual", "--benchmark_out=" + path,
                    "--benchmark_out_format=" + format});
    EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
    const std::string line =
        "topdnn: given/" + of("crash later") + "/forward/hostile/f32/t1 crashed (SIGSEGV)";
    EXPECT_THAT(outcome.output, testing::EndsWith(line + "\n"));
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, HasSubstr("given/" + of("none") + "/forward/hostile/f32/t1/manual_time"));
    EXPECT_THAT(text, HasSubstr(line));
    if (format == "json") {
      const nlohmann::json rows = nlohmann::json::parse(text).at("benchmarks");
      ASSERT_EQ(rows.size(), 2u);
      EXPECT_GT(rows[0].at("real_time"), 0);
      EXPECT_EQ(rows[1].at("name"), "given/" + of("crash later") + "/forward/hostile/f32/t1");
      EXPECT_EQ(rows[1].at("error_message"), line);
    }
    const std::filesystem::directory_iterator files(folder.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a temporary file is left";
  }
}

}  // namespace
}  // namespace topdnn
