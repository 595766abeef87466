#include "kernels/activation/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ClipOpTest, WorkAndOperands) {
  const ClipOp op(Shape{2, 3, 4, 5}, -1.0F, 2.5F);
  EXPECT_EQ(op.Problem(), "2x3x4x5_min-1_max2.5");
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 240);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 120 * 4 * 2);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kBF16).bytes, 120 * 2 * 3);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
}

TEST(ClipOpTest, ImpossibleBoundsAndExtentsAreRefused) {
  EXPECT_THROW(ClipOp(Shape{2}, 1.0F, 0.0F), std::invalid_argument);
  EXPECT_THROW(ClipOp(Shape{2}, NAN, 0.0F), std::invalid_argument);
  EXPECT_THROW(ClipOp(Shape{2}, 0.0F, NAN), std::invalid_argument);
  EXPECT_THROW(ClipOp(Shape{0}, 0.0F, 1.0F), std::invalid_argument);
  EXPECT_NO_THROW(ClipOp(Shape{2}, -kInfinity, kInfinity));
  EXPECT_NO_THROW(ClipOp(Shape{2}, 1.0F, 1.0F));
}

TEST(ClipReferenceTest, KnownValuesAndNan) {
  const auto op = std::make_shared<ClipOp>(Shape{7}, -2.0F, 3.0F);
  KernelRun run("reference", RequestFor(op, {}, 1));
  run.Set(Arg::kSrc, {-HUGE_VAL, -2, 0, 3, 7, HUGE_VAL, NAN});
  run.Run();
  std::vector<double> dst = run.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst.back()));
  dst.pop_back();
  EXPECT_EQ(dst, (std::vector<double>{-2, -2, 0, 3, 3, 3}));
  KernelRun backward("reference", RequestFor(op, {Pass::kBackwardData}, 1));
  backward.Set(Arg::kDst, {-2, -2, 0, 3, 3, -1, 2.5});
  backward.Set(Arg::kDiffDst, {1, 2, 3, 4, 5, 6, 7});
  backward.Run();
  EXPECT_EQ(backward.Get(Arg::kDiffSrc), (std::vector<double>{0, 0, 3, 0, 0, 6, 7}));
}

TEST(ClipReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<ClipOp>(Shape{2, 3, 5, 4}, -0.5F, 0.25F), Arg::kSrc, 1);
}

class ClipBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(ClipBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(71);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  // The bounds are exact in bf16; otherwise rounding would move an element across a bound.
  constexpr std::pair<float, float> kBounds[] = {
      {-0.5F, 0.25F}, {-kInfinity, 0.5F}, {-0.25F, kInfinity}, {0.5F, 0.75F}};
  for (int i = 0; i < 60; ++i) {
    const bool image = i % 4 != 0;
    const Shape shape =
        image ? Shape{upto(3), upto(40), upto(9), upto(9)} : Shape{upto(9), upto(99)};
    const auto [lowest, highest] = kBounds[random() % 4];
    const auto op = std::make_shared<ClipOp>(shape, lowest, highest);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass, i % 4 < 2}, 1 + i % 2);
      if (GetParam() == "onednn") {
        if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
        const Arg leading = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
        if (image && i % 3 == 1) request.layouts[leading] = *Layout::Parse("aBcd16b");
        if (image && i % 3 == 2) request.layouts[leading] = Layout::ChannelsLast(4);
      }
      EXPECT_EQ(CheckAgainstReference(GetParam(), request, 7 * i), Verdict::kAgrees);
    }
  }
}

TEST_P(ClipBackendTest, InfinityIsClipped) {
  CheckAgainstReference(GetParam(),
                        RequestFor(std::make_shared<ClipOp>(Shape{4}, -1.0F, 6.0F), {}, 1), 5,
                        {.inputs = {{Arg::kSrc, {-HUGE_VAL, HUGE_VAL, 7, 0}}}});
}

TEST_P(ClipBackendTest, NanTouchesNoOtherElement) {
  // oneDNN itself changes a NaN to the lower bound (clip.h). The gradient's NaN passes.
  std::vector<double> values(40, 0.5);
  values[3] = NAN;
  const auto op = std::make_shared<ClipOp>(Shape{40}, -1.0F, 2.0F);
  KernelRun forward(GetParam(), RequestFor(op, {}, 1));
  forward.Set(Arg::kSrc, values);
  forward.Run();
  const std::vector<double> dst = forward.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst[3]) || (GetParam() == "onednn" && dst[3] == -1)) << dst[3];
  for (std::size_t i = 0; i < dst.size(); ++i) EXPECT_TRUE(i == 3 || dst[i] == 0.5) << i;
  CheckAgainstReference(
      GetParam(), RequestFor(op, {Pass::kBackwardData}, 1), 5,
      {.inputs = {{Arg::kDiffDst, values}, {Arg::kDst, std::vector<double>(40, 1.0)}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, ClipBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

}  // namespace
}  // namespace topdnn
