#include "bench/profile/limits/stage_balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "harness/exact/counter.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StageBalanceTest, WidthsDoubleUntilTheThreads) {
  EXPECT_THAT(WidthsUpTo(1), ElementsAre(1));
  EXPECT_THAT(WidthsUpTo(2), ElementsAre(2));
  EXPECT_THAT(WidthsUpTo(6), ElementsAre(2, 4, 6));
  EXPECT_THAT(WidthsUpTo(16), ElementsAre(2, 4, 8, 16));
}

// Ideal scaling from 4 to 8 threads would add 3.6: a quarter is 0.9.
TEST(StageBalanceTest, AWidthHelpsIfItAddsAQuarterOfTheIdeal) {
  EXPECT_EQ(LastWidthThatHelps({2, 4, 8}, {1.9, 3.6, 7.0}), 8);
  EXPECT_EQ(LastWidthThatHelps({2, 4, 8}, {1.9, 3.6, 4.6}), 8);
  EXPECT_EQ(LastWidthThatHelps({2, 4, 8}, {1.9, 3.6, 4.4}), 4);
  EXPECT_EQ(LastWidthThatHelps({2, 4, 8}, {1.0, 1.0, 1.0}), 1);
}

// The row of a stage in the table of widths, which is the second one, as words.
std::vector<std::string> RowOf(const std::string& output, const std::string& stage) {
  std::istringstream lines(output.substr(output.find("scales to")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(stage)) continue;
    std::istringstream words(line.substr(stage.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

// A dense layer with 10 outputs and one image cannot use 16 threads, and conv2 of 64 images can.
TEST(StageBalanceTest, PlanNamesTheStageThatDoesNotScale) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  const Outcome outcome = RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") +
                                   " plan cnn --infer --batch 1 --threads 16 --balance");
  EXPECT_EQ(outcome.exit_status, 0);
  const std::vector<std::string> dense = RowOf(outcome.output, "dense2 forward");
  ASSERT_EQ(dense.size(), 6U) << outcome.output;  // instructions, 2, 4, 8, 16, scales to
  EXPECT_LT(std::stod(dense[4]), 4);
  const std::vector<std::string> conv = RowOf(outcome.output, "conv2 forward");
  ASSERT_EQ(conv.size(), 6U) << outcome.output;
  EXPECT_GT(std::stod(conv[1]), 1.7);
  EXPECT_LE(std::stod(conv[1]), 2.1);
  EXPECT_THAT(outcome.output, HasSubstr("the step on 16 threads: at most "));
}

TEST(StageBalanceTest, TooManyThreadsAreRefused) {
  const Outcome outcome =
      RunShell(Quoted(TOPDNN_BINARY_DIR "/topdnn") + " plan cnn --threads 257 --balance 2>&1");
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--threads 257: must be 256 or fewer"));
}

}  // namespace
}  // namespace topdnn
