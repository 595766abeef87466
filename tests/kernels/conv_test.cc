#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/eltwise/add.h"
#include "kernels/eltwise/unary.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "kernels/op/window.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

TEST(ConvOpTest, ExtentsOfKnownLayers) {
  // The first layers of ResNet-50 and AlexNet.
  const ConvExtents stem{.n = 8,
                         .c = 3,
                         .h = 224,
                         .w = 224,
                         .k = 64,
                         .r = 7,
                         .s = 7,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_top = 3,
                         .pad_left = 3,
                         .pad_bottom = 3,
                         .pad_right = 3};
  EXPECT_EQ(ConvOp(stem).dst_shape(), (Shape{8, 64, 112, 112}));
  EXPECT_EQ(ConvOp(stem).Problem(), "n8c3h224w224k64r7s7u2v2p3q3_bias");
  EXPECT_EQ(ConvOp(stem).WorkOf(Pass::kForward, DataType::kF32).macs, 118013952LL * 8);
  const ConvExtents alex{
      .n = 1, .c = 3, .h = 227, .w = 227, .k = 96, .r = 11, .s = 11, .stride_h = 4, .stride_w = 4};
  EXPECT_EQ(ConvOp(alex).dst_shape(), (Shape{1, 96, 55, 55}));
}

TEST(ConvOpTest, ErrorsBeforeABoundAreRelativeToTheSums) {
  // 16 products of a 2 or -2 with a 3 or -3: the sums have a variance of 16 * 6 * 6, far above the
  // bound.
  const ConvExtents e{.n = 1, .c = 16, .h = 1, .w = 2, .k = 3, .r = 1, .s = 1};
  const auto values = [](Arg arg) {
    return arg == Arg::kSrc ? std::vector<double>{2, -2, 2, 2} : std::vector<double>{-3, 3};
  };
  const ConvOp bounded(e, {.relu = true, .bound = 0.5F});
  const Execution forward{.pass = Pass::kForward};
  EXPECT_DOUBLE_EQ(bounded.MagnitudeOfDst(forward, values), 24);
  const Execution backward{.pass = Pass::kBackwardData};
  EXPECT_EQ(bounded.MagnitudeOfDst(backward, values), 0);
  EXPECT_EQ(ConvOp(e, {.relu = true}).MagnitudeOfDst(forward, values), 0);
  EXPECT_EQ(ConvOp(e).MagnitudeOfDst(forward, values), 0);
}

TEST(ConvOpTest, PaddingTapsAreCountedSeparately) {
  // 3x3 with padding 1 on 4x4 has 4*4*9 taps. 10 of 12 rows, and of 12 columns, are inside.
  const ConvExtents e{.n = 1,
                      .c = 1,
                      .h = 4,
                      .w = 4,
                      .k = 1,
                      .r = 3,
                      .s = 3,
                      .pad_top = 1,
                      .pad_left = 1,
                      .pad_bottom = 1,
                      .pad_right = 1};
  const Work work = ConvOp(e).WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(work.macs, 144);
  EXPECT_EQ(work.flops, 288);
  EXPECT_EQ(work.flops_without_padding, 200);
  EXPECT_EQ(work.bytes, 4 * (16 + 9 + 1 + 16));
}

// Everything different in height and width: (5 + 1 - 3) / 2 + 1 rows, (6 + 1 - 3) / 1 + 1 columns.
ConvExtents LopsidedExtents() {
  return {.n = 2,
          .c = 4,
          .h = 5,
          .w = 6,
          .k = 6,
          .r = 3,
          .s = 2,
          .stride_h = 2,
          .stride_w = 1,
          .pad_top = 1,
          .pad_right = 1,
          .dilation_h = 1,
          .dilation_w = 2,
          .groups = 2};
}

