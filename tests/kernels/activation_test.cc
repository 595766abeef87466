#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/activation/relu.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(ReluOpTest, WorkAndOperands) {
  const ReluOp op(Shape{2, 3, 4, 5});
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 120);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).macs, 0);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 120 * 4 * 2);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kBF16).bytes, 120 * 2 * 3);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  EXPECT_TRUE(op.Traits().forward_in_place);
  // A convolution cannot fuse every bounded ReLU, so a bounded ReLU has another kind.
  EXPECT_NE(ReluOp(Shape{2}, 6.0F).kind(), op.kind());
}

TEST(ReluOpTest, ImpossibleExtentsAreRefused) {
  EXPECT_THROW(ReluOp(Shape{2, 0}), std::invalid_argument);
  EXPECT_THROW(ReluOp(Shape{2, -3}), std::invalid_argument);
  EXPECT_THROW(ReluOp(Shape{}), std::invalid_argument);
  EXPECT_THROW(ReluOp(Shape{2}, -1.0F), std::invalid_argument);
  EXPECT_THROW(ReluOp(Shape{2}, NAN), std::invalid_argument);
}

TEST(ReluReferenceTest, KnownValuesAndNan) {
  const std::vector<double> src = {-HUGE_VAL, -1, 0, 0.25, 6, 7, HUGE_VAL, NAN};
  KernelRun plain("reference", RequestFor(std::make_shared<ReluOp>(Shape{8}), {}, 1));
  plain.Set(Arg::kSrc, src);
  plain.Run();
  std::vector<double> dst = plain.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst.back()));
  dst.pop_back();
  EXPECT_EQ(dst, (std::vector<double>{0, 0, 0, 0.25, 6, 7, HUGE_VAL}));

  KernelRun bounded("reference", RequestFor(std::make_shared<ReluOp>(Shape{8}, 6.0F), {}, 1));
  bounded.Set(Arg::kSrc, src);
  bounded.Run();
  dst = bounded.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst.back()));
  dst.pop_back();
  EXPECT_EQ(dst, (std::vector<double>{0, 0, 0, 0.25, 6, 6, 6}));

  KernelRun backward(
      "reference", RequestFor(std::make_shared<ReluOp>(Shape{8}, 6.0F), {Pass::kBackwardData}, 1));
  backward.Set(Arg::kDst, {0, 0, 0, 0.25, 6, 6, 5, 0});
  backward.Set(Arg::kDiffDst, {1, 2, 3, 4, 5, 6, 7, NAN});
  backward.Run();
  EXPECT_EQ(backward.Get(Arg::kDiffSrc), (std::vector<double>{0, 0, 0, 4, 0, 0, 7, 0}));
}

TEST(ReluReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<ReluOp>(Shape{2, 3, 5, 4}), Arg::kSrc, 1);
  CheckGradient(std::make_shared<ReluOp>(Shape{7, 9}, 0.5F), Arg::kSrc, 2);
}

TEST(ReluOneDnnTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(20261121);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  for (int i = 0; i < 60; ++i) {
    const bool image = i % 3 != 0;
    const Shape shape =
        image ? Shape{upto(3), upto(40), upto(9), upto(9)} : Shape{upto(9), upto(99)};
    const auto op = std::make_shared<ReluOp>(shape, i % 2 == 0 ? 0.0F : 0.5F);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      KernelRequest request = RequestFor(op, {pass, i % 4 < 2}, 1 + i % 2);
      if (i % 5 == 4 && OneDnnHasBf16()) request.execution.type = DataType::kBF16;
      const Arg leading = pass == Pass::kForward ? Arg::kSrc : Arg::kDiffDst;
      if (image && i % 3 == 1) request.layouts[leading] = *Layout::Parse("aBcd16b");
      if (image && i % 3 == 2) request.layouts[leading] = Layout::ChannelsLast(4);
      EXPECT_EQ(CheckAgainstReference("onednn", request, 7 * i), Verdict::kAgrees);
    }
  }
}

TEST(ReluOneDnnTest, RunsInPlace) {
  const auto op = std::make_shared<ReluOp>(Shape{4, 33});
  const auto run_over = [&](Pass pass, Arg result, Arg source) {
    const KernelRequest request = RequestFor(op, {pass}, 2);
    const Values inputs = RandomInputs(*op, request.execution, 3);
    KernelRun separate("onednn", request);
    separate.SetInputs(inputs);
    separate.Run();
    KernelRun in_place("onednn", request);
    in_place.SetInputs(inputs);
    in_place.Alias(result, source);
    in_place.Run();
    EXPECT_EQ(in_place.Get(source), separate.Get(result)) << NameOf(pass);
  };
  run_over(Pass::kForward, Arg::kDst, Arg::kSrc);
  run_over(Pass::kBackwardData, Arg::kDiffSrc, Arg::kDiffDst);
}

TEST(ReluOneDnnTest, TwoLayoutsAreRefusedWithAReason) {
  KernelRequest request = RequestFor(std::make_shared<ReluOp>(Shape{2, 16, 3, 3}), {}, 1);
  request.layouts[Arg::kSrc] = Layout::Plain(4);
  request.layouts[Arg::kDst] = Layout::ChannelsLast(4);
  const KernelRun run("onednn", request);
  EXPECT_EQ(run.kernel(), nullptr);
  EXPECT_NE(run.refusal().find("one layout"), std::string::npos) << run.refusal();
}

TEST(ReluOneDnnTest, InfinityPropagates) {
  const std::vector<double> src = {-HUGE_VAL, -1, 0, 0.25, 6, 7, HUGE_VAL, 1};
  for (const float bound : {0.0F, 6.0F}) {
    const auto request = RequestFor(std::make_shared<ReluOp>(Shape{8}, bound), {}, 1);
    CheckAgainstReference("onednn", request, 5, {.inputs = {{Arg::kSrc, src}}});
  }
}

TEST(ReluOneDnnTest, NanTouchesNoOtherElement) {
  // oneDNN itself changes a NaN to 0 (relu.h). The gradient's NaN passes.
  std::vector<double> values(40, 0.5);
  const auto op = std::make_shared<ReluOp>(Shape{40});
  values[3] = NAN;
  KernelRun forward("onednn", RequestFor(op, {Pass::kForward}, 1));
  forward.Set(Arg::kSrc, values);
  forward.Run();
  const std::vector<double> dst = forward.Get(Arg::kDst);
  for (std::size_t i = 0; i < dst.size(); ++i) {
    EXPECT_TRUE(i == 3 || dst[i] == 0.5) << i;
  }
  CheckAgainstReference(
      "onednn", RequestFor(op, {Pass::kBackwardData}, 1), 5,
      {.inputs = {{Arg::kDiffDst, values}, {Arg::kDst, std::vector<double>(40, 1.0)}}});
}

}  // namespace
}  // namespace topdnn
