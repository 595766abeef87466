#include "kernels/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(SoftmaxOpTest, OperandsAndWork) {
  const SoftmaxOp op(8, 10);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 5 * 80);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 4 * 80);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).bytes, 4 * 3 * 80);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  EXPECT_THROW(SoftmaxOp(0, 10), std::invalid_argument);
  EXPECT_THROW(SoftmaxOp(4, -1), std::invalid_argument);
}

TEST(SoftmaxReferenceTest, GradientsAgreeWithFiniteDifferences) {
  CheckGradient(std::make_shared<SoftmaxOp>(5, 7), Arg::kSrc, 1);
  CheckGradient(std::make_shared<SoftmaxOp>(1, 30), Arg::kSrc, 2);
}

// |dst| * (|diff_dst| + sum |diff_dst * dst|): the rounding errors of diff_src scale with it.
std::vector<double> BackwardMagnitudes(const SoftmaxOp& op, const Values& inputs) {
  const std::vector<double>& dst = inputs.at(Arg::kDst);
  const std::vector<double>& diff_dst = inputs.at(Arg::kDiffDst);
  const auto classes = static_cast<std::size_t>(op.classes());
  std::vector<double> magnitudes(dst.size());
  for (std::size_t row = 0; row < dst.size(); row += classes) {
    double dot = 0;
    for (std::size_t i = row; i < row + classes; ++i) dot += std::abs(diff_dst[i] * dst[i]);
    for (std::size_t i = row; i < row + classes; ++i) {
      magnitudes[i] = std::abs(dst[i]) * (std::abs(diff_dst[i]) + dot);
    }
  }
  return magnitudes;
}

TEST(SoftmaxOneDnnTest, RandomShapesAgreeWithTheReference) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<std::int64_t>(random() % 40) + 1;
    const auto k = static_cast<std::int64_t>(random() % (i % 8 == 0 ? 1000 : 40)) + 1;
    const auto op = std::make_shared<SoftmaxOp>(n, k);
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const KernelRequest request = RequestFor(op, {pass, i % 3 != 0}, 1 + i % 2);
      const std::uint64_t seed = random();
      CheckOptions options;
      if (pass == Pass::kBackwardData) {
        options.magnitudes[Arg::kDiffSrc] =
            BackwardMagnitudes(*op, RandomInputs(*op, request.execution, seed));
      }
      EXPECT_EQ(CheckAgainstReference("onednn", request, seed, options), Verdict::kAgrees);
    }
  }
}

TEST(SoftmaxOneDnnTest, LargeLogitsAndNan) {
  const auto op = std::make_shared<SoftmaxOp>(2, 3);
  const KernelRequest request = RequestFor(op, {}, 1);
  CheckAgainstReference("onednn", request, 1,
                        {.inputs = {{Arg::kSrc, {500, 499, -500, -800, -801, -802}}}});
  KernelRun run("onednn", request);
  run.Set(Arg::kSrc, {1, NAN, 2, 0, 0, 0});
  run.Run();
  const std::vector<double> dst = run.Get(Arg::kDst);
  EXPECT_TRUE(std::isnan(dst[1]));
  EXPECT_NEAR(dst[4], 1.0 / 3, 1e-7);  // the other row is correct
}

}  // namespace
}  // namespace topdnn