TEST(ConvOpTest, WorkOfGroupsStridesAndDilation) {
  const ConvOp op(LopsidedExtents());
  EXPECT_EQ(op.dst_shape(), (Shape{2, 6, 2, 5}));
  const Work work = op.WorkOf(Pass::kForward, DataType::kBF16);
  EXPECT_EQ(work.macs, 2 * 6 * 2 * (2 * 5) * (3 * 2));
  EXPECT_EQ(work.flops, 2 * work.macs);
  // The two output rows read rows 0, 1 and 1, 2, 3. Output column x reads columns x and x + 2; the
  // last one reads only x.
  EXPECT_EQ(work.flops_without_padding, 2 * (2 * 6 * 2) * 5 * 9);
  // Four of the five rows of src, weights and dst in two bytes, the bias in four; a fused sum reads
  // dst, too.
  EXPECT_EQ(work.bytes, 2 * (192 + 72 + 120) + 4 * 6);
  const ConvOp adding(LopsidedExtents(), {.sum = true});
  EXPECT_EQ(adding.WorkOf(Pass::kForward, DataType::kBF16).bytes, 2 * (192 + 72 + 2 * 120) + 4 * 6);
  EXPECT_EQ(op.AccumulationLength(Pass::kForward), 2 * 3 * 2);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardData), 3 * 3 * 2);
  EXPECT_EQ(op.AccumulationLength(Pass::kBackwardWeights), 2 * 2 * 5);
}

TEST(ConvOpTest, AReluIsAppliedLast) {
  const ConvOp plain(LopsidedExtents());
  const ReluOp relu(plain.dst_shape(), 6);
  const auto rectified = plain.FusedWith(relu);
  ASSERT_NE(rectified, nullptr);
  const auto& fused = dynamic_cast<const ConvOp&>(*rectified);
  EXPECT_TRUE(fused.epilogue().relu);
  EXPECT_EQ(fused.epilogue().bound, 6);
  EXPECT_EQ(fused.FusedWith(ReluOp(plain.dst_shape())), nullptr);
  EXPECT_EQ(fused.FusedWith(AddOp(plain.dst_shape(), 2, false)), nullptr);
}

TEST(ConvOpTest, NarrowParametersHaveTheTypeOfTheWeights) {
  const ConvOp op(LopsidedExtents(), {.bias = true, .relu = true, .narrow = true});
  EXPECT_EQ(op.Problem(), ConvOp(LopsidedExtents()).Problem() + "_narrow_relu");
  EXPECT_EQ(ParseProblem("conv/" + op.Problem())->Problem(), op.Problem());
  const Execution gradient{Pass::kBackwardWeights, true, DataType::kBF16};
  EXPECT_EQ(op.Find(gradient, Arg::kDiffWeights)->type, DataType::kBF16);
  EXPECT_EQ(op.Find(gradient, Arg::kDiffBias)->type, DataType::kBF16);
  EXPECT_EQ(op.Find({Pass::kForward, true, DataType::kBF16}, Arg::kBias)->type, DataType::kBF16);
  EXPECT_EQ(ConvOp(LopsidedExtents()).Find(gradient, Arg::kDiffWeights)->type, DataType::kF32);
  // Whole numbers are added as s32.
  EXPECT_EQ(op.Find({Pass::kForward, true, DataType::kU8}, Arg::kBias)->type, DataType::kS32);
}

TEST(ConvOpTest, AFunctionIsAppliedLast) {
  const ConvOp plain(LopsidedExtents());
  const auto fused = plain.FusedWith(UnaryOp("hard_swish", plain.dst_shape()));
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->Problem(), plain.Problem() + "_hardswish");
  EXPECT_EQ(ParseProblem("conv/" + fused->Problem())->Problem(), fused->Problem());
  EXPECT_EQ(fused->FusedWith(ReluOp(plain.dst_shape())), nullptr);
  EXPECT_EQ(fused->FoldedWith(BatchNormOp(plain.dst_shape())), nullptr);
  EXPECT_FALSE(fused->Traits().adds_constant_last);
  // Other parameters than the defaults, another shape.
  const UnaryFunction& swish = *FindUnaryFunction("swish");
  EXPECT_EQ(plain.FusedWith(UnaryOp(swish, plain.dst_shape(), 2, 0)), nullptr);
  EXPECT_EQ(plain.FusedWith(UnaryOp("swish", Shape{1, 2})), nullptr);
  EXPECT_THROW(ConvOp(LopsidedExtents(), {.relu = true, .function = &swish}),
               std::invalid_argument);
}

