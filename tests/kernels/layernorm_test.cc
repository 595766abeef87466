#include "kernels/layernorm/layernorm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/check/tolerance.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

TEST(LayerNormOpTest, ProblemsWorkAndOperands) {
  const LayerNormOp op(Shape{2, 3, 4, 5}, 1e-6F);  // 120 elements, 40 pixels
  EXPECT_EQ(op.Problem(), "2x3x4x5_eps1e-06");
  for (const char* problem : {"2x3x4x5_eps1e-06", "8x96"}) {
    EXPECT_EQ(ParseProblem(std::string("layernorm/") + problem)->Problem(), problem);
  }
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 8 * 120 + 5 * 40);
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 13 * 120 + 5 * 40);
  EXPECT_EQ(op.Find({Pass::kForward}, Arg::kMean)->shape, Shape{40});
  EXPECT_FALSE(op.Find({Pass::kForward, false}, Arg::kMean));
  EXPECT_EQ(op.Find({Pass::kBackwardData, true, DataType::kBF16}, Arg::kDiffScale)->type,
            DataType::kF32);
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  for (const Shape& shape : {Shape{3}, Shape{0, 3}, Shape{1, 1, 1, 1, 1, 1}}) {
    EXPECT_THROW(LayerNormOp{shape}, std::invalid_argument) << shape.ToString();
  }
  for (const float epsilon : {0.0F, -1.0F, NAN, HUGE_VALF}) {
    EXPECT_THROW(LayerNormOp(Shape{2, 3}, epsilon), std::invalid_argument) << epsilon;
  }
}

TEST(LayerNormOpTest, GradientsAreThoseOfFiniteDifferences) {
  const auto op = std::make_shared<LayerNormOp>(Shape{2, 3, 2, 2}, 0.1F);
  for (const Arg input : {Arg::kSrc, Arg::kScale, Arg::kShift}) CheckGradient(op, input, 4);
}

// The channels of a pixel have mean 2.5 and variance 1.25; with epsilon 0.3125 the deviation is
// 1.25. The other pixel is constant.
TEST(LayerNormKnownValuesTest, ForwardAndBackwardOnEveryBackend) {
  for (const char* backend : {"reference", "onednn", "native"}) {
    SCOPED_TRACE(backend);
    const auto op = std::make_shared<LayerNormOp>(Shape{1, 4, 1, 2}, 0.3125F);
    KernelRun forward(backend, RequestFor(op, {Pass::kForward}, 1));
    ASSERT_NE(forward.kernel(), nullptr) << forward.refusal();
    forward.Set(Arg::kSrc, {1, 7, 2, 7, 3, 7, 4, 7});
    forward.Set(Arg::kScale, {5, 5, 5, 10});
    forward.Set(Arg::kShift, {1, 1, 1, 2});
    forward.Run();
    EXPECT_EQ(forward.Get(Arg::kMean), (std::vector<double>{2.5, 7}));
    EXPECT_EQ(forward.Get(Arg::kVariance), (std::vector<double>{1.25, 0}));
    const std::vector<double> dst = forward.Get(Arg::kDst);
    const std::vector<double> expected = {-5, 1, -1, 1, 3, 1, 14, 2};
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-5) << i;
    KernelRun backward(backend, RequestFor(op, {Pass::kBackwardData}, 1));
    ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
    for (const Arg arg : {Arg::kSrc, Arg::kScale, Arg::kMean, Arg::kVariance}) {
      backward.Set(arg, forward.Get(arg));
    }
    backward.Set(Arg::kDiffDst, {1, 0, 0, 0, 0, 0, 0, 3});
    backward.Run();
    // Of the first channel 1 and x^ -1.2; of the last one 3 at the constant pixel, whose x^ is 0
    // and whose deviation is the root of epsilon.
    const double other = 30 / std::sqrt(0.3125);
    const std::vector<double> gradient = {1.56,  -other / 4, -1.48, -other / 4,
                                          -0.52, -other / 4, 0.44,  0.75 * other};
    const std::vector<double> diff_src = backward.Get(Arg::kDiffSrc);
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(diff_src[i], gradient[i], 1e-5) << i;
    EXPECT_EQ(backward.Get(Arg::kDiffShift), (std::vector<double>{1, 0, 0, 3}));
    EXPECT_NEAR(backward.Get(Arg::kDiffScale)[0], -1.2, 1e-6);
    EXPECT_NEAR(backward.Get(Arg::kDiffScale)[3], 0, 1e-6);
  }
}

TEST(LayerNormBackendsTest, AgreeWithTheReference) {
  for (const char* backend : {"onednn", "native"}) {
    for (const Shape& shape : {Shape{3, 37}, Shape{2, 17, 5, 3}, Shape{2, 96, 14, 14},
                               Shape{4, 1, 3, 3}, Shape{1, 160, 1, 1}}) {
      const auto op = std::make_shared<LayerNormOp>(shape, 0.1F);
      for (const DataType type : {DataType::kF32, DataType::kBF16}) {
        if (type == DataType::kBF16 && !OneDnnHasBf16()) continue;
        for (const Execution& execution :
             {Execution{Pass::kForward, true, type}, Execution{Pass::kForward, false, type},
              Execution{Pass::kBackwardData, true, type}}) {
          const Values inputs = RandomInputs(*op, execution, 3);
          const auto expected = ReferenceResults(RequestFor(op, execution, 2), inputs);
          KernelRun run(backend, RequestFor(op, execution, 2));
          ASSERT_NE(run.kernel(), nullptr) << run.refusal();
          run.SetInputs(inputs);
          run.Run();
          for (const auto& [arg, values] : expected) {
            const double rounding =
                RoundingOfResults(*op, execution.pass, run.kernel()->Find(arg)->desc.type);
            EXPECT_LE(RelativeError(run.Get(arg), values, 0, rounding), Tolerance(*op, execution))
                << backend << " " << shape.ToString() << " " << NameOf(arg);
          }
        }
      }
    }
    KernelRequest request = RequestFor(std::make_shared<LayerNormOp>(Shape{2, 17, 5, 3}), {}, 2);
    request.layouts[Arg::kSrc] = Layout::Plain(4);
    EXPECT_THAT(KernelRun(backend, request).refusal(), testing::HasSubstr("channels last"));
  }
}

}  // namespace
}  // namespace topdnn
