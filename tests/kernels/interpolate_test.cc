#include "kernels/interpolate/interpolate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
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

// One to four dimensions, larger and smaller results, and every mode.
const char* const kProblems[] = {
    "nearest2x5_to2x7_scale1x1.4_half_preferfloor",
    "nearest2x3x5x4_to2x3x4x9_scale1x1x0.8x2.25_asymmetric_floor",
    "nearest3x4_to5x2_scale1.75x0.5_corners_preferceil",
    "nearest1x2x6_to1x2x4_scale1x1x0.6666667_tfhalf_ceil",
    "linear2x3x5x4_to2x3x4x9_scale1x1x0.8x2.25_half",
    "linear2x3x4x5x3_to2x3x8x3x1_scale1x1x2x0.6x0.4_pytorch",
    "linear1x17x20x20_to1x17x45x31_scale1x1x2.25x1.55_corners",
    "linear2x17x9x20_to2x17x18x80_scale1x1x2x4_half",
    "linear1x3x4x5x1_to1x3x8x10x1_scale1x1x2x2x1_pytorch",
    "linear2x5_to4x7_scale2.3x1.5_symmetric",
    "linear7_to5_scale0.75_asymmetric_exclude",
    "cubic2x3x5x6_to2x3x9x4_scale1x1x1.8x0.6666667_half_a-0.75",
    "cubic2x3x5x6_to2x3x9x4_scale1x1x1.8x0.6666667_asymmetric_a-0.5_exclude",
    "cubic6x5_to3x10_scale0.5x2_corners_a-0.5"};

TEST(InterpolateOpTest, ProblemsAreReadBackAndImpossibleOnesAreRefused) {
  for (const std::string problem : kProblems) {
    EXPECT_EQ(ParseProblem("interpolate/" + problem)->Problem(), problem);
  }
  for (const char* wrong :
       {"linear2x5_to2_scale1x1_half", "linear2x5_to2x7_scale1_half", "linear5_to0_scale1_half",
        "linear5_to7_scale0_half", "linear5_to7_scale-1_half", "linear5_to7_scale1e300x2_half",
        "linear5_to7_scale1.4_half_floor", "linear5_to7_scale1.4_half_a0.5"}) {
    EXPECT_THROW(ParseProblem(std::string("interpolate/") + wrong), ProblemError) << wrong;
  }
  EXPECT_THROW(InterpolateOp(Shape{}, Shape{}, {}, {}), std::invalid_argument);  // a scalar
}

TEST(InterpolateReferenceTest, KnownValues) {
  using Row = std::vector<double>;
  const auto resize = [](const char* problem, const Row& src) {
    const auto op = ParseProblem(std::string("interpolate/") + problem);
    KernelRun run("reference", RequestFor(op, {Pass::kForward, true, DataType::kF64}, 1));
    run.Set(Arg::kSrc, src);
    run.Run();
    return run.Get(Arg::kDst);
  };
  // Indices at -0.25, 0.25, 0.75 and 1.25.
  EXPECT_EQ(resize("linear2_to4_scale2_half", {0, 8}), (Row{0, 2, 6, 8}));
  EXPECT_EQ(resize("linear2_to4_scale2_asymmetric", {0, 8}), (Row{0, 4, 8, 8}));
  EXPECT_EQ(resize("linear3_to5_scale1.6666666_corners", {0, 8, 0}), (Row{0, 4, 8, 4, 0}));
  EXPECT_EQ(resize("linear4_to1_scale0.25_half", {0, 8, 4, 0}), (Row{6}));
  EXPECT_EQ(resize("linear4_to1_scale0.25_pytorch", {0, 8, 4, 0}), (Row{0}));
  // Indices at 0.5 and 2.5, and with tfhalf at 1 and 3.
  const Row src = {1, 2, 3, 4};
  EXPECT_EQ(resize("nearest4_to2_scale0.5_half_preferfloor", src), (Row{1, 3}));
  EXPECT_EQ(resize("nearest4_to2_scale0.5_half_preferceil", src), (Row{2, 4}));
  EXPECT_EQ(resize("nearest4_to2_scale0.5_half_floor", src), (Row{1, 3}));
  EXPECT_EQ(resize("nearest4_to2_scale0.5_half_ceil", src), (Row{2, 4}));
  EXPECT_EQ(resize("nearest4_to2_scale0.5_tfhalf_floor", src), (Row{2, 4}));
  // 3 / 0.6 is 5 in f32, and slightly less in f64.
  EXPECT_EQ(resize("nearest7_to4_scale0.60000002384_asymmetric_floor", {0, 1, 2, 3, 4, 5, 6}),
            (Row{0, 1, 3, 5}));
  // Keys' weights of a point halfway are a / 8 outside, and 0.5 - a / 8 inside.
  EXPECT_EQ(resize("cubic4_to1_scale0.25_half_a-0.5", {16, 32, 64, 16}), (Row{52}));
  // At distance x from the 256: 256 * ((1.5 x - 2.5) x x + 1) up to 1, and beyond
  // 256 * (-x x x + 5 x x - 8 x + 4) / 2.
  EXPECT_EQ(resize("cubic4_to16_scale4_asymmetric_a-0.5", {0, 256, 0, 0}),
            (Row{0, 58, 144, 222, 256, 222, 144, 58, 0, -18, -16, -6, 0, 0, 0, 0}));
  EXPECT_EQ(resize("cubic2_to1_scale0.5_half_a-0.5_exclude", {16, 32}), (Row{24}));
}