// x * sigmoid(x) at 2.5 and -0.5; oneDNN's result for the same sums is compared below.
TEST(ConvReferenceTest, AppliesTheFunctionToTheSumWithItsBias) {
  const ConvEpilogue epilogue{.bias = true, .function = FindUnaryFunction("swish")};
  const auto op = std::make_shared<ConvOp>(ConvExtents{.k = 2}, epilogue);
  const Values inputs = {{Arg::kSrc, {2}}, {Arg::kWeights, {1, -1}}, {Arg::kBias, {0.5, 1.5}}};
  const Values results = ReferenceResults(RequestFor(op, {Pass::kForward}, 1), inputs);
  ASSERT_EQ(results.at(Arg::kDst).size(), 2u);
  EXPECT_NEAR(results.at(Arg::kDst)[0], 2.3103545, 1e-6);
  EXPECT_NEAR(results.at(Arg::kDst)[1], -0.1887703, 1e-6);
}

TEST(ConvOpTest, ImpossibleGeometryIsRefused) {
  EXPECT_THROW(ConvOp({.h = 2, .w = 2, .r = 3, .s = 3}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.n = 0, .h = 4, .w = 4}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.c = 3, .h = 4, .w = 4, .k = 4, .groups = 2}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.h = 4, .w = 4, .stride_h = 0}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.h = 4, .w = 4, .pad_top = -1}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.h = 4, .w = 4}, {.relu = false, .bound = 6}), std::invalid_argument);
  EXPECT_THROW(ConvOp({.h = 4, .w = 4}, {.relu = true, .bound = -1}), std::invalid_argument);
}

// A variant (kernels/kernel/variant.h) against the reference.
class ConvBackendTest : public testing::TestWithParam<std::string> {
 protected:
  static Verdict Check(const std::shared_ptr<const Op>& op, Pass pass, int threads,
                       std::uint64_t seed, const CheckOptions& options = {}) {
    const Variant variant = *FindVariant(GetParam());
    return CheckAgainstReference(variant.backend, *RequestOf(variant, op, {pass}, threads), seed,
                                 options);
  }
};

TEST_P(ConvBackendTest, RandomShapesAgreeWithTheReference) {
  Random random(20260801);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    const ConvExtents e = random.Once(4) ? RandomGroupedConv(random) : RandomConv(random);
    const ConvEpilogue epilogue = RandomEpilogue(random, /*may_add=*/true);
    const auto op = std::make_shared<ConvOp>(e, epilogue);
    for (const Pass pass : kAllPasses) {
      const int threads = random.Once(2) ? 1 : 2;
      CheckOptions options;
      // Caffe has no fused layers.
      options.may_refuse =
          GetParam() == "openblas" && pass == Pass::kForward && (epilogue.relu || epilogue.sum);
      ASSERT_EQ(Check(op, pass, threads, random.Seed(), options),
                options.may_refuse ? Verdict::kRefused : Verdict::kAgrees);
      ++compared;
    }
  }
  RecordProperty("compared", compared);
}

TEST_P(ConvBackendTest, FunctionsAgreeOnOneDnnAndAreRefusedElsewhere) {
  Random random(7);
  CheckOptions options;
  options.may_refuse = !GetParam().starts_with("onednn");
  for (const char* const name :
       {"elu", "gelu", "gelu_tanh", "hard_swish", "leaky_relu", "mish", "swish", "tanh"}) {
    ConvEpilogue epilogue = RandomEpilogue(random, /*may_add=*/false);
    epilogue.relu = false;
    epilogue.bound = 0;
    epilogue.function = FindUnaryFunction(name);
    const auto op = std::make_shared<ConvOp>(RandomGroupedConv(random), epilogue);
    EXPECT_EQ(Check(op, Pass::kForward, 2, random.Seed(), options),
              options.may_refuse ? Verdict::kRefused : Verdict::kAgrees)
        << name;
  }
}

