#include "tests/bench/refused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "bench/command_line/command.h"
#include "tests/bench/program.h"

namespace topdnn {

void PrintTo(const RefusedCommand& refused, std::ostream* out) {
  for (const std::string& argument : refused.arguments) *out << argument << ' ';
}

void ExpectRefused(const RefusedCommand& refused) {
  const Outcome outcome = RunProgram(refused.arguments);
  EXPECT_EQ(outcome.exit_status, kExitUsage) << outcome.output;
  EXPECT_THAT(outcome.output, testing::HasSubstr(refused.message));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
}

}  // namespace topdnn
