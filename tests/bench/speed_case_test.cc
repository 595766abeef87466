// How the cases of the speed benchmark end.

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include "bench/command_line/command.h"
#include "bench/speed/case.h"

namespace topdnn {
namespace {

TEST(SpeedCaseTest, WhatCannotBePlannedHereIsSkipped) {
  BenchmarkCases cases;
  AddSpeedCase(
      "speed/by-hand", []() -> Findings { throw UsageError("it needs 64 GiB"); }, cases);
  cases.all.front().register_case();
  benchmark::RunSpecifiedBenchmarks("speed/by-hand");
  benchmark::ClearRegisteredBenchmarks();
  EXPECT_EQ(cases.skipped, 1);
  EXPECT_EQ(cases.failed, 0);
}

}  // namespace
}  // namespace topdnn
