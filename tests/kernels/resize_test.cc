#include "kernels/resize/resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

TEST(ResizeOpTest, ShapesWorkAndProblem) {
  const ResizeOp op(Shape{2, 3, 4, 5}, 2, 3);
  EXPECT_EQ(op.dst_shape(), (Shape{2, 3, 8, 15}));
  EXPECT_EQ(op.Problem(), "2x3x4x5_scale2x3");
  EXPECT_EQ(ParseProblem("resize/" + op.Problem())->Problem(), op.Problem());
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 0);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (120 + 720));
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kBF16).flops, 720);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardData), 6);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
}

TEST(ResizeOpTest, ImpossibleGeometryIsRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(ResizeOp(Shape{2, 3, 4}, 2, 2), std::invalid_argument);
  EXPECT_THROW(ResizeOp(Shape{2, 0, 4, 4}, 2, 2), std::invalid_argument);
  EXPECT_THROW(ResizeOp(Shape{2, 3, 4, 4}, 0, 2), std::invalid_argument);
  EXPECT_THROW(ResizeOp(Shape{2, 3, 4, 4}, 2, -1), std::invalid_argument);
  EXPECT_THROW(ResizeOp(Shape{2, 3, 4, 4}, kHuge, 2), std::invalid_argument);
  EXPECT_THROW(ResizeOp(Shape{2, 3, 4, 4}, 1 << 24, 1 << 24), std::invalid_argument);
  for (const char* wrong : {"2x3x4x4", "2x3x4x4_scale2", "2x3x4x4_scale2x1.5",
                            "2x3x4x4_scale1e300x2", "2x3_scale2x2"}) {
    EXPECT_THROW(ParseProblem(std::string("resize/") + wrong), ProblemError) << wrong;
  }
}

TEST(ResizeReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<ResizeOp>(Shape{2, 3, 4, 5}, 2, 3), Arg::kSrc, 1);
}

class ResizeBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(ResizeBackendTest, KnownValues) {
  const auto op = std::make_shared<ResizeOp>(Shape{1, 2, 1, 2}, 2, 3);
  KernelRun run(GetParam(), RequestFor(op, {}, 1));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.Set(Arg::kSrc, {1, 2, 3, 4});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2,  //
                                                     3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}));
  KernelRun back(GetParam(), RequestFor(op, {Pass::kBackwardData}, 1));
  ASSERT_NE(back.kernel(), nullptr) << back.refusal();
  back.Set(Arg::kDiffDst, {1, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 5,  //
                           1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0});
  back.Run();
  EXPECT_EQ(back.Get(Arg::kDiffSrc), (std::vector<double>{2, 7, 6, 0}));
}

TEST_P(ResizeBackendTest, RandomShapesAgreeWithTheReference) {
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 40};
  Random random(73);
  for (int i = 0; i < 60; ++i) {
    Shape src{random.UpTo(3), kChannels[random.Between(0, 4)], random.UpTo(9), random.UpTo(9)};
    if (i == 59) src = Shape{2, 17, 40, 40};
    const auto op = std::make_shared<ResizeOp>(src, random.UpTo(4), random.UpTo(4));
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass, i % 4 < 2}, 1 + i % 2);
      if (GetParam() == "onednn") {
        if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
        const Arg leading = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
        if (i % 3 == 1) request.layouts[leading] = *Layout::Parse("aBcd16b");
        if (i % 3 == 2) request.layouts[leading] = Layout::ChannelsLast(4);
      }
      EXPECT_EQ(CheckAgainstReference(GetParam(), request, 7 * i), Verdict::kAgrees);
    }
  }
}

TEST_P(ResizeBackendTest, NanAndInfinityReachTheirOwnPixels) {
  const auto op = std::make_shared<ResizeOp>(Shape{1, 1, 2, 2}, 2, 2);
  CheckAgainstReference(GetParam(), RequestFor(op, {}, 1), 2,
                        {.inputs = {{Arg::kSrc, {NAN, HUGE_VAL, -HUGE_VAL, 1}}}});
  std::vector<double> gradient(16, 1);
  gradient[0] = NAN;
  gradient[15] = HUGE_VAL;
  CheckAgainstReference(GetParam(), RequestFor(op, {Pass::kBackwardData}, 1), 2,
                        {.inputs = {{Arg::kDiffDst, gradient}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, ResizeBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(ResizeRefusalTest, TwoLayoutsAreRefusedWithAReason) {
  KernelRequest request = RequestFor(std::make_shared<ResizeOp>(Shape{2, 16, 3, 3}, 2, 2), {}, 1);
  request.layouts[Arg::kSrc] = Layout::Plain(4);
  request.layouts[Arg::kDst] = Layout::ChannelsLast(4);
  EXPECT_NE(KernelRun("onednn", request).refusal().find("one layout"), std::string::npos);
  EXPECT_EQ(KernelRun("eigen", request).refusal(), "eigen needs src in layout acdb, not abcd");
}

}  // namespace
}  // namespace topdnn
