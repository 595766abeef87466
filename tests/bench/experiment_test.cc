// `profile --experiment NAME`: the result of every stage in the JSON, or the reason why there is
// none, and the options that it excludes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/formats/npz.h"
#include "harness/experiments/denormals.h"
#include "harness/experiments/huge_pages.h"
#include "harness/experiments/remapped_memory.h"
#include "harness/machine/cpu_set.h"
#include "harness/probes/probe.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::Not;

class ExperimentOnBackend : public testing::TestWithParam<const char*> {};

TEST_P(ExperimentOnBackend, EveryStageHasASplitOrAReason) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer's handler of faults replaces that of the experiment";
#endif
  if (const std::string why = WhyNoRemapping(); !why.empty()) GTEST_SKIP() << why;
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome = RunProgram(
      {"profile", "cnn", "--train", "--batch", "8", "--data", "synthetic", "--backend", GetParam(),
       "--seconds", "0.1", "--counters", "none", "--experiment", "memory", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Memory by experiment"));
  const nlohmann::json report = ReadJson(file);
  int split = 0;
  for (const auto& stage : report.at("stages")) {
    const auto& nodes = stage.at("topdown_experiment");
    if (nodes.is_null()) {
      EXPECT_TRUE(stage.at("topdown_experiment_reason").is_string()) << stage.at("name");
      continue;
    }
    ++split;
    double low = 0;
    for (const char* node : {"Memory_Bound", "Rest"}) {
      const auto interval = nodes.at(node).get<std::vector<double>>();
      ASSERT_EQ(interval.size(), 2U);
      EXPECT_GE(interval[0], 0);
      EXPECT_LE(interval[0], interval[1]);
      EXPECT_LE(interval[1], 1);
      low += interval[0];
      EXPECT_TRUE(stage.at("topdown_experiment_basis").contains(node));
    }
    EXPECT_LE(low, 1 + 1e-9);
    // Counts may bound them; if not, they are absent, not zero.
    EXPECT_TRUE(nodes.contains("Retiring") && nodes.contains("Core_Bound"));
  }
  EXPECT_GT(split, 0);
  const nlohmann::json& step = report.at("step");
  if (step.at("topdown_experiment").is_null()) {  // (momentum is denormal after many steps)
    EXPECT_EQ(step.at("topdown_experiment_reason"), "stages of it have denormals");
  } else {
    EXPECT_TRUE(step.at("topdown_experiment").contains("Memory_Bound"));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ExperimentOnBackend,
                         testing::Values("onednn", "eigen", "openblas"));

void ExpectInterval(const nlohmann::json& interval, double low, double high) {
  const auto ends = interval.get<std::vector<double>>();
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_GE(ends[0], low);
  EXPECT_LE(ends[0], ends[1]);
  EXPECT_LE(ends[1], high);
}

std::vector<std::string> QuickProfile(const std::string& file, const char* experiment,
                                      const char* threads) {
  return {"profile",   "cnn",          "--train",  "--batch",    "8",    "--data",
          "synthetic", "--seconds",    "0.1",      "--counters", "none", "--threads",
          threads,     "--experiment", experiment, "--json",     file};
}

TEST(WidthExperiment, EveryStageHasItsTimesAndItsSerialShare) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome = RunProgram(QuickProfile(file, "width", "2"));
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Threads by experiment"));
  const nlohmann::json report = ReadJson(file);
  std::vector<nlohmann::json> records = report.at("stages");
  records.push_back(report.at("step"));
  for (const nlohmann::json& record : records) {
    if (!record.contains("width_experiment")) {  // other tests took the CPUs and the budget of time
      EXPECT_EQ(record.at("width_experiment_reason"), "too few rounds for an interval");
      EXPECT_THAT(outcome.output, HasSubstr("not measured: too few rounds for an interval ("));
      continue;
    }
    const nlohmann::json& result = record.at("width_experiment");
    EXPECT_EQ(result.at("threads"), (nlohmann::json{1, 2}));
    EXPECT_EQ(result.at("seconds").size(), 2U);
    ExpectInterval(result.at("serial_share"), 0, 1);
    ExpectInterval(result.at("speedup"), 0, 1e6);
  }
}

TEST(BandwidthExperiment, EveryStageHasItsSlowdown) {
  if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  if (WidestProbe(ProbeKind::kRead) == nullptr) GTEST_SKIP() << "no probe reads memory here";
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome = RunProgram(QuickProfile(file, "bandwidth", "1"));
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json report = ReadJson(file);
  std::vector<nlohmann::json> records = report.at("stages");
  records.push_back(report.at("step"));
  for (const nlohmann::json& record : records) {
    if (!record.contains("bandwidth_experiment")) {  // other tests used the readers' CPU
      EXPECT_THAT(record.at("bandwidth_experiment_reason").get<std::string>(),
                  HasSubstr("in which the readers took bandwidth"));
      continue;
    }
    const nlohmann::json& result = record.at("bandwidth_experiment").begin().value();
    EXPECT_GT(result.at("taken").get<double>(), 0);
    ExpectInterval(result.at("slowdown"), 0, 1e6);
    ExpectInterval(result.at("slope"), -1e6, 1e6);
  }
}

// Every tenth weight of c3 becomes denormal.
void PlantDenormals(const std::filesystem::path& from, const std::filesystem::path& to) {
  NamedArrays planted;
  for (auto& [name, array] : ReadNpz(from)) {
    if (!name.starts_with("weights/")) continue;
    for (std::size_t i = 0; name == "weights/c3/weights" && i < array.data.size(); i += 40) {
      const float denormal = 1e-39F;
      std::memcpy(array.data.data() + i, &denormal, sizeof denormal);
    }
    planted.emplace_back(name, std::move(array));
  }
  WriteNpz(to, planted);
}

// lenet5's weights with those denormals, as a file in the folder.
std::string PlantedWeights(const TestFolder& folder) {
  const std::string dump = (folder.path() / "step.npz").string();
  const std::string planted = (folder.path() / "planted.npz").string();
  EXPECT_EQ(RunProgram({"step", "lenet5", "--batch", "1", "--dump", dump}).exit_status, 0);
  PlantDenormals(dump, planted);
  return planted;
}

double ShareOf(const nlohmann::json& stage, const std::string& operand) {
  for (const auto& of_stage : stage.at("denormals").at("operands")) {
    if (of_stage.at("name") == operand && !of_stage.at("result")) return of_stage.at("share");
  }
  return -1;
}

TEST(DenormalsExperiment, FindsPlantedWeights) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer's own thread blocks every signal";
#endif
  if (const std::string why = WhyNoFlushing(); !why.empty()) GTEST_SKIP() << why;
  const TestFolder folder;
  const std::string planted = PlantedWeights(folder);
  const std::string file = (folder.path() / "o.json").string();
  const Outcome with = RunProgram(
      {"profile", "lenet5", "--infer", "--batch", "1", "--data", "synthetic", "--seconds", "0.05",
       "--counters", "none", "--experiment", "denormals", "--weights", planted, "--json", file});
  ASSERT_EQ(with.exit_status, 0) << with.output;
  EXPECT_THAT(with.output, HasSubstr("denormals: 10 % of the weights of c3 forward"));
  EXPECT_THAT(with.output, HasSubstr("Denormals by experiment"));
  const nlohmann::json report = ReadJson(file);
  int found = 0;
  for (const auto& stage : report.at("stages")) {
    const bool is_c3 = stage.at("name") == "c3";
    found += is_c3 ? 1 : 0;
    if (is_c3) {
      EXPECT_NEAR(ShareOf(stage, "weights"), 0.1, 1e-3);
    } else {
      EXPECT_LE(ShareOf(stage, "weights"), 0) << stage.at("name");
    }
    if (found == 0) {
      EXPECT_EQ(stage.at("denormals").at("changed"), 0) << stage.at("name");
    }
    const nlohmann::json& result = stage.at("denormals");
    if (result.at("factor").is_null()) {
      EXPECT_TRUE(result.at("reason").is_string());
    } else {
      ExpectInterval(result.at("factor"), 0, 1e6);
    }
    EXPECT_LT(result.at("largest_change"), 1e-5);
  }
  EXPECT_EQ(found, 1);
  EXPECT_THAT(report.at("step").at("denormals").at("origin").get<std::string>(),
              HasSubstr("the weights of c3 forward (10 %)"));
}

