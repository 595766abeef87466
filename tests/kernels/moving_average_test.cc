#include "kernels/batchnorm/moving_average.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(MovingAverageTest, KnownValuesOnEveryBackend) {
  for (const char* backend : {"reference", "native", "eigen"}) {
    const auto op = std::make_shared<MovingAverageOp>(2, 0.75F);
    KernelRun run(backend, RequestFor(op, {Pass::kForward}, 1));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    run.Set(Arg::kSrc, {8, -4});
    run.Set(Arg::kDst, {4, 0});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{5, -1})) << backend;
    run.RunAgain();
    EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{5.75, -1.75})) << backend;
  }
}

TEST(MovingAverageTest, LoopsAgreeWithTheReference) {
  for (const std::int64_t n : {1, 17, 40000}) {
    for (const float momentum : {0.0F, 0.9F, 1.0F}) {
      const auto op = std::make_shared<MovingAverageOp>(n, momentum);
      CheckAgainstReference("native", RequestFor(op, {Pass::kForward}, 2), 3);
    }
  }
}

TEST(MovingAverageTest, WorkProblemAndRefusals) {
  const MovingAverageOp op(64, 0.99F);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 3 * 64);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).bytes, 3 * 64 * 4);
  EXPECT_FALSE(op.Has({Pass::kBackwardData}));
  EXPECT_EQ(ParseProblem("moving_average/" + op.Problem())->Problem(), "n64_momentum0.99");
  EXPECT_THROW(MovingAverageOp(0), std::invalid_argument);
  EXPECT_THROW(MovingAverageOp(3, 1.5F), std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
