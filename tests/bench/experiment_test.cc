// `profile --experiment NAME`: the result of every stage in the JSON, or the reason why there is
// none, and the options that it excludes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/experiments/remapped_memory.h"
#include "harness/machine/cpu_set.h"
#include "harness/probes/probe.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

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
  EXPECT_TRUE(report.at("step").at("topdown_experiment").contains("Memory_Bound"));
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
      EXPECT_THAT(report.dump(), HasSubstr("too few rounds for an interval"));
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
      EXPECT_THAT(report.dump(), HasSubstr("in which the readers took bandwidth"));
      continue;
    }
    const nlohmann::json& result = record.at("bandwidth_experiment").begin().value();
    EXPECT_GT(result.at("taken").get<double>(), 0);
    ExpectInterval(result.at("slowdown"), 0, 1e6);
    ExpectInterval(result.at("slope"), -1e6, 1e6);
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
