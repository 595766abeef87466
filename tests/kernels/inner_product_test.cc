#include "kernels/inner_product/inner_product.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

Shape RandomSource(std::mt19937_64& random) {
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  if (random() % 2 == 0) return {upto(20), upto(100)};
  return {upto(20), upto(20), upto(5), upto(5)};
}

TEST(InnerProductOpTest, WorkAndShapes) {
  const InnerProductOp op(Shape{64, 64, 4, 4}, 64);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).macs, 64 * 1024 * 64);
  EXPECT_EQ(op.Problem(), "n64c64h4w4k64_bias");
  EXPECT_EQ(op.weights_shape(), (Shape{64, 64, 4, 4}));
  EXPECT_EQ(op.Parameters().front().shape, (Shape{64, 1024}));
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardWeights), 64);
  const InnerProductOp small(Shape{2, 3}, 5);
  EXPECT_EQ(small.WorkOf(Pass::kForward, DataType::kF32).flops, 2 * 2 * 3 * 5);
  EXPECT_EQ(small.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (2 * 3 + 3 * 5 + 5 + 2 * 5));
  EXPECT_EQ(small.AccumulationLength(Pass::kForward), 3);
  EXPECT_EQ(small.AccumulationLength(Pass::kBackwardData), 5);
  EXPECT_EQ(small.AccumulationLength(Pass::kBackwardWeights), 2);
}

TEST(InnerProductOpTest, ErrorsBeforeABoundAreRelativeToTheSums) {
  // 25 products of a 2 or -2 with a 3 or -3: the sums have a variance of 25 * 6 * 6.
  const auto values = [](Arg arg) {
    return arg == Arg::kSrc ? std::vector<double>{2, -2, 2, 2} : std::vector<double>{-3, 3};
  };
  const Execution forward{.pass = Pass::kForward}, backward{.pass = Pass::kBackwardWeights};
  const InnerProductOp bounded(Shape{4, 25}, 3, {.relu = true, .bound = 0.5F});
  EXPECT_DOUBLE_EQ(bounded.MagnitudeOfDst(forward, values), 30);
  EXPECT_EQ(bounded.MagnitudeOfDst(backward, values), 0);
  EXPECT_EQ(InnerProductOp(Shape{4, 25}, 3, {.relu = true}).MagnitudeOfDst(forward, values), 0);
}

TEST(InnerProductOpTest, ABoundNeedsAReluAndIsAboveZero) {
  EXPECT_THROW(InnerProductOp(Shape{2, 3}, 5, {.bound = 6.0F}), std::invalid_argument);
  EXPECT_THROW(InnerProductOp(Shape{2, 3}, 5, {.relu = true, .bound = -1.0F}),
               std::invalid_argument);
}

TEST(InnerProductOpTest, ImpossibleExtentsAreRefused) {
  EXPECT_THROW(InnerProductOp(Shape{2, 3, 4}, 5), std::invalid_argument);
  EXPECT_THROW(InnerProductOp(Shape{2, 3}, 0), std::invalid_argument);
  EXPECT_THROW(InnerProductOp(Shape{0, 3}, 5), std::invalid_argument);
}

class InnerProductBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(InnerProductBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(20260802);
  for (int i = 0; i < 60; ++i) {
    InnerProductEpilogue epilogue{.bias = random() % 2 == 0, .relu = random() % 2 == 0};
    if (epilogue.relu && random() % 2 == 0) epilogue.bound = 0.5F;
    const auto op = std::make_shared<InnerProductOp>(
        RandomSource(random), static_cast<std::int64_t>(random() % 70) + 1, epilogue);
    for (const Pass pass : kAllPasses) {
      const int threads = 1 + static_cast<int>(random() % 2);
      CheckOptions options;
      // In Caffe a ReLU is a layer by itself.
      options.may_refuse = GetParam() == "openblas" && pass == Pass::kForward && epilogue.relu;
      ASSERT_EQ(
          CheckAgainstReference(GetParam(), RequestFor(op, {pass}, threads), random(), options),
          options.may_refuse ? Verdict::kRefused : Verdict::kAgrees);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, InnerProductBackendTest,
                         testing::Values("onednn", "openblas", "eigen", "eigen-sgemm"));

TEST(InnerProductReferenceTest, GradientsAgreeWithFiniteDifferences) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 6; ++i) {
    const auto op = std::make_shared<InnerProductOp>(RandomSource(random), 3);
    CheckGradient(op, Arg::kSrc, random());
    CheckGradient(op, Arg::kWeights, random());
    CheckGradient(op, Arg::kBias, random());
  }
}

TEST(InnerProductOneDnnTest, Int8IsExact) {
  int ran = 0;
  for (const DataType type : {DataType::kS8, DataType::kU8}) {
    for (const Shape& src : {Shape{4, 64}, Shape{3, 17}, Shape{2, 16, 4, 4}}) {
      const auto op = std::make_shared<InnerProductOp>(src, 24, InnerProductEpilogue{true, true});
      CheckOptions options;
      options.may_refuse = true;
      options.slack = 0;  // sums of whole numbers
      const auto verdict = CheckAgainstReference(
          "onednn", RequestFor(op, {Pass::kForward, false, type}, 2), 5, options);
      EXPECT_NE(verdict, Verdict::kDiffers);
      ran += verdict == Verdict::kAgrees ? 1 : 0;
    }
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has no int8 inner product on this CPU";
}

}  // namespace
}  // namespace topdnn
