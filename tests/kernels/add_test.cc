#include "kernels/eltwise/add.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"
#include "kernels/library/onednn.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(AddOpTest, WorkAndOperands) {
  const AddOp op(Shape{2, 3, 4, 5}, 3);
  EXPECT_EQ(op.Problem(), "2x3x4x5_of3");
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 240);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).macs, 0);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kBF16).bytes, 120 * 2 * 4);
  EXPECT_EQ(op.AccumulationLength(Pass::kForward), 3);
  EXPECT_EQ(AddOp(Shape{2, 3, 4, 5}, 3, true).WorkOf(Pass::kForward, DataType::kF32).flops, 360);
  // The gradients of its sources are diff_dst itself.
  EXPECT_FALSE(op.Has({Pass::kBackwardData}));
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  EXPECT_TRUE(op.Traits().passes_gradient_through);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).bytes, 0);
}

TEST(AddOpTest, ImpossibleGeometryIsRefused) {
  EXPECT_THROW(AddOp(Shape{2, 3}, 1), std::invalid_argument);
  EXPECT_THROW(AddOp(Shape{2, 3}, 257), std::invalid_argument);
  EXPECT_THROW(AddOp(Shape{2, 0}, 2), std::invalid_argument);
  EXPECT_THROW(AddOp(Shape{}, 2), std::invalid_argument);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(AddOp(Shape{huge, huge}, 2), std::invalid_argument);
  EXPECT_THROW(AddOp(Shape{std::int64_t{1} << 30, std::int64_t{1} << 30}, 2),
               std::invalid_argument);
}

TEST(AddOpTest, FusesWithReluAndIntoAConvolution) {
  const Shape shape{1, 8, 5, 5};
  const auto fused = AddOp(shape, 2).FusedWith(ReluOp(shape));
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->Problem(), "1x8x5x5_of2_relu");
  EXPECT_EQ(AddOp(shape, 2).FusedWith(ReluOp(shape, 6.0F)), nullptr);
  EXPECT_EQ(AddOp(shape, 2, true).FusedWith(ReluOp(shape)), nullptr);

  const ConvExtents e{.n = 1, .c = 3, .h = 5, .w = 5, .k = 8};
  const auto sum = ConvOp(e).FusedWith(AddOp(shape, 2));
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->Find({}, Arg::kDst)->direction, Direction::kInOut);
  const auto both = ConvOp(e).FusedWith(AddOp(shape, 2, true));
  ASSERT_NE(both, nullptr);
  EXPECT_TRUE(dynamic_cast<const ConvOp&>(*both).epilogue().relu);
  EXPECT_NE(sum->FusedWith(ReluOp(shape)), nullptr);
  // Not after a ReLU, not twice, not with another shape or more than two tensors.
  EXPECT_EQ(both->FusedWith(AddOp(shape, 2)), nullptr);
  EXPECT_EQ(sum->FusedWith(AddOp(shape, 2)), nullptr);
  EXPECT_EQ(ConvOp(e).FusedWith(AddOp(shape, 3)), nullptr);
  EXPECT_EQ(ConvOp(e).FusedWith(AddOp(Shape{1, 8, 5, 4}, 2)), nullptr);
}

// A convolution with a fused addition gives the same as the convolution and then the addition.
TEST(AddOpTest, AFusedConvolutionComputesTheSame) {
  const ConvExtents e{.n = 2, .c = 3, .h = 5, .w = 5, .k = 8, .r = 3, .s = 3};
  const auto conv = std::make_shared<ConvOp>(e);
  const AddOp add(conv->dst_shape(), 2, true);
  const Execution in_f64{Pass::kForward, true, DataType::kF64};
  Values inputs = RandomInputs(*conv, in_f64, 3);
  const std::vector<double> shortcut = RandomInputs(add, in_f64, 4).at(IndexedSrc(1));
  const auto result = ReferenceResults(RequestFor(conv, {}, 1), inputs).at(Arg::kDst);
  const auto expected = ReferenceResults(RequestFor(std::make_shared<AddOp>(add), {}, 1),
                                         {{IndexedSrc(0), result}, {IndexedSrc(1), shortcut}})
                            .at(Arg::kDst);
  inputs[Arg::kDst] = shortcut;
  const auto fused = ReferenceResults(RequestFor(conv->FusedWith(add), {}, 1), inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(fused.at(Arg::kDst)[i], expected[i], 1e-13);
  }
}

TEST(AddReferenceTest, GradientInEachSourceIsDiffDst) {
  // Finite differences of <dst, diff_dst>. Addition is linear, so steps of 1 are exact.
  const auto op = std::make_shared<AddOp>(Shape{2, 3}, 3);
  const Execution in_f64{Pass::kForward, true, DataType::kF64};
  Values inputs = RandomInputs(*op, in_f64, 1);
  const auto before = ReferenceResults(RequestFor(op, {}, 1), inputs).at(Arg::kDst);
  for (int source = 0; source < 3; ++source) {
    Values moved = inputs;
    moved[IndexedSrc(source)][4] += 1;
    const auto after = ReferenceResults(RequestFor(op, {}, 1), moved).at(Arg::kDst);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(after[i] - before[i], i == 4 ? 1 : 0, 1e-14);
  }
}

class AddBackendTest : public testing::TestWithParam<std::string> {
 protected:
  bool OnlyRowMajor() const { return GetParam() != "onednn"; }
};

