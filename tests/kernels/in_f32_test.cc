// The variants of oneDNN's convolution that convert bf16 tensors to f32.

#include "kernels/reorder/in_f32.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/conv/conv.h"
#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

KernelRequest InF32(const std::string& problem, Pass pass, const std::string& algorithm) {
  KernelRequest request =
      RequestFor(ParseProblem("conv/" + problem), {pass, true, DataType::kBF16}, 2);
  request.algorithm = algorithm;
  return request;
}

// Operands that are read, written and both; images that the layout pads; a stride.
TEST(InF32Test, AgreesWithTheReference) {
  for (const std::string problem :
       {"n2c16h9w7k32r3s3u1v1p1q1_bias_relu", "n1c3h12w11k20r5s5u2v2p2q2_bias",
        "n2c32h8w8k32r3s3u1v1p1q1_bias_sum_relu", "n2c16h7w7k48r1s1u1v1p0q0"}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
      std::string implementation;
      EXPECT_EQ(
          CheckAgainstReference("onednn", InF32(problem, pass, "in-f32"), 1, {}, &implementation),
          Verdict::kAgrees)
          << problem << NameOf(pass);
      EXPECT_THAT(implementation, StartsWith("f32 "));
    }
  }
}

TEST(InF32Test, ConvertsForTheWinogradTiles) {
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
    const KernelRequest request =
        RequestOnImages("conv/n2c16h9w7k32r3s3u1v1p1q1_bias", "winograd-tiles",
                        {pass, true, DataType::kBF16}, 2, "acdb");
    CheckOptions options;
    options.slack = 64;
    std::string implementation;
    EXPECT_EQ(CheckAgainstReference("native", request, 1, options, &implementation),
              Verdict::kAgrees);
    EXPECT_EQ(implementation, "f32 winograd:tiles");
  }
}

TEST(InF32Test, OtherTypesAreRefused) {
  KernelRequest request = InF32("n2c16h9w7k32r3s3u1v1p1q1", Pass::kForward, "in-f32");
  request.execution.type = DataType::kF32;
  EXPECT_THAT(KernelRun("onednn", request).refusal(), HasSubstr("only bf16"));
  request = InF32("n2c16h9w7k32r3s3u2v2p1q1", Pass::kForward, "winograd-tiles");
  EXPECT_THAT(KernelRun("native", request).refusal(), HasSubstr("strides of 1"));
}

}  // namespace
}  // namespace topdnn
