#include "kernels/batchnorm/batchnorm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/batchnorm/fold.h"
#include "kernels/conv/conv.h"
#include "kernels/op/problem.h"
#include "tests/kernels/batchnorm_check.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr const char* kBackends[] = {"onednn", "native", "eigen", "eigen-sgemm"};

TEST(BatchNormOpTest, ImpossibleGeometryIsRefusedInOneLine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const Shape& shape :
       {Shape{}, Shape{3}, Shape{0, 3}, Shape{2, 0, 1, 1}, Shape{2, 3, 0, 1}, Shape{2, -3},
        Shape{1, 1, 1, 1, 1, 1}, Shape{kHuge, kHuge}, Shape{kHuge, kHuge, kHuge, kHuge}}) {
    try {
      const BatchNormOp op(shape);
      ADD_FAILURE() << shape.ToString();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  for (const float epsilon : {0.0F, -1.0F, NAN, HUGE_VALF}) {
    EXPECT_THROW(BatchNormOp(Shape{2, 3}, epsilon), std::invalid_argument) << epsilon;
  }
  EXPECT_THROW(BatchNormOp(Shape{2, 3}, 1, true, -1), std::invalid_argument);
  EXPECT_THROW(BatchNormOp(Shape{2, 3}, 1, true, HUGE_VALF), std::invalid_argument);
  EXPECT_THROW(BatchNormOp(Shape{2, 3}, 1, false, 6), std::invalid_argument);
}

TEST(BatchNormOpTest, ProblemsAreReadBack) {
  for (const auto& [problem, op] :
       {std::pair{"8x64x56x56", BatchNormOp(Shape{8, 64, 56, 56})},
        std::pair{"8x64_eps0.001_relu", BatchNormOp(Shape{8, 64}, 1e-3F, true)},
        std::pair{"8x64x7x7_relu_bound6",
                  BatchNormOp(Shape{8, 64, 7, 7}, BatchNormOp::kDefaultEpsilon, true, 6)}}) {
    EXPECT_EQ(op.Problem(), problem);
    EXPECT_EQ(ParseProblem(std::string("batchnorm/") + problem)->Problem(), problem);
  }
  EXPECT_THROW(ParseProblem("batchnorm/8"), ProblemError);
}

TEST(BatchNormOpTest, OperandsOfEachPass) {
  const BatchNormOp op(Shape{2, 3, 4, 5}, 1e-5F, true);
  const Execution training{Pass::kForward, true, DataType::kBF16};
  EXPECT_EQ(op.Find(training, Arg::kMean)->direction, Direction::kOut);
  EXPECT_EQ(op.Find(training, Arg::kMean)->type, DataType::kF32);
  EXPECT_EQ(op.Find(training, Arg::kDst)->type, DataType::kBF16);
  EXPECT_TRUE(op.Find(training, Arg::kWorkspace));
  const Execution inference{Pass::kForward, false, DataType::kF32};
  EXPECT_EQ(op.Find(inference, Arg::kVariance)->direction, Direction::kIn);
  EXPECT_FALSE(op.Find(inference, Arg::kWorkspace));
  const Execution backward{Pass::kBackwardData, true, DataType::kBF16};
  for (const Arg result : {Arg::kDiffSrc, Arg::kDiffScale, Arg::kDiffShift}) {
    EXPECT_EQ(op.Find(backward, result)->direction, Direction::kOut) << NameOf(result);
  }
  EXPECT_EQ(op.Find(backward, Arg::kDiffScale)->shape, Shape{3});
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  ASSERT_EQ(op.Parameters().size(), 2u);
  EXPECT_EQ(op.Parameters()[0].initial, 1.0);
  EXPECT_EQ(op.Parameters()[1].gradient, Arg::kDiffShift);
}

TEST(BatchNormOpTest, WorkOfInferenceIsLess) {
  const BatchNormOp op(Shape{2, 3, 4, 5});  // 120 elements
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).flops, 7 * 120 + 6 * 3);
  const Work inference = op.WorkIn({Pass::kForward, false, DataType::kF32});
  EXPECT_EQ(inference.flops, 3 * 120 + 4 * 3);
  EXPECT_EQ(inference.bytes, 4 * (2 * 120 + 4 * 3));
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).flops, 9 * 120 + 8 * 3);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kBF16).bytes, 2 * 2 * 120 + 4 * 4 * 3);
  EXPECT_EQ(BatchNormOp(op.shape(), 1e-5F, true).WorkOf(Pass::kForward, DataType::kF32).flops,
            8 * 120 + 6 * 3);
  EXPECT_EQ(op.WorkOf(Pass::kForward, DataType::kF32).macs, 0);
  EXPECT_EQ(op.AccumulationLength(Pass::kForward), 40);
}