TEST_P(ConvBackendTest, ExtremeShapesAgreeWithTheReference) {
  for (const std::int64_t channels : {1, 3, 17}) {
    for (const std::int64_t image : {1, 7}) {
      const ConvExtents e{.n = 1,
                          .c = channels,
                          .h = image,
                          .w = image,
                          .k = channels + 1,
                          .r = 3,
                          .s = 3,
                          .pad_top = 1,
                          .pad_left = 1,
                          .pad_bottom = 1,
                          .pad_right = 1};
      for (const Pass pass : kAllPasses) {
        Check(std::make_shared<ConvOp>(e), pass, 2, 5);
      }
    }
  }
  const ConvExtents depthwise{.n = 2,
                              .c = 24,
                              .h = 9,
                              .w = 9,
                              .k = 24,
                              .r = 3,
                              .s = 3,
                              .pad_top = 1,
                              .pad_left = 1,
                              .pad_bottom = 1,
                              .pad_right = 1,
                              .groups = 24};
  for (const Pass pass : kAllPasses) {
    Check(std::make_shared<ConvOp>(depthwise), pass, 2, 6);
  }
}

TEST_P(ConvBackendTest, NanInTheSourceReachesItsOutputs) {
  const ConvExtents e{.n = 1, .c = 2, .h = 5, .w = 5, .k = 3, .r = 3, .s = 3};
  const auto op =
      std::make_shared<ConvOp>(e, ConvEpilogue{.bias = true, .sum = false, .relu = false});
  CheckOptions options;
  options.inputs[Arg::kSrc].assign(50, 0.5);
  options.inputs[Arg::kSrc][7] = std::nan("");
  options.inputs[Arg::kSrc][40] = std::numeric_limits<double>::infinity();
  Check(op, Pass::kForward, 1, 9, options);
}

INSTANTIATE_TEST_SUITE_P(Backends, ConvBackendTest,
                         testing::Values("onednn", "openblas", "openblas-parallel"),
                         [](const auto& variant) {
                           return variant.param == "openblas-parallel" ? "openblas_parallel"
                                                                       : variant.param;
                         });

TEST(ConvOpenBlasTest, OnlyTheVariantFusesAReluOrAnAddition) {
  const ConvExtents e{.c = 2, .h = 5, .w = 5, .k = 3, .r = 3, .s = 3};
  for (const ConvEpilogue epilogue : {ConvEpilogue{.relu = true}, ConvEpilogue{.sum = true}}) {
    KernelRequest request = RequestFor(std::make_shared<ConvOp>(e, epilogue), {Pass::kForward}, 2);
    EXPECT_NE(KernelRun("openblas", request).refusal().find("as Caffe does"), std::string::npos);
    request.algorithm = "parallel";
    EXPECT_EQ(KernelRun("openblas", request).kernel()->implementation().find("parallel_im2col"),
              0U);
    request.algorithm = "winograd";
    EXPECT_NE(KernelRun("openblas", request).refusal().find("'winograd'"), std::string::npos);
  }
}

TEST(ConvReferenceTest, GradientsAgreeWithFiniteDifferences) {
  Random random(7);
  for (int i = 0; i < 6; ++i) {
    ConvExtents e = random.Once(4) ? RandomGroupedConv(random) : RandomConv(random);
    e.c = e.groups * 2;
    e.k = e.groups * 2;
    const auto op = std::make_shared<ConvOp>(e);
    CheckGradient(op, Arg::kSrc, random.Seed());
    CheckGradient(op, Arg::kWeights, random.Seed());
    CheckGradient(op, Arg::kBias, random.Seed());
  }
}

TEST(ConvOpTest, TapsInsideCountsTheTapsOnTheImage) {
  for (const std::int64_t input : {1, 2, 5, 8}) {
    for (const std::int64_t kernel : {1, 2, 3, 7}) {
      for (const std::int64_t stride : {1, 2, 5}) {
        for (const std::int64_t pad : {0, 1, 4, 11}) {
          for (const std::int64_t dilation : {1, 3}) {
            constexpr std::int64_t kOutput = 6;
            std::int64_t taps = 0;
            for (std::int64_t o = 0; o < kOutput; ++o) {
              for (std::int64_t t = 0; t < kernel; ++t) {
                const std::int64_t at = o * stride - pad + t * dilation;
                taps += at >= 0 && at < input ? 1 : 0;
              }
            }
            EXPECT_EQ(TapsInside(input, kOutput, kernel, stride, pad, dilation), taps)
                << input << " " << kernel << " " << stride << " " << pad << " " << dilation;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace topdnn