TEST(InterpolateBackendsTest, AgreeWithTheReferenceAndFiniteDifferences) {
  for (const std::string problem : kProblems) {
    const auto op = ParseProblem("interpolate/" + problem);
    CheckGradient(op, Arg::kSrc, 1);
    for (const char* backend : {"onednn", "native", "eigen", "eigen-sgemm"}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
        const KernelRequest request = RequestFor(op, {pass}, 2);
        EXPECT_EQ(CheckAgainstReference(ServingBackend(backend, request), request, 3),
                  Verdict::kAgrees);
      }
    }
  }
}

TEST(InterpolateBackendsTest, OneDnnResamplesByPowersOfTwoInAnyLayout) {
  const auto kernel_of = [](const char* problem, const char* tag) {
    const auto op = ParseProblem(std::string("interpolate/") + problem);
    KernelRequest request = RequestFor(op, {}, 2);
    request.layouts[Arg::kSrc] = *Layout::Parse(tag);
    std::string implementation;
    CheckAgainstReference(ServingBackend("onednn", request), request, 5, {}, &implementation);
    return implementation;
  };
  const char* doubled = "linear2x17x9x20_to2x17x18x40_scale1x1x2x2_half";
  EXPECT_NE(kernel_of(doubled, "abcd"), "omp loops");
  EXPECT_NE(kernel_of(doubled, "aBcd16b"), "omp loops");
  EXPECT_EQ(kernel_of("linear2x3x9x20_to2x3x18x40_scale1x1x2x2_asymmetric", "abcd"), "omp loops");
  EXPECT_EQ(kernel_of("linear2x3x9x20_to2x3x27x40_scale1x1x3x2_half", "abcd"), "omp loops");
}

// Repeated pixels have kernels of their own.

std::shared_ptr<const Op> Repeating(const Shape& src, std::int64_t h, std::int64_t w) {
  return std::make_shared<InterpolateOp>(RepeatPixels(src, {.h = h, .w = w}));
}

TEST(RepeatedPixelsTest, ShapesWorkAndProblem) {
  const InterpolateOp op = RepeatPixels(Shape{2, 3, 4, 5}, {.h = 2, .w = 3});
  EXPECT_EQ(op.dst_shape(), (Shape{2, 3, 8, 15}));
  EXPECT_EQ(op.Problem(), "nearest2x3x4x5_to2x3x8x15_scale1x1x2x3_asymmetric_floor");
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 0);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (120 + 720));
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kBF16).flops, 720);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardData), 6);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  EXPECT_TRUE(op.Has({Pass::kForward, false, DataType::kS8}));
}

