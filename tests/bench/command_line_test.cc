// The program's command line: refused input ends with one line and status 2, and commands write the
// documented files.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/nearest.h"
#include "bench/formats/npz.h"
#include "kernels/check/tolerance.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/reserved_cpu.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(CommandLineTest, ARelativePluginWithoutACurrentFolderIsOneLine) {
  const TestFolder folder;
  const std::string gone = Quoted((folder.path() / "gone").string());
  const Outcome outcome = RunShell("mkdir " + gone + " && cd " + gone + " && rmdir " + gone +
                                   " && " + QuotedProgram() + " kernels --plugin mine.so");
  EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("--plugin mine.so: the current folder cannot be found"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

class RefusalTest : public testing::TestWithParam<RefusedCommand> {};

TEST_P(RefusalTest, IsOneLineAndStatusTwo) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    BadInput, RefusalTest,
    testing::Values(
        RefusedCommand{{}, "give a command"},
        RefusedCommand{{"profil", "cnn"}, "did you mean profile?"},
        RefusedCommand{{"profile"}, "NET is required"},
        RefusedCommand{{"profile", "cn"}, "no network 'cn'; did you mean cnn?"},
        RefusedCommand{{"profile", "cnn", "--bakend", "onednn"}, "did you mean --backend?"},
        RefusedCommand{{"profile", "cnn", "--backend", "onedn"}, "did you mean onednn?"},
        RefusedCommand{{"profile", "cnn", "--dtype", "f23"}, "did you mean f32?"},
        RefusedCommand{{"profile", "cnn", "--batch", "0"}, "--batch 0: must be 1 or more"},
        RefusedCommand{{"profile", "cnn", "--batch", "many"}, "--batch"},
        RefusedCommand{{"profile", "cnn", "--batch", "1000000000"}, "take a smaller --batch"},
        RefusedCommand{{"profile", "cnn", "--batch", "1000000000000000000"}, "take a smaller one"},
        RefusedCommand{{"profile", "cnn", "--threads", "100000"}, "--oversubscribe"},
        RefusedCommand{{"profile", "cnn", "--threads", "-1"}, "must be 1 or more"},
        RefusedCommand{{"profile", "cnn", "--iterations", "0"}, "must be 1 or more"},
        RefusedCommand{{"profile", "cnn", "--regime", "hot"}, "isolated-hot"},
        RefusedCommand{{"profile", "cnn", "--counters", "pref"}, "perf"},
        RefusedCommand{{"profile", "cnn", "--metrics", "NO_SUCH.EVENT"}, "--metrics NO_SUCH.EVENT"},
        RefusedCommand{{"profile", "cnn", "--metrics", "flops", "--counters", "exact"},
                       "perf or auto"},
        RefusedCommand{{"profile", "cnn", "--counters", "replay:/no/such/file"}, "/no/such/file"},
        RefusedCommand{{"profile", "cnn", "--counters", "replay:/dev/null"}, "is a device"},
        RefusedCommand{{"profile", "cnn", "--record", "/no/such/folder/r.json"},
                       "/no/such/folder/r.json"},
        RefusedCommand{{"profile", "cnn", "--train", "--infer"}, "take one of them"},
        RefusedCommand{{"profile", "cnn", "--json", "/no/such/folder/x.json"},
                       "/no/such/folder/x.json"},
        RefusedCommand{{"profile", "cnn", "--data", "/no/such/folder"}, "no such folder"},
        RefusedCommand{{"validate", "--json", "/no/such/folder/x.json"}, "/no/such/folder/x.json"},
        RefusedCommand{{"validate", "--kernels-of", "onednm"}, "onednn"},
        RefusedCommand{{"plan", "cnn", "--train", "--infer"}, "take one of them"},
        RefusedCommand{{"fleet", "submit", "no_study", "--batch", "1", "--json", "o.json"},
                       "--json: has no effect on submit: leave it out"},
        RefusedCommand{{"fleet", "status", "no_study", "--store", "o"},
                       "--store: has no effect on status: leave it out"},
        RefusedCommand{{"plan", "cnn", "--size", "-1"}, "--size -1: must be 1 or more"},
        RefusedCommand{{"plan", "cnn", "--size", "4"}, "take a larger --size"},
        RefusedCommand{{"step", "cnn"}, "--dump is required"},
        RefusedCommand{{"step", "cnn", "--dump", "/no/such/folder/x.npz"}, "/no/such/folder/x.npz"},
        RefusedCommand{{"train", "cnn", "--epochs", "0"}, "must be 1 or more"},
        RefusedCommand{{"train", "cnn", "--interval", "-1"}, "--interval -1"},
        RefusedCommand{{"train", "cnn", "--optimizer", "adm"}, "did you mean adam?"},
        RefusedCommand{{"bench", "--benchmark_filter=no_such_case"}, "matches no case"},
        RefusedCommand{{"bench", "--problem", "conv/n1c3h4k8r5"}, "the kernel is larger"},
        RefusedCommand{{"bench", "--problem", "conv/n0c3h4k8r1"}, "1 or more"},
        RefusedCommand{{"bench", "--problem", "con/n1"}, "the operations are"},
        RefusedCommand{{"bench", "--problem", "gemm/m8n8"}, "missing field 'k'"},
        RefusedCommand{{"bench", "--problems", "/no/such/file"}, "/no/such/file"},
        RefusedCommand{{"bench", "--threads", "-1"}, "must be 1 or more"},
        RefusedCommand{{"bench", "--filter=cnn"}, "no argument '--filter=cnn'"},
        RefusedCommand{{"topdown", "--cpu", "abacus", "--events", "x.json"}, "sapphire_rapids"},
        RefusedCommand{{"topdown", "--cpu", "zen4", "--events", "/no/such/x.json"},
                       "/no/such/x.json"}));