TEST(BatchNormOpTest, FusesWithAReluOfItsShapeOnce) {
  const BatchNormOp op(Shape{2, 3, 4, 5}, 1e-3F);
  const auto fused = op.FusedWith(ReluOp(op.shape()));
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->Problem(), "2x3x4x5_eps0.001_relu");
  EXPECT_EQ(fused->FusedWith(ReluOp(op.shape())), nullptr);
  EXPECT_EQ(op.FusedWith(ReluOp(op.shape(), 6.0F))->Problem(), "2x3x4x5_eps0.001_relu_bound6");
  EXPECT_EQ(op.FusedWith(ReluOp(Shape{2, 3})), nullptr);
  EXPECT_EQ(op.FusedWith(ReluOp(op.shape(), HUGE_VALF)), nullptr);
}

// Mean 2.5 and variance 1.25; with epsilon 0.3125 the deviation is 1.25.
TEST(BatchNormKnownValuesTest, ForwardAndBackwardOnEveryBackend) {
  for (const char* backend : {"reference", "onednn", "native", "eigen", "eigen-sgemm"}) {
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(std::string(backend) + (relu ? " relu" : ""));
      const auto op = std::make_shared<BatchNormOp>(Shape{2, 1, 1, 2}, 0.3125F, relu);
      KernelRun forward(backend, RequestFor(op, {Pass::kForward}, 1));
      ASSERT_NE(forward.kernel(), nullptr) << forward.refusal();
      forward.Set(Arg::kSrc, {1, 2, 3, 4});
      forward.Set(Arg::kScale, {5});
      forward.Set(Arg::kShift, {1});
      forward.Run();
      EXPECT_EQ(forward.Get(Arg::kMean), std::vector<double>{2.5});
      EXPECT_EQ(forward.Get(Arg::kVariance), std::vector<double>{1.25});
      const std::vector<double> dst = forward.Get(Arg::kDst);
      const std::vector<double> expected =
          relu ? std::vector<double>{0, 0, 3, 7} : std::vector<double>{-5, -1, 3, 7};
      for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(dst[i], expected[i], 1e-5) << i;

      KernelRun backward(backend, RequestFor(op, {Pass::kBackwardData}, 1));
      ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
      for (const Arg arg : {Arg::kSrc, Arg::kScale, Arg::kMean, Arg::kVariance}) {
        backward.Set(arg, forward.Get(arg));
      }
      if (relu) CopyWorkspace(forward, backward);
      // The ReLU masks the gradient of the first element and passes that of the last.
      backward.Set(Arg::kDiffDst,
                   relu ? std::vector<double>{9, 0, 0, 1} : std::vector<double>{1, 0, 0, 0});
      backward.Run();
      EXPECT_NEAR(backward.Get(Arg::kDiffShift)[0], 1, 1e-6);
      EXPECT_NEAR(backward.Get(Arg::kDiffScale)[0], relu ? 1.2 : -1.2, 1e-6);
      std::vector<double> gradient = {1.56, -1.48, -0.52, 0.44};
      if (relu) std::reverse(gradient.begin(), gradient.end());
      const std::vector<double> diff_src = backward.Get(Arg::kDiffSrc);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(diff_src[i], gradient[i], 1e-6) << i;
    }
  }
}

Shape RandomShape(std::mt19937_64& random, int i) {
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 32};
  const auto pick = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const std::int64_t channels = kChannels[i % 5];
  if (i % 7 == 3) return {pick(9), channels};
  if (i % 7 == 5) return {pick(4), channels, 1, 1};
  return {pick(4), channels, pick(9), pick(9)};
}

TEST(BatchNormBackendsTest, RandomShapesAgreeWithTheReference) {
  for (const char* backend : kBackends) {
    std::mt19937_64 random(21);
    int agreed = 0;
    int agreed_in_f32 = 0;
    int refused = 0;
    for (int i = 0; i < 140; ++i) {
      const Shape shape = RandomShape(random, i);
      const auto op = std::make_shared<BatchNormOp>(shape, i % 3 == 0 ? 1e-5F : 1e-2F, i % 4 == 1);
      for (const auto& [pass, training] :
           {std::pair{Pass::kForward, true}, std::pair{Pass::kForward, false},
            std::pair{Pass::kBackwardData, true}}) {
        KernelRequest request = RequestFor(op, {pass, training}, 1 + i % 2);
        if (i % 6 == 5) request.execution.type = DataType::kBF16;
        const char* tag = i % 3 == 1 ? "acdb" : i % 3 == 2 ? "aBcd16b" : "abcd";
        if (shape.rank() == 4) SettleImages(request, tag);
        const Verdict verdict = CheckBatchNorm(backend, request, 300 + i, {.may_refuse = true});
        agreed += verdict == Verdict::kAgrees ? 1 : 0;
        if (request.execution.type == DataType::kF32) {
          agreed_in_f32 += verdict == Verdict::kAgrees ? 1 : 0;
        }
        refused += verdict == Verdict::kRefused ? 1 : 0;
      }
    }
    EXPECT_EQ(agreed + refused, 3 * 140) << backend;
    RecordProperty(std::string("refused_by_") + backend, refused);
    EXPECT_GT(agreed, 140) << refused << " refused";
    // (its bf16 needs AVX-512)
    if (std::string(backend) == "onednn") {
      EXPECT_GT(agreed_in_f32, 311) << refused << " refused";
    }
  }
}

