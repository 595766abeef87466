#include "kernels/flatten/flatten.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(FlattenOpTest, ShapesAndWork) {
  const FlattenOp op(Shape{2, 3, 4, 5});
  EXPECT_EQ(op.dst_shape(), (Shape{2, 60}));
  EXPECT_EQ(FlattenOp(Shape{7}).dst_shape(), (Shape{7, 1}));
  EXPECT_EQ(op.Problem(), "2x3x4x5");
  const FlattenOp split(Shape{1, 6, 2, 2}, Shape{1, 2, 3, 2, 2});
  EXPECT_EQ(split.dst_shape(), (Shape{1, 2, 3, 2, 2}));
  EXPECT_EQ(split.Problem(), "1x6x2x2_to1x2x3x2x2");
  EXPECT_EQ(ParseProblem("flatten/" + split.Problem())->Problem(), split.Problem());
  EXPECT_THROW(ParseProblem("flatten/1x6_to1x2.5x2"), ProblemError);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    EXPECT_EQ(op.WorkOf(pass, DataType::kF32).flops, 0);
    EXPECT_EQ(op.WorkOf(pass, DataType::kBF16).bytes, 2 * 2 * 120);
  }
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
}

TEST(FlattenOpTest, ImpossibleExtentsAreRefused) {
  EXPECT_THROW(FlattenOp(Shape{}), std::invalid_argument);
  EXPECT_THROW(FlattenOp(Shape{2, 0}), std::invalid_argument);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(FlattenOp(Shape{huge, huge}), std::invalid_argument);
  EXPECT_THROW(FlattenOp(Shape{2, 3}, Shape{5}), std::invalid_argument);
  EXPECT_THROW(FlattenOp(Shape{1}, Shape{}), std::invalid_argument);
}

TEST(FlattenReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<FlattenOp>(Shape{2, 3, 2, 2}), Arg::kSrc, 1);
}

class FlattenBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(FlattenBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(61);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 40};
  for (int i = 0; i < 60; ++i) {
    Shape shape = Shape{upto(3), kChannels[random() % 5], upto(9), upto(9)};
    if (i % 20 == 19) shape = Shape{3, 17, 40, 40};
    auto op = std::make_shared<FlattenOp>(i % 10 == 9 ? Shape{upto(9), upto(9)} : shape);
    if (i % 7 == 6) {
      op = std::make_shared<FlattenOp>(shape, Shape{shape[2], 1, shape[0] * shape[1], shape[3], 1});
    }
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
      if (GetParam() == "onednn" && op->src_shape().rank() == 4) {
        if (i % 5 == 4) request.execution.type = DataType::kBF16;
        const Arg image = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffSrc;
        if (i % 3 == 1) request.layouts[image] = *Layout::Parse("aBcd16b");
        if (i % 3 == 2) request.layouts[image] = Layout::ChannelsLast(4);
      }
      EXPECT_EQ(CheckAgainstReference(GetParam(), request, 7 * i), Verdict::kAgrees);
    }
  }
}

TEST_P(FlattenBackendTest, NanAndInfinityAreCopied) {
  CheckAgainstReference(GetParam(),
                        RequestFor(std::make_shared<FlattenOp>(Shape{1, 2, 2, 1}), {}, 1), 2,
                        {.inputs = {{Arg::kSrc, {NAN, HUGE_VAL, -HUGE_VAL, 1}}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, FlattenBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(FlattenOneDnnTest, AChannelsLastImageIsFlattenedByChannels) {
  KernelRequest request = RequestFor(std::make_shared<FlattenOp>(Shape{1, 2, 1, 3}), {}, 1);
  request.layouts[Arg::kSrc] = Layout::ChannelsLast(4);
  KernelRun run("onednn", request);
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  // In memory: the channels of each pixel are adjacent.
  const std::vector<float> pixels = {1, 10, 2, 20, 3, 30};
  std::memcpy(run.memory(Arg::kSrc).data(), pixels.data(), pixels.size() * sizeof(float));
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{1, 2, 3, 10, 20, 30}));
}

TEST(FlattenOneDnnTest, RowsInAnotherOrderAreRefusedWithAReason) {
  KernelRequest request = RequestFor(std::make_shared<FlattenOp>(Shape{2, 2, 1, 3}), {}, 1);
  request.layouts[Arg::kDst] = *Layout::Parse("ba");
  EXPECT_NE(KernelRun("onednn", request).refusal().find("row-major"), std::string::npos);
}

}  // namespace
}  // namespace topdnn
