// The variant native-winograd of convolution.

#include "kernels/conv/winograd_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/check/tolerance.h"
#include "kernels/conv/conv.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/simd/vector_isa.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

KernelRequest Tiles(const std::string& problem, const Execution& execution, int threads,
                    const std::string& layout) {
  return RequestOnImages("conv/" + problem, kWinogradTiles, execution, threads, layout);
}

// Their sums lose one digit, as those of oneDNN's Winograd (kernels/check/tolerance.h). The
// gradient of a tap has the rounding errors of its neighbours, too, which may be sums of many more
// terms. For 5x5 taps the largest row of A^T adds up to 35 per axis, for 3x3 taps to 11.
Verdict Check(const KernelRequest& request, std::uint64_t seed) {
  CheckOptions options;
  options.slack = 16;
  if (request.execution.pass == Pass::kBackwardWeights) {
    const auto& op = dynamic_cast<const ConvOp&>(*request.op);
    options.slack = op.extents().r == 3 ? 64 : 256;
  }
  return CheckAgainstReference("native", request, seed, options);
}

// Whether this CPU computes in blocks of as many channels as the layout has.
bool HasLanesOf(const std::string& layout) {
  if (layout == "acdb") return true;
  return layout == "aBcd16b" ? WidestVectorIsa() == "avx512" : !WidestVectorIsa().empty();
}

// Images that are no multiple of a tile, smaller than one, with padding on some sides and beyond
// one; one vector of outputs, and an odd number of them; few tiles (the threads divide the outputs)
// and many (they divide the tiles); every epilogue; windows of 3x3 and 5x5.
const char* const kProblems[] = {
    "n2c16h9w7k32r3s3u1v1p1q1",          "n1c32h3w2k16r3s3u1v1p1q1_bias",
    "n1c48h7w9k80r3s3u1v1p1q1_relu",     "n3c16h6w5k48r3s3u1v1p0q2P1Q0_bias_relu_bound6",
    "n2c32h8w8k32r3s3u1v1p0q0_bias_sum", "n1c16h22w21k32r3s3u1v1p1q1_bias_sum_relu",
    "n7c16h28w28k48r3s3u1v1p1q1_relu",   "n1c16h5w5k16r3s3u1v1p2q2",
    "n2c16h9w7k32r5s5u1v1p2q2",          "n1c32h4w3k16r5s5u1v1p2q2_bias_relu",
    "n1c48h7w9k80r5s5u1v1p2q2_bias_sum", "n3c16h6w5k48r5s5u1v1p1q2P3Q0_relu_bound6",
    "n3c16h19w28k48r5s5u1v1p0q0_relu"};

TEST(WinogradTilesTest, AgreeWithTheReference) {
  for (const std::string problem : kProblems) {
    for (const std::string layout : {"acdb", "aBcd8b", "aBcd16b"}) {
      if (!HasLanesOf(layout)) continue;
      for (const int threads : {1, 2, 3}) {
        for (const Execution& execution :
             {Execution{Pass::kForward, false}, Execution{Pass::kBackwardData},
              Execution{Pass::kBackwardWeights}}) {
          EXPECT_EQ(Check(Tiles(problem, execution, threads, layout), 1), Verdict::kAgrees)
              << problem << layout << threads << NameOf(execution.pass);
        }
      }
    }
  }
}

// oneDNN's and row-major ones, inputs or outputs innermost.
TEST(WinogradTilesTest, ReadWeightsInEveryLayout) {
  for (const std::string problem : {"n1c32h9w9k48r3s3u1v1p1q1_bias", "n1c32h6w7k16r5s5u1v1p2q2"}) {
    for (const std::string weights : {"abcd", "ABcd16b16a", "ABcd16a16b", "cdba", "Acdb16a"}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
        KernelRequest request = Tiles(problem, {pass}, 2, "acdb");
        const Arg arg = pass == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights;
        request.layouts[arg] = *Layout::Parse(weights);
        EXPECT_EQ(Check(request, 3), Verdict::kAgrees) << problem << weights;
      }
    }
  }
}

