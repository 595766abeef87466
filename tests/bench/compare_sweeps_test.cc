// `topdnn compare` of sweeps with cases that do not compare.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// A sweep of two cases with these profiles.
std::string WriteSweep(const TestFolder& folder, const std::string& name, const nlohmann::json& x,
                       const nlohmann::json& y) {
  nlohmann::json cases = nlohmann::json::array();
  for (const char* id : {"x", "y"}) {
    cases.push_back({{"id", id}, {"backend", id}, {"file", std::string(id) + ".json"}});
  }
  folder.Write(name + "/x.json", x.dump());
  folder.Write(name + "/y.json", y.dump());
  folder.Write(name + "/sweep.json",
               nlohmann::json{{"schema", 1}, {"cases", cases}, {"left_out", 0}}.dump());
  return (folder.path() / name).string();
}

// The mean of the steps is that of the other case.
TEST(CompareSweepsTest, ACaseWithoutAnIntervalCannotBeTold) {
  const TestFolder folder;
  nlohmann::json invalid = ProfileJson({.seed = 4});
  invalid["step"]["status"] = "INVALID";
  const std::string a = WriteSweep(folder, "a", ProfileJson({.seed = 1}), ProfileJson({.seed = 2}));
  const std::string b = WriteSweep(folder, "b", ProfileJson({.seed = 3}), ProfileJson({.seed = 4}));
  const std::string c = WriteSweep(folder, "c", ProfileJson({.seed = 3}), invalid);
  EXPECT_EQ(RunProgram({"compare", a, b, "--fail-above", "20%"}).exit_status, kExitGood);
  const Outcome outcome = RunProgram({"compare", a, c, "--fail-above", "20%"});
  EXPECT_EQ(outcome.exit_status, kExitCannotTell) << outcome.output;
}

TEST(CompareSweepsTest, ACaseMustBeAProfile) {
  const TestFolder folder;
  const nlohmann::json machine = {{"schema", 1}, {"cpu", {}}, {"ceilings", {}}};
  const std::string sweep = WriteSweep(folder, "a", machine, ProfileJson({}));
  ExpectRefused({{"compare", sweep, sweep}, "x.json: is a machine file"});
}

}  // namespace
}  // namespace topdnn
