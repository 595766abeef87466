#include "kernels/softmax/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/case_count.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(CrossEntropyOpTest, OperandsAndWork) {
  const SoftmaxCrossEntropyOp op(64, 10);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 5 * 640);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (640 + 64 + 1 + 640));
  EXPECT_FALSE(op.Find({Pass::kForward, false}, Arg::kDiffSrc));
  EXPECT_FALSE(op.Has({Pass::kBackwardData}));
  EXPECT_THROW(SoftmaxCrossEntropyOp(0, 10), std::invalid_argument);
  EXPECT_THROW(SoftmaxCrossEntropyOp(4, -1), std::invalid_argument);
}

TEST(CrossEntropyReferenceTest, KnownValues) {
  // For equal logits softmax is 1/K and the loss log K. A right answer with certainty has loss 0.
  KernelRun run("reference", RequestFor(std::make_shared<SoftmaxCrossEntropyOp>(2, 4),
                                        {Pass::kForward, true, DataType::kF64}, 1));
  run.Set(Arg::kSrc, {3, 3, 3, 3, 0, 1000, 0, 0});
  run.Set(Arg::kLabels, {2, 1});
  run.Run();
  EXPECT_NEAR(run.Get(Arg::kLoss)[0], std::log(4.0) / 2, 1e-15);
  const std::vector<double> expected = {0.125, 0.125, -0.375, 0.125, 0, 0, 0, 0};
  const std::vector<double> diff = run.Get(Arg::kDiffSrc);
  for (std::size_t i = 0; i < diff.size(); ++i) EXPECT_NEAR(diff[i], expected[i], 1e-15);
}

TEST(CrossEntropyReferenceTest, GradientAgreesWithFiniteDifferences) {
  const SoftmaxCrossEntropyOp op(5, 7);
  const Execution execution{Pass::kForward, true, DataType::kF64};
  Values values = RandomInputs(op, execution, 4);
  KernelRun run("reference", RequestFor(std::make_shared<SoftmaxCrossEntropyOp>(op), execution, 1));
  const auto loss = [&] {
    run.SetInputs(values);
    run.Run();
    return run.Get(Arg::kLoss)[0];
  };
  loss();
  const std::vector<double> gradient = run.Get(Arg::kDiffSrc);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], SlopeIn(values.at(Arg::kSrc)[i], loss), 1e-9) << "element " << i;
  }
  CountCase("gradient check");
}

class CrossEntropyBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(CrossEntropyBackendTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<std::int64_t>(random() % 70) + 1;
    const auto k = static_cast<std::int64_t>(random() % (i % 8 == 0 ? 1000 : 20)) + 1;
    const auto op = std::make_shared<SoftmaxCrossEntropyOp>(n, k);
    const KernelRequest request = RequestFor(op, {Pass::kForward, i % 3 != 0}, 1 + i % 2);
    EXPECT_EQ(CheckAgainstReference(GetParam(), request, random()), Verdict::kAgrees);
  }
}

TEST_P(CrossEntropyBackendTest, LargeLogitsDoNotOverflowAndNanPropagates) {
  const auto op = std::make_shared<SoftmaxCrossEntropyOp>(2, 3);
  const KernelRequest request = RequestFor(op, {Pass::kForward}, 1);
  CheckAgainstReference(
      GetParam(), request, 1,
      {.inputs = {{Arg::kSrc, {500, 499, -500, -800, -801, -802}}, {Arg::kLabels, {1, 2}}}});
  for (const double odd : {static_cast<double>(NAN), HUGE_VAL}) {
    KernelRun run(GetParam(), request);
    run.Set(Arg::kSrc, {1, odd, 2, 1, 2, 3});
    run.Set(Arg::kLabels, {0, 0});
    run.Run();
    EXPECT_TRUE(std::isnan(run.Get(Arg::kLoss)[0]) || std::isinf(run.Get(Arg::kLoss)[0]));
    EXPECT_TRUE(std::isnan(run.Get(Arg::kDiffSrc)[1]));
    EXPECT_FALSE(std::isnan(run.Get(Arg::kDiffSrc)[4]));  // the other row is untouched
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, CrossEntropyBackendTest,
                         testing::Values("native", "eigen", "eigen-sgemm"));

}  // namespace
}  // namespace topdnn
