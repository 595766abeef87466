#include "bench/command_line/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/command_line/command.h"

namespace topdnn {
namespace {

constexpr const char* kVariable = "TOPDNN_SECONDS_OF_THIS_TEST";

double SecondsOf(const char* text) {
  setenv(kVariable, text, 1);
  return SecondsInEnvironment(kVariable, 10);
}

TEST(EnvironmentTest, ANumberOfSeconds) {
  EXPECT_EQ(SecondsOf("0.2"), 0.2);
  EXPECT_EQ(SecondsOf("86400"), 86400);
  unsetenv(kVariable);
  EXPECT_EQ(SecondsInEnvironment(kVariable, 10), 10);
}

TEST(EnvironmentTest, AnythingElseIsRefusedWithTheRange) {
  for (const char* text : {"", "0", "-1", "nan", "inf", "1s", "86401", "0.2 "}) {
    EXPECT_THROW(SecondsOf(text), UsageError) << text;
  }
  try {
    SecondsOf("soon");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "TOPDNN_SECONDS_OF_THIS_TEST=soon: must be a number of seconds from "
                 "0.01 to 86400");
  }
}

}  // namespace
}  // namespace topdnn
