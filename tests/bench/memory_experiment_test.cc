// `profile --experiment memory`: the split of every stage in the JSON, or the reason why there is
// none, and the options that it excludes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/experiments/remapped_memory.h"
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

TEST(MemoryExperimentOptions, AreCheckedFirst) {
  struct Refused {
    std::vector<std::string> more;
    const char* text;
  };
  for (const Refused& refused :
       {Refused{{"--experiment", "memroy"}, "did you mean memory?"},
        Refused{{"--experiment", "memory", "--regime", "isolated-cold"}, "--regime"},
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