// Other operands would be normal numbers. On an Emerald Rapids, where convolutions with these
// weights took 100 times as long, the tree had 97 to 100 % Memory_Bound.
TEST(DenormalsExperiment, AStageWithThemHasNoTree) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer executes other code";
#endif
  const TestFolder folder;
  const std::string planted = PlantedWeights(folder);
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome =
      RunProgram({"profile", "lenet5", "--infer", "--batch", "1", "--data", "synthetic",
                  "--seconds", "0.05", "--weights", planted, "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  const nlohmann::json report = ReadJson(file);
  int found = 0;
  for (const auto& stage : report.at("stages")) {
    if (stage.at("name") != "c3") continue;
    ++found;
    for (const char* left_out : {"core", "topdown_experiment", "topdown_bounds", "tree"}) {
      EXPECT_TRUE(!stage.contains(left_out) || stage.at(left_out).is_null()) << left_out;
    }
    EXPECT_THAT(stage.at("tree_reason").dump(), HasSubstr("10 % of the weights of c3 forward"));
  }
  EXPECT_EQ(found, 1);
}

TEST(PagesExperiment, EveryStageHasAFactorOrAReason) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer has poisoned the memory between tensors, which is copied with them";
#endif
  if (const std::string why = WhyNoPages(PageKind::kTransparent, 0); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome =
      RunProgram({"profile", "cnn", "--infer", "--batch", "32", "--data", "synthetic", "--seconds",
                  "0.05", "--counters", "none", "--experiment", "pages", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("Pages by experiment"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("denormals: ")));
  const nlohmann::json report = ReadJson(file);
  std::vector<nlohmann::json> records = report.at("stages");
  records.push_back(report.at("step"));
  for (const nlohmann::json& record : records) {
    const nlohmann::json& pages = record.at("pages");
    EXPECT_GT(pages.at("bytes"), 0);
    for (const char* kind : {"transparent", "reserved"}) {
      const nlohmann::json& result = pages.at(kind);
      if (result.at("factor").is_null()) {
        EXPECT_TRUE(result.at("reason").is_string()) << kind;
      } else {
        ExpectInterval(result.at("factor"), 0, 1e6);
      }
    }
  }
  const nlohmann::json& step = report.at("step").at("pages");
  const nlohmann::json& transparent = step.at("transparent");
  if (!transparent.at("factor").is_null()) {
    EXPECT_GT(transparent.at("proved_bytes"), 0);
    EXPECT_LE(transparent.at("proved_bytes"), step.at("bytes"));
  }
}

TEST(BandwidthExperiment, NeedsACpuForTheReaders) {
  const std::size_t cpus = AllowedCpus().cpus.size();
  const Outcome outcome = RunProgram({"profile", "lenet5", "--infer", "--batch", "1", "--threads",
                                      std::to_string(cpus), "--experiment", "bandwidth"});
  EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("needs a CPU beside"));
}

TEST(MemoryExperiment, RefusesSgemmOnSeveralThreads) {
  if (const std::string why = WhyNoRemapping(); !why.empty()) GTEST_SKIP() << why;
  const auto run = [](const char* threads) {
    return RunProgram({"profile", "lenet5", "--infer", "--batch", "1", "--seconds", "0.02",
                       "--data", "synthetic", "--counters", "none", "--backend", "eigen-sgemm",
                       "--threads", threads, "--oversubscribe", "--experiment", "memory"});
  };
  const Outcome several = run("2");
  EXPECT_EQ(several.exit_status, 2) << several.output;
  EXPECT_THAT(several.output, HasSubstr("give --threads 1 or --backend eigen"));
#if !defined(__SANITIZE_ADDRESS__)
  const Outcome one = run("1");
  EXPECT_EQ(one.exit_status, 0) << one.output;
#endif
}

TEST(WidthExperiment, NeedsTwoThreads) {
  const Outcome outcome = RunProgram(
      {"profile", "lenet5", "--infer", "--batch", "1", "--threads", "1", "--experiment", "width"});
  EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("needs 2 threads or more"));
}

TEST(ExperimentOptions, AreCheckedFirst) {
  struct Refused {
    std::vector<std::string> more;
    const char* text;
  };
  for (const Refused& refused :
       {Refused{{"--experiment", "memroy"}, "did you mean memory?"},
        Refused{{"--experiment", "memory", "--regime", "isolated-cold"}, "--regime"},
        Refused{{"--experiment", "width", "--regime", "isolated-hot"}, "takes --regime in-network"},
        Refused{{"--experiment", "memory", "--counters", "replay:r.json"}, "recording"}}) {
    std::vector<std::string> arguments = {"profile", "cnn", "--infer"};
    arguments.insert(arguments.end(), refused.more.begin(), refused.more.end());
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(refused.text));
  }
}

}  // namespace
}  // namespace topdnn