// Layouts and types that oneDNN must accept, because a network would need reorders otherwise.
TEST(BatchNormBackendsTest, OneDnnAcceptsEveryLayoutAndType) {
  for (const char* tag : {"abcd", "acdb", "aBcd16b"}) {
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      for (const bool relu : {false, true}) {
        for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
          const auto op = std::make_shared<BatchNormOp>(Shape{2, 32, 6, 5}, 1e-5F, relu);
          KernelRequest request = RequestFor(op, {pass, true, type}, 2);
          SettleImages(request, tag);
          const KernelRun run("onednn", request);
          if (type == DataType::kBF16 && run.kernel() == nullptr) continue;  // without AVX-512
          ASSERT_NE(run.kernel(), nullptr) << Describe("onednn", request) << run.refusal();
          RecordProperty(Describe("onednn", request), run.kernel()->implementation());
          EXPECT_EQ(run.DescOf(Arg::kSrc).layout.tag(), tag);
        }
      }
    }
  }
}

// A variance from a single pass over the squares would lose nearly all digits here.
TEST(BatchNormBackendsTest, VarianceIsAccurateForALargeMean) {
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal(1000.0F, 1.0F);
  for (const char* backend : kBackends) {
    const auto op = std::make_shared<BatchNormOp>(Shape{4, 16, 8, 8});
    std::vector<double> src(4 * 16 * 64);
    for (double& value : src) value = static_cast<double>(normal(random));
    CheckBatchNorm(backend, RequestFor(op, {Pass::kForward}, 2), 9, {.inputs = {{Arg::kSrc, src}}});
  }
}

TEST(BatchNormBackendsTest, MayOverwriteTheirSource) {
  for (const char* backend : {"reference", "onednn", "native", "eigen", "eigen-sgemm"}) {
    for (const bool training : {false, true}) {
      for (const auto& [pass, to, from] : {std::tuple{Pass::kForward, Arg::kDst, Arg::kSrc},
                                           {Pass::kBackwardData, Arg::kDiffSrc, Arg::kDiffDst}}) {
        const auto op = std::make_shared<BatchNormOp>(Shape{3, 17, 5, 5});
        EXPECT_TRUE(pass == Pass::kForward ? op->Traits().forward_in_place
                                           : op->Traits().backward_data_in_place);
        const KernelRequest request = RequestFor(op, {pass, training}, 2);
        const Values inputs = RandomInputs(*op, request.execution, 8);
        KernelRun apart(backend, request);
        KernelRun in_place(backend, request);
        ASSERT_NE(apart.kernel(), nullptr) << apart.refusal();
        in_place.Alias(to, from);
        for (KernelRun* run : {&apart, &in_place}) {
          run->SetInputs(inputs);
          run->Run();
        }
        EXPECT_EQ(apart.Get(to), in_place.Get(from)) << backend;
      }
    }
  }
}

TEST(BatchNormBackendsTest, NanAndInfinityStayInTheirChannel) {
  for (const char* backend : {"reference", "onednn", "native", "eigen", "eigen-sgemm"}) {
    for (const double bad : {static_cast<double>(NAN), HUGE_VAL}) {
      SCOPED_TRACE(backend);
      const auto op = std::make_shared<BatchNormOp>(Shape{2, 3, 2, 2});
      KernelRun run(backend, RequestFor(op, {Pass::kForward}, 2));
      std::vector<double> src(24);
      for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<double>(i % 5);
      src[17] = bad;  // image 1, channel 1
      run.Set(Arg::kSrc, src);
      run.Set(Arg::kScale, {1, 1, 1});
      run.Set(Arg::kShift, {0, 0, 0});
      run.Run();
      const std::vector<double> dst = run.Get(Arg::kDst);
      for (std::size_t i = 0; i < dst.size(); ++i) {
        EXPECT_EQ(std::isnan(dst[i]), i / 4 % 3 == 1) << i;
      }
      EXPECT_FALSE(std::isfinite(run.Get(Arg::kMean)[1]));
    }
  }
}

