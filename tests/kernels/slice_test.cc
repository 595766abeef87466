#include "kernels/slice/slice.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// A part, each second element backwards, each border, and repeated elements.
const char* const kSliceProblems[] = {
    "slice/3x5x4x6_start0x1x0x0_step1x1x1x1_extent3x2x4x6",
    "slice/3x5x4x6_start2x0x3x5_step-1x2x1x-2_extent3x3x1x3",
    "slice/3x5x4x6_start0x0x-1x-2_step1x1x1x1_extent3x5x6x9_fill1.5",
    "slice/3x5_start-4x-2_step1x1_extent9x11_edge",
    "slice/3x5_start-4x-2_step1x1_extent9x11_reflect",
    "slice/3x5x2_start0x0x0_step1x1x1_extent6x15x2_wrap",
    "slice/1x5x1_start0x0x0_step0x1x0_extent4x5x3",
    "slice/7_start6_step0_extent1"};

TEST(SliceOpTest, ProblemsAreReadBackAndIndicesOutsideAreRefused) {
  for (const char* problem : kSliceProblems) {
    const auto op = ParseProblem(problem);
    EXPECT_EQ("slice/" + op->Problem(), problem);
    EXPECT_EQ(op->WorkOf(Pass::kForward, DataType::kF32).flops, 0);
    EXPECT_EQ(op->WorkOf(Pass::kBackwardData, DataType::kF32).flops,
              op->Find({Pass::kForward}, Arg::kDst)->shape.elements());
  }
  for (const char* wrong :
       {"5_start3_step1_extent3", "5_start-1_step1_extent2", "5x5_start0_step1_extent1",
        "5_start0_step1_extent0", "5_start0.5_step1_extent1", "5_start0_step1_extent6_frame"}) {
    EXPECT_THROW(ParseProblem(std::string("slice/") + wrong), ProblemError) << wrong;
  }
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_THROW(SliceOp(Shape{5}, {{kHuge, kHuge, 5}}, SliceBorder::kEdge), std::invalid_argument);
}

TEST(SliceReferenceTest, KnownValues) {
  const auto select = [](const char* problem) {
    KernelRun run("reference", RequestFor(ParseProblem(problem), {}, 1));
    run.Set(Arg::kSrc, {1, 2, 3});
    run.Run();
    return run.Get(Arg::kDst);
  };
  using Row = std::vector<double>;
  EXPECT_EQ(select("slice/3_start2_step-1_extent3"), (Row{3, 2, 1}));
  EXPECT_EQ(select("slice/3_start-2_step1_extent7_fill9"), (Row{9, 9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(select("slice/3_start-2_step1_extent7_edge"), (Row{1, 1, 1, 2, 3, 3, 3}));
  EXPECT_EQ(select("slice/3_start-3_step1_extent9_reflect"), (Row{2, 3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(select("slice/3_start-2_step1_extent7_wrap"), (Row{2, 3, 1, 2, 3, 1, 2}));
}

TEST(SliceBackendsTest, AgreeWithTheReferenceAndFiniteDifferences) {
  for (const char* problem : kSliceProblems) {
    const auto op = ParseProblem(problem);
    CheckGradient(op, Arg::kSrc, 1);
    for (const char* backend : {"native", "eigen"}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
        CheckAgainstReference(backend, RequestFor(op, {pass}, 2), 3);
      }
    }
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const KernelRequest request = RequestFor(op, {pass}, 2);
      CheckAgainstReference(ServingBackend("onednn", request), request, 3);
    }
  }
}

// Whole blocks, and parts of blocks, which no kernel copies in a blocked layout.
TEST(SliceBackendsTest, OneDnnCopiesPartsInEveryLayout) {
  for (const char* problem : {"2x48x9x7_start0x16x0x0_step1x1x1x1_extent2x32x9x7",
                              "2x58x9x7_start0x29x2x0_step1x1x1x1_extent2x29x3x7"}) {
    const auto op = ParseProblem(std::string("slice/") + problem);
    for (const char* layout : {"abcd", "acdb", "aBcd16b"}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
        KernelRequest request = RequestFor(op, {pass}, 2);
        for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffSrc, Arg::kDiffDst}) {
          if (op->Find(request.execution, arg)) request.layouts[arg] = *Layout::Parse(layout);
        }
        const KernelRun run("onednn", request);
        if (std::string_view(layout) == "aBcd16b" && op->Problem().starts_with("2x58")) {
          EXPECT_EQ(run.kernel(), nullptr);
          continue;
        }
        ASSERT_NE(run.kernel(), nullptr) << problem << " " << layout << ": " << run.refusal();
        EXPECT_NE(run.kernel()->implementation(), "omp loops") << problem << " " << layout;
        CheckAgainstReference("onednn", request, 3);
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
