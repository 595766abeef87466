// Every source file has the format of .clang-format.

#include <gtest/gtest.h>

#include "tests/house/source_tree.h"
#include "tests/process/child_process.h"

namespace topdnn {
namespace {

class FormatTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RunShell("command -v clang-format").exit_status != 0) {
      GTEST_SKIP() << "clang-format is not installed; .ci/run installs it and makes the same check";
    }
  }
};

TEST_F(FormatTest, EverySourceIsFormatted) {
  std::string command = "cd " + Quoted(TOPDNN_SOURCE_DIR) + " && clang-format --dry-run -Werror";
  for (const SourceFile& file : CppFiles()) command += " " + Quoted(file.path);
  const Outcome outcome = RunShell(command);
  EXPECT_EQ(outcome.exit_status, 0) << "run clang-format -i\n" << outcome.output;
}

TEST_F(FormatTest, AnUnformattedLineIsFound) {
  const Outcome outcome = RunShell(
      "cd " + Quoted(TOPDNN_SOURCE_DIR) +
      " && echo 'int  x ;' | clang-format --dry-run -Werror --assume-filename=kernels/x.h");
  EXPECT_NE(outcome.exit_status, 0) << outcome.output;
}

}  // namespace
}  // namespace topdnn
