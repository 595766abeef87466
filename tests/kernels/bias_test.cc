#include "kernels/bias/bias.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/bias/loops.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(BiasOpTest, WorkOperandsAndParameter) {
  const BiasOp op(Shape{2, 3, 4, 5});
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 120);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (120 + 3 + 120));
  EXPECT_EQ(op.WorkOf(Pass::kBackwardWeights, DataType::kF32).flops, 117);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardWeights, DataType::kBF16).bytes, 2 * 120 + 4 * 3);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardWeights), 40);
  EXPECT_FALSE(op.Has({Pass::kBackwardData}));
  EXPECT_TRUE(op.Traits().passes_gradient_through);
  ASSERT_EQ(op.Parameters().size(), 1u);
  EXPECT_EQ(op.Parameters()[0].shape, Shape{3});
}

TEST(BiasOpTest, ImpossibleGeometryIsRefused) {
  EXPECT_THROW(BiasOp(Shape{3}), std::invalid_argument);
  EXPECT_THROW(BiasOp(Shape{}), std::invalid_argument);
  EXPECT_THROW(BiasOp(Shape{2, 0, 3, 3}), std::invalid_argument);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(BiasOp(Shape{huge, 2}), std::invalid_argument);
}

TEST(BiasLoopsTest, LayoutsAsBlocksOfChannels) {
  const Shape shape{2, 40, 3, 5};
  const auto widths = [&](const char* tag) -> std::vector<std::int64_t> {
    const auto form = ChannelBlocksOf(shape, *Layout::Parse(tag));
    if (!form) return {};
    return {form->images, form->blocks, form->pixels, form->width};
  };
  EXPECT_EQ(widths("abcd"), (std::vector<std::int64_t>{2, 40, 15, 1}));
  EXPECT_EQ(widths("acdb"), (std::vector<std::int64_t>{2, 1, 15, 40}));
  EXPECT_EQ(widths("aBcd16b"), (std::vector<std::int64_t>{2, 3, 15, 16}));
  EXPECT_EQ(widths("aBcd8b"), (std::vector<std::int64_t>{2, 5, 15, 8}));
  EXPECT_EQ(widths("bacd"), std::vector<std::int64_t>{});
}

TEST(BiasReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<BiasOp>(Shape{2, 3, 4, 5}), Arg::kBias, 1);
  CheckGradient(std::make_shared<BiasOp>(Shape{7, 4}), Arg::kBias, 2);
}

class BiasBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(BiasBackendTest, KnownValues) {
  const auto op = std::make_shared<BiasOp>(Shape{2, 2, 1, 2});
  const KernelRequest forward_request = RequestFor(op, {}, 1);
  KernelRun forward(ServingBackend(GetParam(), forward_request), forward_request);
  ASSERT_NE(forward.kernel(), nullptr) << forward.refusal();
  forward.Set(Arg::kSrc, {1, 2, 3, 4, 5, 6, 7, 8});
  forward.Set(Arg::kBias, {10, -20});
  forward.Run();
  EXPECT_EQ(forward.Get(Arg::kDst), (std::vector<double>{11, 12, -17, -16, 15, 16, -13, -12}));
  const KernelRequest backward_request = RequestFor(op, {Pass::kBackwardWeights}, 1);
  KernelRun backward(ServingBackend(GetParam(), backward_request), backward_request);
  ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
  backward.Set(Arg::kDiffDst, {1, 2, 3, 4, 5, 6, 7, 8});
  backward.Run();
  EXPECT_EQ(backward.Get(Arg::kDiffBias), (std::vector<double>{14, 22}));
}

TEST_P(BiasBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(51);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 40};
  for (int i = 0; i < 90; ++i) {
    const bool image = i % 4 != 0;
    Shape shape = Shape{upto(3), kChannels[random() % 5], upto(9), upto(9)};
    if (!image) shape = Shape{upto(9), upto(99)};
    if (i % 15 == 13) shape = Shape{2, 17, 40, 40};
    const auto op = std::make_shared<BiasOp>(shape);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardWeights}) {
      KernelRequest request = RequestFor(op, {pass}, 1 + i % 2);
      if (GetParam() == "onednn") {
        if (i % 5 == 4) request.execution.type = DataType::kBF16;
        const Arg leading = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
        if (image && i % 3 == 1) request.layouts[leading] = *Layout::Parse("aBcd16b");
        if (image && i % 3 == 2) request.layouts[leading] = Layout::ChannelsLast(4);
      }
      std::string ran;
      const std::string serving = ServingBackend(GetParam(), request);
      EXPECT_EQ(CheckAgainstReference(serving, request, 7 * i, {}, &ran), Verdict::kAgrees);
      // oneDNN's plain reference code is too slow, so the kernel must not use it.
      EXPECT_TRUE(GetParam() != "onednn" || ran.find("ref") == std::string::npos) << ran;
    }
  }
}

TEST_P(BiasBackendTest, RunsOverItsSource) {
  const auto op = std::make_shared<BiasOp>(Shape{4, 33, 7, 5});
  const Values inputs = RandomInputs(*op, {}, 3);
  KernelRun apart(GetParam(), RequestFor(op, {}, 2));
  apart.SetInputs(inputs);
  apart.Run();
  KernelRun over(GetParam(), RequestFor(op, {}, 2));
  over.SetInputs(inputs);
  over.Alias(Arg::kDst, Arg::kSrc);
  over.Run();
  EXPECT_EQ(over.Get(Arg::kSrc), apart.Get(Arg::kDst));
}

TEST_P(BiasBackendTest, NanAndInfinityPropagate) {
  const auto op = std::make_shared<BiasOp>(Shape{2, 3, 2, 2});
  std::vector<double> values(24, 0.5);
  values[1] = NAN;
  values[9] = HUGE_VAL;
  CheckAgainstReference(GetParam(), RequestFor(op, {}, 1), 2,
                        {.inputs = {{Arg::kSrc, values}, {Arg::kBias, {1, -HUGE_VAL, NAN}}}});
  const KernelRequest backward = RequestFor(op, {Pass::kBackwardWeights}, 1);
  CheckAgainstReference(ServingBackend(GetParam(), backward), backward, 2,
                        {.inputs = {{Arg::kDiffDst, values}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, BiasBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

}  // namespace
}  // namespace topdnn
