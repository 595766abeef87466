// The list of tests/mutate follows the sources: each mutation's text stands in its file just once.
// Running them takes a build of its own; this takes a moment.

#include <gtest/gtest.h>

#include <string>

#include "tests/process/child_process.h"

namespace topdnn {
namespace {

TEST(MutationsTest, EachStillApplies) {
  const Outcome outcome =
      RunShell("python3 " + Quoted(TOPDNN_SOURCE_DIR "/tests/mutate") + " --check");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_GE(std::stoi(outcome.output), 60) << outcome.output;
}

}  // namespace
}  // namespace topdnn