TEST(BatchNormReferenceTest, GradientsAgreeWithFiniteDifferences) {
  for (const Shape& shape :
       {Shape{4, 3, 3, 2}, Shape{9, 2}, Shape{5, 17, 1, 1}, Shape{2, 1, 4, 4}}) {
    for (const bool relu : {false, true}) {
      const auto op = std::make_shared<BatchNormOp>(shape, 0.05F, relu);
      for (const Arg input : {Arg::kSrc, Arg::kScale, Arg::kShift}) CheckGradient(op, input, 6);
    }
    const auto bounded = std::make_shared<BatchNormOp>(shape, 0.05F, true, 0.75F);
    for (const Arg input : {Arg::kSrc, Arg::kScale, Arg::kShift}) CheckGradient(bounded, input, 6);
  }
}

TEST(BatchNormOneDnnTest, TwoLayoutsAreRefusedWithAReason) {
  KernelRequest request = RequestFor(std::make_shared<BatchNormOp>(Shape{2, 16, 3, 3}), {}, 1);
  request.layouts[Arg::kSrc] = Layout::Plain(4);
  request.layouts[Arg::kDst] = Layout::ChannelsLast(4);
  const KernelRun run("onednn", request);
  EXPECT_EQ(run.kernel(), nullptr);
  EXPECT_NE(run.refusal().find("one layout"), std::string::npos) << run.refusal();
}

std::vector<float> Floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

TEST(BatchNormFoldTest, FoldedConvolutionIsConvolutionThenNormalization) {
  for (const bool bias : {false, true}) {
    for (const std::int64_t groups : {1, 2}) {
      const ConvExtents e{.n = 2, .c = 4, .h = 5, .w = 5, .k = 6, .r = 3, .s = 3, .groups = groups};
      const Execution execution{Pass::kForward, false, DataType::kF32};
      const auto conv = std::make_shared<ConvOp>(e, ConvEpilogue{.bias = bias});
      const auto norm = std::make_shared<BatchNormOp>(conv->dst_shape(), 1e-3F);
      const Values of_conv = RandomInputs(*conv, execution, 1);
      Values of_norm = RandomInputs(*norm, execution, 2);
      of_norm[Arg::kSrc] = ReferenceResults(RequestFor(conv, execution, 1), of_conv).at(Arg::kDst);
      const auto expected = ReferenceResults(RequestFor(norm, execution, 1), of_norm).at(Arg::kDst);

      const auto mean = Floats(of_norm[Arg::kMean]);
      const auto variance = Floats(of_norm[Arg::kVariance]);
      const auto scale = Floats(of_norm[Arg::kScale]);
      const auto shift = Floats(of_norm[Arg::kShift]);
      const FoldedWeights folded =
          FoldBatchNorm(Floats(of_conv.at(Arg::kWeights)),
                        bias ? Floats(of_conv.at(Arg::kBias)) : std::vector<float>{},
                        {mean, variance, scale, shift, norm->epsilon()});
      const auto with_bias = std::make_shared<ConvOp>(e);
      const Values of_folded = {{Arg::kSrc, of_conv.at(Arg::kSrc)},
                                {Arg::kWeights, {folded.weights.begin(), folded.weights.end()}},
                                {Arg::kBias, {folded.bias.begin(), folded.bias.end()}}};
      const auto actual =
          ReferenceResults(RequestFor(with_bias, execution, 1), of_folded).at(Arg::kDst);
      ASSERT_EQ(actual.size(), expected.size());
      // Only the folded weights' rounding to f32 differs, times at most 1 / sqrt(eps).
      for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4);
    }
  }
}

TEST(BatchNormFoldTest, KnownValuesAndRefusals) {
  const std::vector<float> mean = {1}, variance = {3}, scale = {6}, shift = {0.5F};
  const BatchNormValues norm{mean, variance, scale, shift, 1.0F};  // deviation 2, so a factor of 3
  const std::vector<float> weights = {1, -2}, bias = {4};
  EXPECT_EQ(FoldBatchNorm(weights, {}, norm).weights, (std::vector<float>{3, -6}));
  EXPECT_EQ(FoldBatchNorm(weights, {}, norm).bias, std::vector<float>{-2.5F});
  EXPECT_EQ(FoldBatchNorm(weights, bias, norm).bias, std::vector<float>{9.5F});
  const std::vector<float> two = {1, 2};
  EXPECT_THROW(FoldBatchNorm(weights, two, norm), std::invalid_argument);
  EXPECT_THROW(FoldBatchNorm({}, {}, norm), std::invalid_argument);
  EXPECT_THROW(FoldBatchNorm(weights, {}, {mean, two, scale, shift, 1.0F}), std::invalid_argument);
  EXPECT_THROW(FoldBatchNorm(weights, {}, {mean, variance, scale, shift, -3.0F}),
               std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