TEST_P(AddBackendTest, KnownValues) {
  for (const bool relu : {false, true}) {
    KernelRun run(GetParam(), RequestFor(std::make_shared<AddOp>(Shape{4}, 3, relu), {}, 1));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    run.Set(IndexedSrc(0), {1, -2, 3, 0});
    run.Set(IndexedSrc(1), {10, -20, -30, 0});
    run.Set(IndexedSrc(2), {100, 2, 3, 0});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst),
              (relu ? std::vector<double>{111, 0, 0, 0} : std::vector<double>{111, -20, -24, 0}));
  }
}

// Whether a block of channels is a vector of oneDNN's kernels.
bool FillsVectors(const Layout& layout) {
  return layout == onednn::BlockedActivations() && onednn::IsaOf("gemm:jit") != "sse41";
}

TEST_P(AddBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(31);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 40};
  for (int i = 0; i < 90; ++i) {
    const bool image = i % 4 != 0;
    Shape shape = Shape{upto(3), kChannels[random() % 5], upto(9), upto(9)};
    if (!image) shape = Shape{upto(9), upto(99)};
    if (i % 30 == 29) shape = Shape{2, 16, 40, 40};
    const auto op =
        std::make_shared<AddOp>(shape, 2 + static_cast<int>(random() % 4), i / 2 % 2 == 0);
    KernelRequest request = RequestFor(op, {}, 1 + i % 2);
    if (!OnlyRowMajor()) {
      if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
      if (image && i % 3 == 1) request.layouts[IndexedSrc(1)] = onednn::BlockedActivations();
      if (image && i % 3 == 2) request.layouts[Arg::kDst] = Layout::ChannelsLast(4);
    }
    const bool may_refuse = i % 3 == 1 && !FillsVectors(onednn::BlockedActivations());
    EXPECT_NE(CheckAgainstReference(GetParam(), request, 7 * i, {.may_refuse = may_refuse}),
              Verdict::kDiffers);
  }
}

// oneDNN would write past the result: 17 channels in blocks of another width than the vectors'.
TEST(AddOneDnnTest, ASumOfThreeInPaddedBlocksOfAnotherWidthIsRefused) {
  for (const char* const tag : {"aBcd8b", "aBcd16b"}) {
    const Layout layout = *Layout::Parse(tag);
    if (FillsVectors(layout)) continue;
    KernelRequest request = RequestFor(std::make_shared<AddOp>(Shape{2, 17, 9, 3}, 3), {}, 1);
    request.layouts[IndexedSrc(1)] = layout;
    EXPECT_NE(KernelRun("onednn", request).refusal().find("past the result"), std::string::npos)
        << tag;
  }
}

TEST_P(AddBackendTest, RunsOverTheFirstSource) {
  for (const int sources : {2, 3}) {
    const auto op = std::make_shared<AddOp>(Shape{4, 33, 7, 5}, sources);
    const Values inputs = RandomInputs(*op, {}, 3);
    KernelRun apart(GetParam(), RequestFor(op, {}, 2));
    apart.SetInputs(inputs);
    apart.Run();
    KernelRun over(GetParam(), RequestFor(op, {}, 2));
    over.SetInputs(inputs);
    over.Alias(Arg::kDst, IndexedSrc(0));
    over.Run();
    EXPECT_EQ(over.Get(IndexedSrc(0)), apart.Get(Arg::kDst));
  }
}

TEST_P(AddBackendTest, NanAndInfinityPropagateToTheirOwnElement) {
  std::vector<double> a(40, 0.5);
  std::vector<double> b(40, 0.25);
  a[3] = NAN;
  a[7] = HUGE_VAL;
  b[7] = -HUGE_VAL;
  b[20] = -HUGE_VAL;
  CheckAgainstReference(GetParam(), RequestFor(std::make_shared<AddOp>(Shape{40}, 3), {}, 1), 2,
                        {.inputs = {{IndexedSrc(0), a}, {IndexedSrc(2), b}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, AddBackendTest,
                         testing::Values("reference", "onednn", "native", "eigen", "eigen-sgemm"));

TEST(AddOneDnnTest, TwoLayoutsAreRefusedWithAReason) {
  KernelRequest request = RequestFor(std::make_shared<AddOp>(Shape{2, 16, 3, 3}, 2), {}, 1);
  request.layouts[IndexedSrc(0)] = Layout::Plain(4);
  request.layouts[IndexedSrc(1)] = Layout::ChannelsLast(4);
  const KernelRun run("onednn", request);
  EXPECT_EQ(run.kernel(), nullptr);
  EXPECT_NE(run.refusal().find("one layout"), std::string::npos) << run.refusal();
}

// 100 channels fill 12 blocks of 8 and half of another one, or 6 of 16 and a quarter.
TEST(AddBackendsTest, OneDnnAddsPartlyFilledBlocks) {
  const Layout layout = onednn::BlockedActivations();
  for (const int sources : {2, 3, 5}) {
    for (const bool relu : {false, true}) {
      KernelRequest request =
          RequestFor(std::make_shared<AddOp>(Shape{2, 100, 5, 7}, sources, relu), {}, 2);
      request.layouts[IndexedSrc(0)] = layout;
      const bool refused = sources > 2 && !FillsVectors(layout);
      EXPECT_EQ(CheckAgainstReference("onednn", request, 3, {.may_refuse = refused}),
                refused ? Verdict::kRefused : Verdict::kAgrees);
    }
  }
}

}  // namespace
}  // namespace topdnn
