// The ctest labels that select a part of the tests, as ctest lists them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// Runs in a separate folder, because even listing tests overwrites the log of the running ctest.
std::string Listed(const std::string& arguments) {
  const TestFolder folder;
  folder.Write("CTestTestfile.cmake", "subdirs(\"" TOPDNN_BINARY_DIR "\")\n");
  const Outcome outcome =
      RunShell("ctest --test-dir " + Quoted(folder.path().string()) + " -N " + arguments);
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  return outcome.output;
}

#define SKIP_WITHOUT_WEEKLY_TESTS() \
  if (!TOPDNN_WEEKLY) GTEST_SKIP() << "this build leaves out what CI runs once a week"

TEST(LabelsTest, EachExists) {
  const std::string labels = Listed("--print-labels");
  for (const char* label :
       {"exact", "kernel", "mpi", "network", "plugin", "pmu", "sharing", "unit"}) {
    EXPECT_THAT(labels, testing::HasSubstr("  " + std::string(label) + "\n"));
  }
}

TEST(LabelsTest, EachWeeklyOneExists) {
  SKIP_WITHOUT_WEEKLY_TESTS();
  const std::string labels = Listed("--print-labels");
  for (const char* label : {"hostile", "report", "slow", "slurm"}) {
    EXPECT_THAT(labels, testing::HasSubstr("  " + std::string(label) + "\n"));
  }
}

TEST(LabelsTest, ASlowTestHasBothLabels) {
  SKIP_WITHOUT_WEEKLY_TESTS();
  const std::string name = "ReadmeCommandsTest.TheTwoScriptsAreShownFirst";
  EXPECT_THAT(Listed("-L slow"), testing::HasSubstr(name));
  EXPECT_THAT(Listed("-L unit"), testing::HasSubstr(name));
  EXPECT_THAT(Listed("-L unit -LE slow"), testing::Not(testing::HasSubstr(name)));
}

TEST(LabelsTest, ATestOfTheExactCounterHasBothLabels) {
  for (const std::string name : {"ExactSignals.ATimer", "ExactRandom.NearTheCodeCache"}) {
    EXPECT_THAT(Listed("-L exact"), testing::HasSubstr(name));
    EXPECT_THAT(Listed("-L unit"), testing::HasSubstr(name));
    EXPECT_THAT(Listed("-LE exact"), testing::Not(testing::HasSubstr(name)));
  }
  EXPECT_THAT(Listed("-L exact"), testing::Not(testing::HasSubstr("MeasureSequence")));
}

}  // namespace
}  // namespace topdnn
