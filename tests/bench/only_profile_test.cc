// The program of bench/run's first table has all that `profile` needs.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/program.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

std::string QuotedOnlyProfile() { return Quoted(TOPDNN_BINARY_DIR "/only_profile/topdnn"); }

// (the help has the experiments, counter sources, backends, networks and data sets)
TEST(OnlyProfileTest, TheHelpIsThatOfTheCompleteProgram) {
  const Outcome outcome = RunShell(QuotedOnlyProfile() + " profile --help");
  EXPECT_EQ(outcome.exit_status, 0);
  EXPECT_EQ(outcome.output, RunShell(QuotedProgram() + " profile --help").output);
}

TEST(OnlyProfileTest, TheStagesAreThoseOfTheCompleteProgram) {
  const TestFolder folder;
  std::vector<std::vector<std::string>> stages;
  for (const std::string& program : {QuotedOnlyProfile(), QuotedProgram()}) {
    const auto file = folder.path() / "profile.json";
    const Outcome outcome = RunShell(
        program +
        " profile cnn --train --batch 4 --iterations 1 --no-isolated --counters none --json " +
        Quoted(file.string()));
    ASSERT_LE(outcome.exit_status, 1) << outcome.output;  // (1: a busy machine)
    std::vector<std::string>& found = stages.emplace_back();
    const nlohmann::json profile = ReadJson(file);
    for (const nlohmann::json& stage : profile.at("stages")) {
      found.push_back(stage.at("name").get<std::string>() + " " +
                      stage.at("pass").get<std::string>() + " " +
                      stage.at("implementation").get<std::string>());
    }
  }
  EXPECT_GE(stages[0].size(), 20u);
  EXPECT_EQ(stages[0], stages[1]);
}

}  // namespace
}  // namespace topdnn
