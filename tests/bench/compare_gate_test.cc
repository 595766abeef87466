// What `compare --fail-above` decides from intervals by hand, and from files with odd values.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/command_line/command.h"
#include "bench/studies/compare/comparison.h"
#include "tests/bench/profile_json.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// It is slower by 1 to 10 %: a gate of 3 % cannot tell, one of 20 % can.
TEST(CompareGateTest, ASlowdownThatMayBeAboveTheLimitIsNotExcluded) {
  Comparison comparison;
  comparison.step.emplace();
  comparison.step->difference.ratio = 1.05;
  comparison.step->difference.interval = Interval{.low = 1.01, .high = 1.1};
  comparison.step->difference.significant = true;
  comparison.limit = 0.03;
  EXPECT_FALSE(comparison.SlowerThan(0.03));
  EXPECT_TRUE(comparison.CannotTellSlowdown());
  EXPECT_FALSE(comparison.CannotTell()) << "it is slower";
  comparison.limit = 0.2;
  EXPECT_FALSE(comparison.CannotTellSlowdown());
}

TEST(CompareGateTest, OneTimeOfOneRowTellsNothing) {
  const TestFolder folder;
  const nlohmann::json benchmarks = {
      {"context", {{"host_name", "h"}}},
      {"benchmarks", {{{"name", "row"}, {"real_time", 100}, {"time_unit", "us"}}}}};
  const std::string a = folder.Write("a.json", benchmarks.dump()).string();
  const std::string out = (folder.path() / "c.json").string();
  const Outcome outcome = RunProgram({"compare", a, a, "--fail-above", "5%", "--json", out});
  EXPECT_EQ(outcome.exit_status, kExitCannotTell) << outcome.output;
  const nlohmann::json result = ReadJson(out);
  EXPECT_EQ(result["verdict"], "cannot tell");
  EXPECT_TRUE(result["rows"][0]["ci95"].is_null());
}

TEST(CompareGateTest, AKeyOfAnotherTypeIsRefused) {
  const TestFolder folder;
  nlohmann::json odd = ProfileJson({});
  odd["machine"] = nlohmann::json::array();
  const std::string good = folder.Write("good.json", ProfileJson({}).dump()).string();
  const std::string bad = folder.Write("bad.json", odd.dump()).string();
  ExpectRefused({{"compare", good, bad}, "a key has another type than topdnn writes"});
}

}  // namespace
}  // namespace topdnn