TEST(PlanTest, ShowsFusedLayersAndMemory) {
  const Outcome inference = RunProgram({"plan", "resnet18", "--infer", "--batch", "2"});
  EXPECT_EQ(inference.exit_status, kExitGood) << inference.output;
  EXPECT_THAT(inference.output, HasSubstr("+ layer1.0.conv2.bn + layer1.0.add + layer1.0.relu"));
  EXPECT_THAT(inference.output, HasSubstr("its other source is computed later"));
  EXPECT_THAT(inference.output, HasSubstr("peak memory: "));
  const Outcome training = RunProgram({"plan", "alexnet", "--batch", "2", "--buffers"});
  EXPECT_EQ(training.exit_status, kExitGood) << training.output;
  EXPECT_THAT(training.output, HasSubstr("backward_weights"));
  EXPECT_THAT(training.output, HasSubstr("drop6.step"));
}

// Training cannot continue after such a loss, so the command ends at once.
TEST(TrainTest, ALossThatIsNotANumberEndsTheTraining) {
  const Outcome outcome =
      RunProgram({"train", "lenet5", "--data", "synthetic", "--epochs", "1000000", "--batch", "8",
                  "--threads", "1", "--learning-rate", "1e20"});
  EXPECT_EQ(outcome.exit_status, kExitWrong) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("topdnn: train: "));
  EXPECT_THAT(outcome.output, HasSubstr("take a smaller --learning-rate than 1e+20"));
}

TEST(StepTest, LogitsForEachPlaceAreDumped) {
  const TestFolder folder;
  const std::string dump = folder.path() / "step.npz";
  const Outcome outcome = RunProgram({"step", "unet", "--size", "16", "--classes", "3", "--batch",
                                      "2", "--data", "synthetic", "--dump", dump});
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const NpzReader archive(dump);
  const auto& entries = archive.entries();
  const auto logits = std::find_if(entries.begin(), entries.end(),
                                   [](const auto& entry) { return entry.name == "logits"; });
  ASSERT_NE(logits, entries.end());
  EXPECT_EQ(logits->shape, Shape({2, 3, 16, 16}));
}

// The data set has five images, one per CIFAR-10 file.
TEST(StepTest, ReportsRepeatedImages) {
  const TestFolder folder;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    folder.Write(name, std::string(3073, '\x01'));
  }
  const auto step = [&](const std::string& batch) {
    return RunProgram({"step", "cnn", "--data", folder.path(), "--batch", batch, "--dump",
                       folder.path() / "step.npz"});
  };
  const Outcome repeated = step("8");
  EXPECT_EQ(repeated.exit_status, kExitGood) << repeated.output;
  EXPECT_THAT(repeated.output, HasSubstr("(5 images, repeated to fill the batch of 8)"));
  const Outcome enough = step("5");
  EXPECT_THAT(enough.output, testing::Not(HasSubstr("repeated"))) << enough.output;
}

