#include "kernels/conv_transpose/conv_transpose.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/conv_nd/conv_nd.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// One to three axes, strides, dilation, padding that differs by side, groups, and sources of which
// the last elements are in no window.
const char* const kProblems[] = {
    "2x3x9_to4_groups1_kernel3_stride2_dilation2_before2_after1",
    "2x4x7x8_to6_groups2_kernel3x2_stride2x3_dilation1x2_before1x0_after2x1",
    "1x3x5x5_to2_groups1_kernel1x1_stride1x1_dilation1x1_before0x0_after0x0",
    "2x4x5x6x7_to2_groups2_kernel3x1x2_stride2x1x2_dilation1x1x3_before1x0x2_after0x0x1",
    "1x2x4x4x40_to3_groups1_kernel2x2x3_stride1x1x1_dilation1x2x1_before0x1x1_after1x1x1",
    "2x6x3x11x10_to6_groups6_kernel1x5x3_stride1x3x2_dilation1x1x1_before0x2x1_after0x4x1"};

TEST(ConvNdOpTest, ProblemsAreReadBackAndImpossibleOnesAreRefused) {
  for (const std::string problem : kProblems) {
    EXPECT_EQ(ParseProblem("conv_nd/" + problem)->Problem(), problem);
    EXPECT_EQ(ParseProblem("conv_transpose/" + problem)->Problem(), problem);
  }
  for (const char* wrong :
       {"2x3x9_to4_groups2_kernel3_stride2_dilation1_before0_after0",
        "2x3x9_to4_groups1_kernel10_stride1_dilation1_before0_after0",
        "2x3x9_to4_groups1_kernel3x3_stride1_dilation1_before0_after0",
        "2x3x9_to4_groups1_kernel3_stride0_dilation1_before0_after0",
        "2x3x9_to4_groups1_kernel3_stride1_dilation1_before-1_after0",
        "2x3_to4_groups1_kernel3_stride1_dilation1_before0_after0",
        "2x3x9_to0_groups1_kernel3_stride1_dilation1_before0_after0",
        "1x1x2x2x2x2_to1_groups1_kernel1x1x1x1_stride1x1x1x1_dilation1x1x1x1_before0x0x0x0_"
        "after0x0x0x0"}) {
    EXPECT_THROW(ParseProblem(std::string("conv_nd/") + wrong), ProblemError) << wrong;
    EXPECT_THROW(ParseProblem(std::string("conv_transpose/") + wrong), ProblemError) << wrong;
  }
}

TEST(ConvNdOpTest, CountsProductsInsideTheImage) {
  // Windows of 3 at -1 and 1 of an image of 4: 2 and 3 elements inside, in each of 2 planes.
  const auto op =
      ParseProblem("conv_nd/1x1x4_to2_groups1_kernel3_stride2_dilation1_before1_after0");
  const Work work = op->WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(work.macs, 2 * 2 * 3);
  EXPECT_EQ(work.flops_without_padding, 2 * 2 * 5);
}

TEST(ConvNdReferenceTest, KnownValues) {
  const auto op =
      ParseProblem("conv_nd/1x1x5_to1_groups1_kernel2_stride2_dilation2_before1_after1");
  KernelRun run("reference", RequestFor(op, {}, 1));
  run.Set(Arg::kSrc, {1, 2, 3, 4, 5});
  run.Set(Arg::kWeights, {10, 1});
  run.Run();
  // Windows at -1 and 1, and at 3, whose second tap is in the padding.
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{2, 24, 40}));
}

TEST(ConvTransposeReferenceTest, KnownValues) {
  const auto op =
      ParseProblem("conv_transpose/1x1x6_to1_groups1_kernel3_stride2_dilation1_before1_after0");
  KernelRun run("reference", RequestFor(op, {}, 1));
  run.Set(Arg::kSrc, {1, 2, 3});
  run.Set(Arg::kWeights, {100, 10, 1});
  run.Run();
  // 100 10 1 from position -1, 2 times that from position 1, and 3 times that from position 3.
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{10, 201, 20, 302, 30, 3}));
}

TEST(ConvNdBackendsTest, AgreeWithTheReferenceAndFiniteDifferences) {
  for (const std::string kind : {"conv_nd/", "conv_transpose/"}) {
    for (const std::string problem : kProblems) {
      const auto op = ParseProblem(kind + problem);
      CheckGradient(op, Arg::kSrc, 1);
      CheckGradient(op, Arg::kWeights, 2);
      for (const char* backend : {"onednn", "openblas", "eigen", "eigen-sgemm"}) {
        for (const Pass pass : kAllPasses) {
          const KernelRequest request = RequestFor(op, {pass}, 2);
          EXPECT_EQ(CheckAgainstReference(ServingBackend(backend, request), request, 3),
                    Verdict::kAgrees);
        }
      }
    }
  }
}

// The problems contain several with groups; the first has none.
TEST(ConvNdBackendsTest, InBf16OneDnnHasEachPassWithGroupsIfItHasItWithout) {
  int ran = 0;
  for (const Pass pass : kAllPasses) {
    const auto request = [pass](const std::string& problem) {
      return RequestFor(ParseProblem("conv_nd/" + problem), {pass, true, DataType::kBF16}, 2);
    };
    if (KernelRun("onednn", request(kProblems[0])).kernel() == nullptr) continue;
    for (const char* problem : kProblems) {
      EXPECT_EQ(CheckAgainstReference("onednn", request(problem), 3), Verdict::kAgrees);
    }
    ++ran;
  }
  if (ran == 0) GTEST_SKIP() << "oneDNN has no bf16 convolution on this CPU";
}

// The general loops over two axes agree with the convolution of images.
TEST(ConvNdOpTest, TwoAxesAreAConvolutionOfImages) {
  const auto general = ParseProblem(std::string("conv_nd/") + kProblems[1]);
  const auto image = ParseProblem("conv/n2c4h7w8k6r3s2u2v3p1q0P2Q1d1e2g2");
  const auto results = [](const std::shared_ptr<const Op>& op) {
    KernelRun run("reference", RequestFor(op, {Pass::kForward, true, DataType::kF64}, 1));
    std::vector<double> src(2 * 4 * 7 * 8), weights(6 * 2 * 3 * 2);
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<double>(i * 7 % 13) - 6;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i * 5 % 11);
    run.Set(Arg::kSrc, src);
    run.Set(Arg::kWeights, weights);
    run.Run();
    return run.Get(Arg::kDst);
  };
  EXPECT_EQ(results(general), results(image));
}

}  // namespace
}  // namespace topdnn
