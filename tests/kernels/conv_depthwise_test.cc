#include "kernels/conv/conv_depthwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

KernelRequest Forward(const std::string& problem, int threads) {
  return RequestFor(ParseProblem("conv_depthwise/" + problem), {Pass::kForward, /*training=*/false},
                    threads);
}

TEST(ConvDepthwiseOpTest, ProblemsAreReadBackAndImpossibleOnesAreRefused) {
  for (const std::string problem : {"n8c24h56w56k144u1_bias_relu_bound6_dwbias_dwrelu_dwbound6",
                                    "n1c3h5w7k2u2_relu_dwbias", "n1c3h5w7k2u2_bias_dwrelu"}) {
    EXPECT_EQ(ParseProblem("conv_depthwise/" + problem)->Problem(), problem);
  }
  for (const char* wrong : {"n1c3h5w7k2u3", "n1c3h5w7u1", "n1c3h5w7k2u1_dwbound6",
                            "n1c3h5w7k2u1_sum", "n1c3h5w7k2r3u1", "n0c3h5w7k2u1"}) {
    EXPECT_THROW(ParseProblem(std::string("conv_depthwise/") + wrong), ProblemError) << wrong;
  }
}

TEST(ConvDepthwiseOpTest, JoinsOnlyPixelsAndADepthwiseWindow) {
  const auto conv = [](const std::string& problem) {
    return std::dynamic_pointer_cast<const ConvOp>(ParseProblem("conv/" + problem));
  };
  const auto pixels = conv("n2c4h8w8k6r1_relu");
  const auto window = conv("n2c6h8w8k6r3p1g6_bias");
  EXPECT_TRUE(ConvDepthwiseOp::Joins(*pixels, *window));
  EXPECT_TRUE(ConvDepthwiseOp::Joins(*pixels, *conv("n2c6h8w8k6r3u2p1g6_relu")));
  for (const char* first : {"n2c4h8w8k6r1_sum", "n2c4h8w8k6r3p1", "n2c4h16w16k6r1u2",
                            "n2c4h8w8k6r1g2", "n1c4h8w8k6r1"}) {
    EXPECT_FALSE(ConvDepthwiseOp::Joins(*conv(first), *window)) << first;
  }
  for (const char* second : {"n2c6h8w8k6r3p1g6_sum", "n2c6h8w8k6r3p1g3", "n2c6h8w8k6r3g6",
                             "n2c6h8w8k12r3p1g6", "n2c6h8w8k6r5p2g6", "n2c6h8w8k6r3p1P0Q0g6",
                             "n2c6h8w8k6r3u1v2p1g6", "n2c6h8w8k6r3p1d2g6", "n2c6h8w8k6r3u3p1g6"}) {
    EXPECT_FALSE(ConvDepthwiseOp::Joins(*pixels, *conv(second))) << second;
    EXPECT_EQ(pixels->ChainedWith(*conv(second)), nullptr) << second;
  }
  EXPECT_THROW(ConvDepthwiseOp(*pixels, *pixels), std::invalid_argument);
}

// 2 images, 3 channels of 4x6 to 5, then windows of 3x3 with stride 2: 2x3 results. Rows start at
// -1 and 1 (2 and 3 taps inside), columns at -1, 1 and 3 (2, 3 and 3 taps).
TEST(ConvDepthwiseOpTest, CountsBothConvolutions) {
  const auto op = ParseProblem("conv_depthwise/n2c3h4w6k5u2_bias_dwbias");
  const Work work = op->WorkIn({Pass::kForward, false});
  EXPECT_EQ(work.macs, 2 * 5 * 4 * 6 * 3 + 2 * 5 * 2 * 3 * 9);
  EXPECT_EQ(work.flops, 2 * work.macs);
  EXPECT_EQ(work.flops_without_padding, 2 * (2 * 5 * 4 * 6 * 3 + 2 * 5 * 5 * 8));
  // src, weights, bias, weights_1, bias_1, dst; nothing between the convolutions
  EXPECT_EQ(work.bytes, 4 * (2 * 3 * 4 * 6 + 5 * 3 + 5 + 5 * 9 + 5 + 2 * 5 * 2 * 3));
  EXPECT_TRUE(op->Operands({Pass::kBackwardData}).empty());
  EXPECT_TRUE(op->Operands({Pass::kForward, false, DataType::kBF16}).empty());
}

TEST(ConvDepthwiseReferenceTest, KnownValues) {
  KernelRun run("reference", Forward("n1c2h2w3k1u1_bias_relu_bound6_dwbias_dwrelu_dwbound20", 1));
  run.Set(Arg::kSrc, {1, 2, 3, 4, 5, -6,  //
                      0, 1, 0, 1, 0, 1});
  run.Set(Arg::kWeights, {2, -1});
  run.Set(Arg::kBias, {-1});
  run.Set(ConvDepthwiseOp::OfDepthwise(Arg::kWeights), {0, 1, 0,  //
                                                        1, 2, 3,  //
                                                        0, 10, 0});
  run.Set(ConvDepthwiseOp::OfDepthwise(Arg::kBias), {-2});
  run.Run();
  // Between the convolutions: 1 2 5 / 6 6 0 (6 of 9, and 0 of -14).
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{20, 20, 10, 20, 18, 9}));
}

// Large enough for oneDNN to fuse: the tensor between the convolutions does not fit in L2.
TEST(ConvDepthwiseOneDnnTest, AgreesWithTheReference) {
  int fused = 0;
  for (const char* problem :
       {"n2c16h112w112k96u2_bias_relu_bound6_dwbias_dwrelu_dwbound6",
        "n2c24h113w99k80u1_bias_relu_bound6_dwbias", "n3c5h112w113k96u2_relu_dwrelu",
        "n1c16h150w150k64u1_bias_dwbias_dwrelu"}) {
    for (const int threads : {1, 2}) {
      const KernelRequest request = Forward(problem, threads);
      if (CheckAgainstReference("onednn", request, 1, {.may_refuse = true}) == Verdict::kAgrees) {
        ++fused;
      } else {
        EXPECT_THAT(KernelRun("onednn", request).refusal(),
                    testing::AnyOf(testing::HasSubstr("by two kernels"),
                                   testing::HasSubstr("could not create")));
      }
    }
  }
  if (fused == 0) GTEST_SKIP() << "oneDNN fuses none of these on this CPU";
}

TEST(ConvDepthwiseOneDnnTest, RefusesWhatItWouldComputeByTwoKernels) {
  const KernelRun run("onednn", Forward("n1c16h8w8k16u1_bias_dwbias", 2));
  EXPECT_THAT(run.refusal(), testing::AnyOf(testing::HasSubstr("by two kernels"),
                                            testing::HasSubstr("could not create")));
}

}  // namespace
}  // namespace topdnn
