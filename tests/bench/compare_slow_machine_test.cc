// `topdnn compare` of runs beside which the machine was slower than it can be.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// A neighbour that makes the whole run slower does not slow all stages alike.
TEST(CompareSlowMachineTest, AStageOfASlowMachineIsNoFinding) {
  const TestFolder folder;
  const std::string a = folder.Write("a.json", ProfileJson({.seed = 1}).dump()).string();
  const std::string result = (folder.path() / "c.json").string();
  nlohmann::json slow =
      ProfileJson({.seed = 2, .slow_stage = "conv14", .slowdown = 1.5, .status = "DEGRADED"});
  int status = 0;
  const auto verdict_at = [&](const nlohmann::json& arithmetic) {
    const nlohmann::json speeds = {{"arithmetic", arithmetic}, {"memory", 0.9}};
    for (nlohmann::json& stage : slow["stages"]) stage["speeds"] = speeds;
    slow["step"]["speeds"] = speeds;
    const std::string b = folder.Write("b.json", slow.dump()).string();
    status = RunProgram({"compare", a, b, "--json", result, "--fail-above", "3%"}).exit_status;
    return ReadJson(result)["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict_at(0.95), "slower");
  EXPECT_EQ(status, kExitWrong);
  EXPECT_EQ(verdict_at(0.6), "cannot tell");
  EXPECT_EQ(status, kExitCannotTell);
  EXPECT_EQ(verdict_at("fast"), "slower") << "0.9 of memory explains a tenth";
}

}  // namespace
}  // namespace topdnn
