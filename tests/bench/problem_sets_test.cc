#include "bench/cases/problem_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/command_line/command.h"
#include "kernels/conv/conv.h"
#include "kernels/kernel/registry.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::map<std::string, int> CountByKind(const ProblemSet& set) {
  std::map<std::string, int> counts;
  for (const CountedProblem& problem : set.problems) ++counts[std::string(problem.op->kind())];
  return counts;
}

// The numbers of problems in DeepBench's files.
TEST(ProblemSetsTest, DeepBenchIsComplete) {
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(CountByKind(ProblemSetNamed("deepbench-training")),
            (Counts{{"conv", 94}, {"gemm", 160}}));
  EXPECT_EQ(CountByKind(ProblemSetNamed("deepbench-server")),
            (Counts{{"conv", 107}, {"gemm", 75}}));
  EXPECT_EQ(CountByKind(ProblemSetNamed("deepbench-device")), (Counts{{"conv", 16}, {"gemm", 13}}));
}

TEST(ProblemSetsTest, OnlyConvolutionsOfDeepBenchHaveBackwardPasses) {
  for (const CountedProblem& problem : ProblemSetNamed("deepbench-training").problems) {
    EXPECT_EQ(problem.passes.size(), problem.op->kind() == "conv" ? 3U : 1U);
  }
  EXPECT_TRUE(ProblemSetNamed("deepbench-training").training);
  EXPECT_FALSE(ProblemSetNamed("deepbench-server").training);
}

// torchvision's ResNet-50 has 53 convolutions with 4,087,136,256 multiply-accumulates per image.
TEST(ProblemSetsTest, ResNet50HasItsConvolutionsAndTheirWork) {
  std::int64_t convolutions = 0;
  std::int64_t macs = 0;
  for (const CountedProblem& problem : ProblemSetNamed("resnet50-layers").problems) {
    if (problem.op->kind() != "conv") continue;
    convolutions += problem.count;
    macs += problem.count * problem.op->WorkOf(Pass::kForward, DataType::kF32).macs;
  }
  EXPECT_EQ(convolutions, 53);
  EXPECT_EQ(macs, 8 * 4087136256);
}

TEST(ProblemSetsTest, EqualLayersOfANetworkAreOneProblemWithACount) {
  const ProblemSet set = ProblemSetNamed("cnn-layers");
  const auto counts = CountByKind(set);
  EXPECT_EQ(counts.at("conv"), 3);
  EXPECT_EQ(counts.at("pool"), 2);
  EXPECT_EQ(counts.at("inner_product"), 2);
}

// `topdnn kernels` lists only operations that are in the smoke set.
TEST(ProblemSetsTest, SmokeHasEveryOperation) {
  const auto counts = CountByKind(ProblemSetNamed("smoke"));
  for (const auto& [operation, backend] : RegisteredKernels()) {
    // (two layouts specify a reorder, not a problem, and a line of a log a logged primitive)
    if (operation != "reorder" && operation != "primitive") {
      EXPECT_TRUE(counts.contains(operation)) << operation;
    }
  }
}

std::string ErrorOf(std::string_view text) {
  try {
    ParseProblemSet("mine", text, "mine.txt");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ProblemSetsTest, ATextIsReadLineByLine) {
  const ProblemSet set =
      ParseProblemSet("mine", "# mine\npasses: forward\n\ngemm/m2n2k2 x3 # three\n", "mine.txt");
  ASSERT_EQ(set.problems.size(), 1U);
  EXPECT_EQ(set.problems[0].count, 3);
  EXPECT_THAT(set.problems[0].passes, testing::ElementsAre(Pass::kForward));
  EXPECT_FALSE(set.training);
}

TEST(ProblemSetsTest, AMalformedLineIsRefusedWithItsNumber) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("names no problem"));
  EXPECT_THAT(ErrorOf("gemm/m2n2k2\ngemm/m2n2\n"), HasSubstr("mine.txt, line 2: problem 'm2n2'"));
  EXPECT_THAT(ErrorOf("passes: sideways\n"), HasSubstr("'sideways' is not a pass"));
  EXPECT_THAT(ErrorOf("passes:\n"), HasSubstr("'passes:' has no pass"));
  EXPECT_THAT(ErrorOf("gemm/m2n2k2 3\n"), HasSubstr("is not a count"));
  EXPECT_THAT(ErrorOf("gemm/m2n2k2 x0\n"), HasSubstr("is not a count"));
  EXPECT_THAT(ErrorOf("gemm/m2n2k2 x3 x4\n"), HasSubstr("unexpected word 'x4'"));
}

