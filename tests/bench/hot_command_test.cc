// `profile --hot` and `bench --hot --explain`: the loops that stages and kernels execute.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/exact/counter.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(ProfileHot, TheConvolutionsLoopHasMostOfItsFlops) {
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome =
      RunProgram({"profile", "cnn", "--infer", "--batch", "8", "--seconds", "0.1", "--no-isolated",
                  "--counters", "exact", "--no-experiments", "--hot", "2", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("conv2 forward ("));
  EXPECT_THAT(outcome.output, HasSubstr("of the FLOPs"));
  const nlohmann::json report = ReadJson(file);
  bool found = false;
  for (const auto& stage : report.at("stages")) {
    if (!stage.contains("hot")) continue;  // (no loop: a copy by one instruction)
    const auto& hot = stage.at("hot");
    EXPECT_LE(hot.at("loops")[0].at("instruction_share"), 1);
    EXPECT_FALSE(hot.at("loops")[0].at("listing").empty());
    // The reason, or what binds it.
    EXPECT_NE(hot.at("bound_by").is_null(), hot.at("bound_by_reason").is_null());
    if (stage.at("name") != "conv2") continue;
    found = true;
    // The counter and the loops see the same FLOPs, from two countings.
    EXPECT_EQ(hot.at("flops"), stage.at("flops_counted"));
    double share = 0;
    for (const auto& loop : hot.at("loops")) {
      if (!loop.at("listing").empty()) share += loop.at("flop_share").get<double>();
    }
    EXPECT_GT(share, 0.8);
    EXPECT_GT(hot.at("loops")[0].at("fmas"), 0);
  }
  EXPECT_TRUE(found);
}

TEST(ProfileHot, WithoutItThereIsNoListing) {
  const TestFolder folder;
  const std::string file = (folder.path() / "o.json").string();
  const Outcome outcome = RunProgram({"profile", "cnn", "--infer", "--batch", "2", "--seconds",
                                      "0.1", "--no-isolated", "--no-experiments", "--json", file});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_FALSE(ReadJson(file).at("stages")[0].contains("hot"));
}

TEST(ProfileHot, RefusesWhatCannotBe) {
  for (const char* number : {"0", "101"}) {
    const Outcome outcome = RunProgram({"profile", "cnn", "--infer", "--hot", number});
    EXPECT_EQ(outcome.exit_status, 2) << number;
    EXPECT_THAT(outcome.output, HasSubstr("--hot " + std::string(number)));
  }
  const Outcome outcome = RunProgram({"profile", "cnn", "--infer", "--hot", "--counters", "none"});
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("take --counters exact, not none"));
}

TEST(BenchExplain, SaysWhatBindsEachKernel) {
  if (const auto exact = ExactCounter::Probe(); !exact.works) GTEST_SKIP() << exact.reason;
  const Outcome outcome = RunProgram({"bench", "--explain", "--hot=1", "--threads", "1",
                                      "--problem", "conv/n1c16h14w14k16r3s3u1v1p1q1",
                                      "--benchmark_filter=forward/(onednn|openblas)/f32/t1/manual",
                                      "--benchmark_min_time=0.01"});
  ASSERT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("/onednn/f32/t1 ("));
  EXPECT_THAT(outcome.output, HasSubstr("/openblas/f32/t1 ("));
  EXPECT_THAT(outcome.output, HasSubstr("  bound by  "));
  EXPECT_THAT(outcome.output, HasSubstr("loaded bytes"));
  EXPECT_THAT(outcome.output, HasSubstr(" multiply-adds x "));
  EXPECT_THAT(outcome.output, HasSubstr("  loop  "));
}

}  // namespace
}  // namespace topdnn