TEST(StepTest, BackendsAgreeOnEveryArray) {
  const TestFolder folder;
  const std::string ours = folder.path() / "onednn.npz";
  const std::string theirs = folder.path() / "reference.npz";
  const std::vector<std::string> common = {"step", "cnn",    "--batch",   "8",         "--seed",
                                           "1",    "--data", "synthetic", "--threads", "1"};
  for (const auto& [backend, path] :
       {std::pair<std::string, std::string>("onednn", ours), {"reference", theirs}}) {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), {"--backend", backend, "--dump", path});
    ASSERT_EQ(RunProgram(arguments).exit_status, kExitGood);
  }
  const NamedArrays a = ReadNpz(ours);
  const NamedArrays b = ReadNpz(theirs);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.size(), 4u + 3 * 10);  // input, labels, loss, logits; ten parameters three times
  std::map<std::string, Shape> shapes;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].first, b[i].first);
    ASSERT_EQ(a[i].second.shape, b[i].second.shape);
    shapes[a[i].first] = a[i].second.shape;
    const auto values = [](const NpyArray& array) {
      return ToDouble({array.shape, array.type, Layout::Plain(array.shape.rank())},
                      array.data.data());
    };
    EXPECT_LE(RelativeError(values(a[i].second), values(b[i].second)), 1e-4) << a[i].first;
  }
  EXPECT_EQ(shapes["input"], (Shape{8, 3, 32, 32}));
  EXPECT_EQ(shapes["labels"], (Shape{8}));
  EXPECT_EQ(shapes["loss"], Shape{});
  EXPECT_EQ(shapes["logits"], (Shape{8, 10}));
  EXPECT_EQ(shapes["weights/conv2/weights"], (Shape{64, 32, 3, 3}));
  EXPECT_EQ(shapes["grad/dense1/weights"], (Shape{64, 1024}));
  EXPECT_EQ(shapes["updated/dense2/bias"], (Shape{10}));
}

TEST(ProfileTest, TheJsonHasTheKeysOfTheContract) {
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  const Outcome outcome =
      RunProgram({"profile", "cnn", "--train", "--batch", "4", "--iterations", "3", "--threads",
                  "1", "--data", "synthetic", "--json", path});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("conv1"));
  const nlohmann::json json = ReadJson(path);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["network"], "cnn");
  EXPECT_EQ(json["batch"], 4);
  EXPECT_EQ(json["backend"], "onednn");
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["dtype"], "f32");
  const nlohmann::json& seconds = json["step"]["seconds"];  // other tests may disturb a step
  EXPECT_EQ(seconds["n"].get<int>() + seconds["left_out"].get<int>(), 3);
  std::map<std::string, int> passes;
  double forward_flops = 0;
  double sum = 0;
  for (const auto& stage : json["stages"]) {
    const std::string op = stage["op"];
    const std::string pass = stage["pass"];
    ++passes[op + " " + pass];
    if (pass == "forward" && op != "pool") forward_flops += stage["flops"].get<double>();
    sum += stage["seconds"]["median"].get<double>();
    for (const char* key :
         {"name", "backend", "implementation", "status", "reason", "flops_counted", "bytes",
          "gflops", "peak_fraction", "events", "running_fraction", "topdown", "topdown_bounds",
          "topdown_bounds_basis", "roofline"}) {
      EXPECT_TRUE(stage.contains(key)) << key;
    }
  }
  EXPECT_EQ(forward_flops, 2.0 * 4548608 * 4);
  EXPECT_EQ(passes["conv forward"], 3);
  EXPECT_EQ(passes["conv backward_data"], 2);
  EXPECT_EQ(passes["conv backward_weights"], 3);
  EXPECT_EQ(passes["pool forward"], 2);
  EXPECT_EQ(passes["pool backward_data"], 2);
  EXPECT_EQ(passes["inner_product forward"], 2);
  EXPECT_EQ(passes["inner_product backward_data"], 2);
  EXPECT_EQ(passes["inner_product backward_weights"], 2);
  EXPECT_EQ(passes["softmax_cross_entropy loss"], 1);
  EXPECT_EQ(passes["sgd update"], 5);
  EXPECT_GT(sum, 0);
}

// Every stage of a training step has its FLOPs counted, workers included.
class ExactProfileTest : public testing::TestWithParam<std::string> {};