// The words of a trace: the execution and the layouts.
TEST(ProblemSetsTest, ALineMaySettleHowItsProblemRuns) {
  const ProblemSet set = ParseProblemSet(
      "mine",
      "passes: backward_data\n"
      "conv/c16h8k32r3p1 x2 type=bf16 mode=train weights=ABcd16a16b diff_src=aBcd16b\n"
      "passes: forward\n"
      "conv/c16h8k32r3p1 type=f32 mode=infer algorithm=winograd src=acdb\n",
      "mine.txt");
  ASSERT_EQ(set.problems.size(), 2U);
  ASSERT_TRUE(set.problems[0].settled);
  EXPECT_EQ(set.problems[0].count, 2);
  EXPECT_EQ(set.problems[0].settled->Words(),
            "type=bf16 mode=train weights=ABcd16a16b diff_src=aBcd16b");
  const SettledProblem& winograd = *set.problems[1].settled;
  EXPECT_EQ(winograd.Words(), "type=f32 mode=infer algorithm=winograd src=acdb");
  const KernelRequest request = winograd.RequestFor(set.problems[1].op, 3);
  EXPECT_EQ(request.threads, 3);
  EXPECT_EQ(request.algorithm, "winograd");
  EXPECT_FALSE(request.execution.training);
  EXPECT_EQ(request.LayoutOf(Arg::kSrc).tag(), "acdb");
  EXPECT_TRUE(request.LayoutOf(Arg::kDst).is_any());
}

TEST(ProblemSetsTest, AMalformedSettledLineIsRefused) {
  const auto error = [](const std::string& words) {
    return ErrorOf("passes: forward\nconv/c16h8k32r3p1 " + words + "\n");
  };
  EXPECT_THAT(error("type=f33"), HasSubstr("line 2: 'f33' is not an element type"));
  EXPECT_THAT(error("mode=fast"), HasSubstr("'fast' is not a mode"));
  EXPECT_THAT(error("diff_src=abcd"), HasSubstr("'diff_src' is no operand of conv in forward"));
  EXPECT_THAT(error("src=abc"), HasSubstr("'abc' is not a layout of 4 dimensions, such as abcd"));
  EXPECT_THAT(error("src=abxd"), HasSubstr("is not a layout"));
  EXPECT_THAT(error("x2 src=abcd x3"), HasSubstr("unexpected word 'x3'"));
  EXPECT_THAT(ErrorOf("conv/c16h8k32r3p1 type=f32\n"), HasSubstr("settles one pass"));
  EXPECT_THAT(ErrorOf("passes: backward_data\nconv/c16h8k32r3p1 type=u8\n"),
              HasSubstr("conv has no pass backward_data in u8"));
}

TEST(ProblemSetsTest, AReorderHasTwoTypes) {
  for (const auto& [word, whole] :
       std::map<std::string, std::string>{{"2x3", "2x3_fromf32_tof32"},
                                          {"2x3_tobf16", "2x3_fromf32_tobf16"},
                                          {"2x3_fromu8_tos8", "2x3_fromu8_tos8"}}) {
    const ProblemSet set = ParseProblemSet("mine", "reorder/" + word + "\n", "mine.txt");
    EXPECT_EQ(set.problems[0].op->Problem(), whole);
  }
  EXPECT_THAT(ErrorOf("reorder/2x3_fromf33\n"), HasSubstr("'_from' needs an element type"));
}

}  // namespace
}  // namespace topdnn