TEST(RepeatedPixelsTest, ImpossibleGeometryIsRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto refused = [](const Shape& src, std::int64_t h, std::int64_t w) {
    EXPECT_THROW(RepeatPixels(src, {.h = h, .w = w}), std::invalid_argument);
  };
  refused(Shape{2, 3, 4}, 2, 2);
  refused(Shape{2, 0, 4, 4}, 2, 2);
  refused(Shape{2, 3, 4, 4}, 0, 2);
  refused(Shape{2, 3, 4, 4}, 2, -1);
  refused(Shape{2, 3, 4, 4}, kHuge, 2);
  refused(Shape{2, 3, 4, 4}, 1 << 24, 1 << 24);
}

// All others are sums of weights.
TEST(RepeatedPixelsTest, OnlyWholeFactorsOfImagesWithEqualCoordinatesRepeatPixels) {
  const auto repeats = [](const std::string& problem) {
    const auto op = ParseProblem("interpolate/nearest" + problem);
    EXPECT_EQ(op->Has({Pass::kForward, false, DataType::kS8}),
              dynamic_cast<const InterpolateOp&>(*op).RepeatedPixels().has_value());
    return op->Has({Pass::kForward, false, DataType::kS8});
  };
  EXPECT_TRUE(repeats("2x3x4x5_to2x3x8x15_scale1x1x2x3_half_preferfloor"));
  EXPECT_TRUE(repeats("2x3x4x5_to2x3x4x5_scale1x1x1x1_asymmetric_floor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x3x8x15_scale1x1x2x3_half_floor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x3x8x15_scale1x1x2x3_asymmetric_preferfloor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x3x8x15_scale1x1x2x3_corners_floor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x3x8x7_scale1x1x2x1.4_asymmetric_floor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x3x8x10_scale1x1x2x2.1_asymmetric_floor"));
  EXPECT_FALSE(repeats("2x3x4x5_to2x6x8x10_scale1x2x2x2_asymmetric_floor"));
  EXPECT_FALSE(repeats("2x3x4_to2x3x8_scale1x1x2_asymmetric_floor"));
}

TEST(RepeatedPixelsTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(Repeating(Shape{2, 3, 4, 5}, 2, 3), Arg::kSrc, 1);
}

class PixelBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(PixelBackendTest, KnownValues) {
  const auto op = Repeating(Shape{1, 2, 1, 2}, 2, 3);
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

TEST_P(PixelBackendTest, RandomShapesAgreeWithTheReference) {
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 40};
  Random random(73);
  for (int i = 0; i < 60; ++i) {
    Shape src{random.UpTo(3), kChannels[random.Between(0, 4)], random.UpTo(9), random.UpTo(9)};
    if (i == 59) src = Shape{2, 17, 40, 40};
    const auto op = Repeating(src, random.UpTo(4), random.UpTo(4));
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

TEST_P(PixelBackendTest, NanAndInfinityReachTheirOwnPixels) {
  const auto op = Repeating(Shape{1, 1, 2, 2}, 2, 2);
  CheckAgainstReference(GetParam(), RequestFor(op, {}, 1), 2,
                        {.inputs = {{Arg::kSrc, {NAN, HUGE_VAL, -HUGE_VAL, 1}}}});
  std::vector<double> gradient(16, 1);
  gradient[0] = NAN;
  gradient[15] = HUGE_VAL;
  CheckAgainstReference(GetParam(), RequestFor(op, {Pass::kBackwardData}, 1), 2,
                        {.inputs = {{Arg::kDiffDst, gradient}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, PixelBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(RepeatedPixelsTest, TwoLayoutsAreRefusedWithAReason) {
  KernelRequest request = RequestFor(Repeating(Shape{2, 16, 3, 3}, 2, 2), {}, 1);
  request.layouts[Arg::kSrc] = Layout::Plain(4);
  request.layouts[Arg::kDst] = Layout::ChannelsLast(4);
  EXPECT_NE(KernelRun("onednn", request).refusal().find("one layout"), std::string::npos);
  EXPECT_EQ(KernelRun("eigen", request).refusal(), "eigen needs src in layout acdb, not abcd");
}

}  // namespace
}  // namespace topdnn
