// `topdnn malleable --program`: an unchanged program follows the limit, and its rounds are
// compared.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/studies/malleable/malleable_program.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

const std::string kRegions = TOPDNN_BINARY_DIR "/tests/regions_sample";  // regions/sample.cc

class MalleableProgramTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's runtime must be the first library of the program";
#endif
    if (AllowedCpus().cpus.size() < 2) GTEST_SKIP() << "two widths need two CPUs";
  }
  Outcome Run(const std::string& words) const {
    return RunShell("cd " + Quoted(folder_.path().string()) +
                    " && OMP_NUM_THREADS=2 OMP_SCHEDULE=dynamic timeout 120 " +
                    Quoted(TOPDNN_BINARY_DIR "/topdnn") + " malleable --program " + words);
  }
  nlohmann::json Result() const { return ReadJson((folder_.path() / "o.json").string()); }

  TestFolder folder_;
};

TEST_F(MalleableProgramTest, EveryKindOfRegionFollowsTheLimit) {
  const Outcome outcome = Run("--json o.json -- " + Quoted(kRegions));
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("both: 2 2 2 2 2, own 2, inner 1\n"
                                        "one: 1 1 1 1 1, own 2, inner 1\n"
                                        "asked for two: 1\n"
                                        "both: 2 2 2 2 2, own 2, inner 1\n"
                                        "asked for one: 1\n"));
  const nlohmann::json run = Result().at("following").at(0);
  // The program's own count; and by hand, one region in each of three rounds has its own width.
  EXPECT_THAT(outcome.output, HasSubstr("\nregions " + run.at("regions").dump() + "\n"));
  EXPECT_EQ(run.at("own_regions"), 3);
  std::vector<int> widths;
  for (const auto& width : run.at("widths")) widths.push_back(width.at("width"));
  ASSERT_GE(widths.size(), 3U);
  EXPECT_EQ(widths[1], 1);
  EXPECT_EQ(widths[2], widths[0]);
}

TEST_F(MalleableProgramTest, RoundsRunBothInTurn) {
  const Outcome outcome = Run("--rounds 2 --json o.json -- sh -c 'echo ran'");
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("ran\nran\nran\nran\n"));
  EXPECT_THAT(outcome.output, HasSubstr("2 rounds: too few for an interval"));
  EXPECT_THAT(outcome.output, HasSubstr("nothing followed"));
  const nlohmann::json result = Result();
  EXPECT_EQ(result.at("unchanged").size(), 2U);
  EXPECT_EQ(result.at("following").size(), 2U);
  EXPECT_TRUE(result.at("ratio").is_null());
  EXPECT_TRUE(result.at("unchanged").at(0).at("widths").empty());
}

TEST_F(MalleableProgramTest, TheStatusIsThatOfTheProgram) {
  const Outcome outcome = Run("--rounds 3 -- sh -c 'exit 7'");
  EXPECT_EQ(outcome.exit_status, 7);
  EXPECT_THAT(outcome.output, HasSubstr("topdnn: malleable: sh ended with status 7\n"));
}

TEST(MalleableProgramCommand, RefusesWhatItCannotRun) {
  ExpectRefused({{"malleable", "--program"}, "NET is required"});
  ExpectRefused({{"malleable", "--program", "--", "/nonexistent"}, "cannot be started"});
  ExpectRefused({{"malleable", "lenet5", "more"}, "give one network, or --program -- COMMAND"});
  ExpectRefused({{"malleable", "lenet5", "--rounds", "2"}, "--rounds is for --program"});
}

// By hand: five ratios of 0.5 and one of 0.25; six rounds give their range.
TEST(ProgramRoundsTest, TheRatioIsThatOfTheRounds) {
  ProgramRounds rounds;
  for (const double seconds : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) {
    rounds.unchanged.push_back({.end = {}, .seconds = 2 * seconds});
    rounds.following.push_back({.end = {}, .seconds = seconds < 6 ? seconds : 3});
    EXPECT_EQ(rounds.Ratio().has_value(), seconds == 6);
  }
  ASSERT_TRUE(rounds.Ratio());
  EXPECT_EQ(rounds.Ratio()->low, 0.25);
  EXPECT_EQ(rounds.Ratio()->high, 0.5);
}

}  // namespace
}  // namespace topdnn
