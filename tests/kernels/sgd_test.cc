#include "kernels/sgd/sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/kernel/omp_loops.h"
#include "kernels/sgd/adam.h"
#include "kernels/tensor/extents.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr std::int64_t kSizes[] = {1, 7, 896, kMinParallelElements - 1, kMinParallelElements + 3};

TEST(SgdOpTest, OperandsAndWork) {
  EXPECT_EQ(SgdOp(100, {}).WorkOf(Pass::kForward, DataType::kF32).flops, 200);
  EXPECT_EQ(SgdOp(100, {.momentum = 0.9F, .weight_decay = 1e-4F})
                .WorkOf(Pass::kForward, DataType::kF32)
                .flops,
            600);
  // Reads gradient and rate, reads and writes weights.
  EXPECT_EQ(SgdOp(100, {}).WorkOf(Pass::kForward, DataType::kF32).bytes, 4 * (100 + 1 + 200));
  EXPECT_FALSE(SgdOp(100, {}).Find({}, Arg::kMomentum));
  EXPECT_EQ(AdamOp(100, {}).WorkOf(Pass::kForward, DataType::kF32).flops, 1200);
  EXPECT_EQ(AdamOp(100, {.weight_decay = 0.1F}).WorkOf(Pass::kForward, DataType::kF32).flops, 1400);
  EXPECT_THROW(SgdOp(0, {}), std::invalid_argument);
  EXPECT_THROW(AdamOp(-1, {}), std::invalid_argument);
  EXPECT_NO_THROW(SgdOp(kMaxElements, {}));
  EXPECT_THROW(SgdOp(kMaxElements + 1, {}), std::invalid_argument);
  EXPECT_THROW(AdamOp(kMaxElements + 1, {}), std::invalid_argument);
}

TEST(SgdReferenceTest, TwoStepsByHand) {
  const auto op = std::make_shared<SgdOp>(1, SgdSettings{.momentum = 0.5F, .weight_decay = 0.25F});
  KernelRun run("reference", RequestFor(op, {Pass::kForward, true, DataType::kF64}, 1));
  run.Set(Arg::kWeights, {4});
  run.Set(Arg::kMomentum, {2});
  run.Set(Arg::kDiffWeights, {3});
  run.Set(Arg::kLearningRate, {0.5});
  run.Run();
  // momentum 0.5 * 2 + (3 + 0.25 * 4) = 5, weights 4 - 0.5 * 5.
  EXPECT_EQ(run.Get(Arg::kMomentum)[0], 5);
  EXPECT_EQ(run.Get(Arg::kWeights)[0], 1.5);
  // The rate is an operand, so it changes between steps without a new kernel.
  run.Set(Arg::kLearningRate, {0.125});
  run.RunAgain();
  EXPECT_EQ(run.Get(Arg::kMomentum)[0], 5.875);
  EXPECT_EQ(run.Get(Arg::kWeights)[0], 1.5 - 0.125 * 5.875);
}

TEST(AdamReferenceTest, FirstStepIsTheLearningRate) {
  // With zero moments the first step is rate * g / |g|, for any size of the gradient.
  KernelRun run("reference", RequestFor(std::make_shared<AdamOp>(2, AdamSettings{}),
                                        {Pass::kForward, true, DataType::kF64}, 1));
  run.Set(Arg::kWeights, {1, 1});
  run.Set(Arg::kDiffWeights, {1000, -0.01});
  run.Set(Arg::kLearningRate, {0.125});
  run.Run();
  EXPECT_NEAR(run.Get(Arg::kWeights)[0], 0.875, 1e-8);
  EXPECT_NEAR(run.Get(Arg::kWeights)[1], 1.125, 1e-5);
  EXPECT_EQ(run.Get(Arg::kStep)[0], 1);
  run.RunAgain();
  EXPECT_EQ(run.Get(Arg::kStep)[0], 2);
}

class UpdateBackendTest : public testing::TestWithParam<std::string> {};

TEST_P(UpdateBackendTest, SgdAgreesWithTheReference) {
  std::mt19937_64 random(5);
  for (const std::int64_t n : kSizes) {
    for (const float momentum : {0.0F, 0.9F}) {
      for (const float decay : {0.0F, 0.125F}) {
        const auto op = std::make_shared<SgdOp>(n, SgdSettings{momentum, decay});
        for (const int threads : {1, 2}) {
          EXPECT_EQ(CheckAgainstReference(GetParam(), RequestFor(op, {}, threads), random()),
                    Verdict::kAgrees);
        }
      }
    }
  }
}

TEST_P(UpdateBackendTest, AdamAgreesWithTheReference) {
  std::mt19937_64 random(6);
  for (const std::int64_t n : kSizes) {
    for (const float decay : {0.0F, 0.125F}) {
      const auto op = std::make_shared<AdamOp>(n, AdamSettings{.weight_decay = decay});
      CheckOptions options;
      // A second moment near zero would amplify rounding errors, so it stays away from zero.
      std::vector<double> second(static_cast<std::size_t>(n));
      for (double& v : second) v = 0.25 + static_cast<double>(random() % 1000) / 1000;
      options.inputs[Arg::kSecondMoment] = second;
      EXPECT_EQ(CheckAgainstReference(GetParam(), RequestFor(op, {}, 2), random(), options),
                Verdict::kAgrees);
    }
  }
}

TEST_P(UpdateBackendTest, NanAndInfinityPropagateToTheirOwnElement) {
  const auto op = std::make_shared<SgdOp>(20, SgdSettings{.momentum = 0.9F});
  std::vector<double> gradient(20, 0.5);
  gradient[3] = NAN;
  gradient[17] = -HUGE_VAL;
  CheckAgainstReference(GetParam(), RequestFor(op, {}, 1), 2,
                        {.inputs = {{Arg::kDiffWeights, gradient}}});
}

INSTANTIATE_TEST_SUITE_P(Backends, UpdateBackendTest,
                         testing::Values("native", "eigen", "eigen-sgemm"));

}  // namespace
}  // namespace topdnn
