// The mutations of tests/mutate match the sources: each mutation's text occurs exactly once in its
// file. This check is fast; running the mutations needs a separate build.

#include <gtest/gtest.h>

#include <string>

#include "tests/process/child_process.h"

namespace topdnn {
namespace {

TEST(MutationsTest, EachApplies) {
  const Outcome outcome =
      RunShell("python3 " + Quoted(TOPDNN_SOURCE_DIR "/tests/mutate") + " --check");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_GE(std::stoi(outcome.output), 60) << outcome.output;
}

}  // namespace
}  // namespace topdnn