TEST_P(ExactProfileTest, CountsEveryStage) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the exact counter translates x86-64 code";
#elif defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the exact counter does not work under ThreadSanitizer";
#endif
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  const Outcome outcome = RunProgram(
      {"profile",         "cnn",    "--train",      "--backend",  GetParam(),  "--fallback",
       "--batch",         "4",      "--iterations", "2",          "--threads", "2",
       "--oversubscribe", "--data", "synthetic",    "--counters", "exact",     "--no-experiments",
       "--json",          path});
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json json = ReadJson(path);
  double counted = 0;
  for (const auto& stage : json["stages"]) {
    const std::string label = stage["name"].get<std::string>() + " " + stage["pass"].dump();
    ASSERT_TRUE(stage["flops_counted"].is_number()) << label << stage["counts_reason"];
    // (Eigen has its own thread pool: its stages are counted on one thread, and give this reason)
    if (GetParam() != "eigen") {
      EXPECT_TRUE(stage["counts_reason"].is_null()) << label;
    }
    EXPECT_GT(stage["events"]["exact/instructions"].get<double>(), 0) << label;
    counted += stage["flops_counted"].get<double>();
    if (stage["op"] != "conv" && stage["op"] != "inner_product") continue;
    // Biases, partial sums and masked lanes add FLOPs. Only padding can save some, and these layers
    // have none.
    const double ratio = stage["flops_counted"].get<double>() / stage["flops"].get<double>();
    EXPECT_GE(ratio, 1.0) << label;
    EXPECT_LT(ratio, 2.0) << label;
  }
  EXPECT_EQ(json["step"]["flops_counted"].get<double>(), counted);
  EXPECT_NEAR(counted / json["step"]["flops"].get<double>(), 1.0, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Backends, ExactProfileTest,
                         testing::Values("onednn", "eigen", "openblas", "reference"),
                         [](const auto& test) { return test.param; });