// Few outputs, so that the threads divide the tiles.
TEST(WinogradTilesTest, TheGradientNeedsNoCertainNumberOfThreads) {
  const KernelRequest request =
      Tiles("n7c16h28w28k16r3s3u1v1p1q1_bias", {Pass::kBackwardWeights}, 4, "acdb");
  const Values inputs = RandomInputs(*request.op, request.execution, 3);
  const Values expected = ReferenceResults(request, inputs);
  KernelRun run("native", request);
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.SetInputs(inputs);
  run.Run();
  run.SetInputs({{Arg::kSrc, std::vector<double>(inputs.at(Arg::kSrc).size(), 0.0)}});
  run.RunAgain();  // the sums of the weights are 0 in all threads
  run.SetInputs(inputs);
  for (const int threads : {1, 3, 4}) {
    const ThreadWidth width(threads);
    run.kernel()->Run();
    EXPECT_LE(RelativeError(run.Get(Arg::kDiffWeights), expected.at(Arg::kDiffWeights)), 1e-4)
        << threads;
    EXPECT_LE(RelativeError(run.Get(Arg::kDiffBias), expected.at(Arg::kDiffBias)), 1e-4) << threads;
  }
}

// By hand: one image of one pixel whose neighbours are padding, so that each result is the sum over
// the channels of the pixel times the tap at the center, which is 1 + k for output k.
TEST(WinogradTilesTest, OneTapByHand) {
  for (const std::size_t taps : {9, 25}) {
    const char* problem = taps == 9 ? "n1c4h1w1k4r3s3u1v1p1q1" : "n1c4h1w1k4r5s5u1v1p2q2";
    KernelRun run("native", Tiles(problem, {Pass::kForward, false}, 1, "acdb"));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    std::vector<double> weights(4 * 4 * taps, 100.0);
    for (std::size_t i = 0; i < 16; ++i) {
      weights[taps * i + taps / 2] = 1 + static_cast<double>(i / 4);
    }
    run.Set(Arg::kSrc, {1, 2, 3, 4});
    run.Set(Arg::kWeights, weights);
    run.Run();
    const std::vector<double> dst = run.Get(Arg::kDst);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(dst[k], 10.0 * (1 + static_cast<double>(k)), 1e-3) << problem;
    }
  }
}

TEST(WinogradTilesTest, WhatTheyDoNotComputeIsRefused) {
  const auto refusal = [](const std::string& problem, const Execution& execution,
                          const std::string& layout) {
    return KernelRun("native", Tiles(problem, execution, 1, layout)).refusal();
  };
  const Execution forward{Pass::kForward, false};
  EXPECT_THAT(refusal("n1c16h5w5k16r3s3u2v2p1q1", forward, "acdb"), HasSubstr("strides of 1"));
  EXPECT_THAT(refusal("n1c16h5w5k16r1s1u1v1", forward, "acdb"), HasSubstr("3x3"));
  EXPECT_THAT(refusal("n1c16h5w5k16r3s3u1v1p1q1d2e2", forward, "acdb"), HasSubstr("dense"));
  EXPECT_THAT(refusal("n1c16h5w5k16r3s3u1v1p1q1g4", forward, "acdb"), HasSubstr("one group"));
  EXPECT_THAT(refusal("n1c16h5w5k16r3s3u1v1p1q1", forward, "abcd"), HasSubstr("channels last"));
  EXPECT_THAT(refusal("n1c6h5w5k16r3s3u1v1p1q1", forward, "acdb"), HasSubstr("fill vectors"));
  EXPECT_THAT(refusal("n1c16h5w5k24r3s3u1v1p1q1", forward, "aBcd16b"), HasSubstr("fill vectors"));
}

}  // namespace
}  // namespace topdnn