TEST(ValidateTest, EveryCaseHasAVerdict) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the exact counter translates x86-64 code";
#elif defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the exact counter does not work under ThreadSanitizer";
#endif
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  const ReservedCpu cpu(TOPDNN_BINARY_DIR);
  const Outcome outcome =
      RunShell(cpu.Run(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " validate --json " + Quoted(path)));
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("fma/sse2/f32/l1"));
  const nlohmann::json json = ReadJson(path);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["good"], true);
  int probes = 0;
  for (const auto& row : json["cases"]) {
    for (const char* key : {"case", "quantity", "known", "exact", "pmu", "ratio", "tolerance",
                            "tolerance_reason", "verdict", "reason"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
    if (row["verdict"] == "SKIPPED") {
      EXPECT_TRUE(row["reason"].is_string()) << row;
      continue;
    }
    EXPECT_EQ(row["verdict"], "OK") << row;
    if (row["tolerance"] == 0 && row["tolerance_absolute"] == 0) {
      EXPECT_EQ(row["exact"], row["known"]) << row;
      ++probes;
    } else {
      EXPECT_TRUE(row["tolerance_reason"].is_string()) << row;
    }
  }
  EXPECT_GT(probes, 50);
}

// A busy machine may finish no case in a second; then the interrupt comes later.
TEST(ValidateTest, AnInterruptKeepsTheFinishedCases) {
  const TestFolder folder;
  const std::string path = folder.path() / "out.json";
  nlohmann::json json;
  for (const char* const seconds : {"1", "5", "25"}) {
    const Outcome outcome =
        RunShell("timeout --preserve-status -s INT " + std::string(seconds) + " " +
                 Quoted(TOPDNN_BINARY_DIR "/topdnn") + " validate --json " + Quoted(path));
    ASSERT_EQ(outcome.exit_status, kExitInterrupted) << outcome.output;
    // An interrupt before the program handles it ends the program without a file.
    if (std::filesystem::exists(path)) json = ReadJson(path);
    if (!json["cases"].empty()) break;
  }
  EXPECT_GT(json["cases"].size(), 0u);
  EXPECT_EQ(json["good"], false);
}

TEST(BenchTest, RowsAreGoogleBenchmarksJson) {
  const TestFolder folder;
  const std::string path = folder.path() / "x.json";
  const Outcome outcome =
      RunProgram({"bench", "--benchmark_filter=cnn/train/n8/(step|conv1/forward)/reference",
                  "--benchmark_out=" + path, "--benchmark_out_format=json"});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json json = ReadJson(path);
  EXPECT_TRUE(json.contains("context"));
  ASSERT_EQ(json["benchmarks"].size(), 2u);
  for (const auto& row : json["benchmarks"]) {
    EXPECT_GT(row["real_time"].get<double>(), 0);
    EXPECT_GT(row["median_s"].get<double>(), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

// A kernel that the backend does not have is distinguished from one that fails, and from a filter
// that matches no case.
TEST(BenchTest, AMissingKernelIsSkippedWithTheReason) {
  // oneDNN has no Winograd algorithm for 1x1 kernels.
  const Outcome skipped = RunProgram({"bench", "--problem", "conv/c8h6k8r1",
                                      "--benchmark_filter=forward/onednn-winograd/f32/t[0-9]*/m"});
  EXPECT_EQ(skipped.exit_status, kExitNothing) << skipped.output;
  EXPECT_THAT(skipped.output, HasSubstr("SKIPPED: "));
  const Outcome timed =
      RunProgram({"bench", "--problem", "conv/c8h6k8r3", "--benchmark_min_time=0.001",
                  "--benchmark_filter=forward/(eigen|eigen-sgemm|onednn|openblas|auto)/f32"});
  EXPECT_EQ(timed.exit_status, kExitGood) << timed.output;
  EXPECT_THAT(timed.output, testing::Not(HasSubstr("SKIPPED")));
  EXPECT_THAT(timed.output, HasSubstr("auto: "));
}

// A filter selects a few cases of a set of thousands. The other cases are not prepared.
TEST(BenchTest, CasesOfProblemSetsAreSelectedByName) {
  const std::vector<std::string> filters = {
      "deepbench-training/gemm/m16n1760k1760/forward/onednn/f32",
      "deepbench-server/conv/n1c1h161w700k32r5s20u2v2p0q0/",
      "deepbench-device/gemm/.*k128.*/forward/openblas/f32",
      "resnet50-layers/conv/n8c2048h7w7k512.*/forward/onednn/u8", "smoke/relu/.*/forward/eigen"};
  const Outcome outcome =
      RunProgram({"bench", "--benchmark_list_tests=true",
                  fmt::format("--benchmark_filter={}", fmt::join(filters, "|"))});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  for (const std::string& filter : filters) {
    EXPECT_TRUE(std::regex_search(outcome.output, std::regex(filter))) << filter;
  }
}

TEST(TopdownTest, RecordedCountsGiveTheJsonOfTheContract) {
  const TestFolder folder;
  const auto events = folder.Write("counts.json", R"({"smt": false, "events": {
    "TOPDOWN.SLOTS": 6000, "PERF_METRICS.RETIRING": 3000, "PERF_METRICS.BAD_SPECULATION": 300,
    "PERF_METRICS.FRONTEND_BOUND": 900, "PERF_METRICS.BACKEND_BOUND": 1800,
    "PERF_METRICS.MEMORY_BOUND": 1200, "INT_MISC.UOP_DROPPING": 0}})");
  const std::string path = folder.path() / "topdown.json";
  const Outcome outcome = RunProgram(
      {"topdown", "--cpu", "sapphire_rapids", "--events", events.string(), "--json", path});
  EXPECT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  const nlohmann::json json = ReadJson(path);
  EXPECT_EQ(json["cpu"], "sapphire_rapids");
  EXPECT_DOUBLE_EQ(json["level1"]["Retiring"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(json["level1"]["Frontend_Bound"].get<double>(), 0.15);
  EXPECT_DOUBLE_EQ(json["level2"]["Memory_Bound"].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(json["level2"]["Core_Bound"].get<double>(), 0.1);
  EXPECT_TRUE(json["level2"]["Fetch_Latency"].is_null());
  EXPECT_EQ(json["missing"].size(), 3u);
}

TEST(TrainTest, IntervalsGiveRowsBetweenTheEpochsAndTheWeightsAreSaved) {
  const TestFolder folder;
  const std::string trained = folder.path() / "trained.onnx";
  const Outcome outcome =
      RunProgram({"train", "cnn", "--data", "synthetic", "--epochs", "1", "--batch", "256",
                  "--threads", "1", "--interval", "1", "--save", trained});
  ASSERT_EQ(outcome.exit_status, kExitGood) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("  forward    backward      update"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("\n +2 +[0-9.]+ +[0-9.]+ "));
  const Outcome quantized = RunProgram({"quantize", trained, folder.path() / "int8.onnx", "--data",
                                        "synthetic", "--images", "32", "--test-images", "200"});
  EXPECT_THAT(quantized.output, HasSubstr("right for 100.00 % in f32 and 100.00 % in integers"));
}

TEST(NearestNameTest, SuggestsOnlySimilarNames) {
  const std::vector<std::string> names = {"onednn", "openblas", "eigen", "reference"};
  EXPECT_EQ(NearestName("onedn", names), "onednn");
  EXPECT_EQ(NearestName("eigne", names), "eigen");
  EXPECT_EQ(NearestName("cudnn-on-gpu", names), "");
  EXPECT_EQ(NearestName("xy", std::vector<std::string>{"l2"}), "");  // no letter is the same
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("ab", "ba"), 1);
}

}  // namespace
}  // namespace topdnn
