#include "kernels/op/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/conv/conv.h"

namespace topdnn {
namespace {

TEST(ProblemTest, WordsAreReadBackAsTheyWereSpelled) {
  for (const std::string text : {
           "conv/n8c64h56w56k64r3s3u1v1p1q1",
           "conv/n1c3h227w227k96r11s11u4v4p0q0_bias_relu",
           "conv/n2c32h9w7k32r3s3u1v2p0q1P2Q1d2e1g4_sum",
           "conv/n1c8h7w7k8r1s1u1v1p0q0_bias_relu_bound6",
           "gemm/m1760n128k1760",
           "gemm/b12m64n32k16_ta_tb_alpha0.5_beta-1",
           "inner_product/n64c64h4w4k64_bias",
           "inner_product/n64c1024k10_bias_relu",
           "inner_product/n64c1024k10_bias_relu_bound6",
           "pool/maxn8c64h112w112r3s3u2v2p1q1",
           "pool/average_of_paddingn1c3h8w8r2s2u2v2p0q0P1Q1",
           "pool/averagen1c3h8w8r3s3u2v2p0q0_ceil",
           "relu/8x64x56x56",
           "bounded_relu/8x64x56x56_bound6",
           "bounded_relu/8x64x56x56_boundinf",
           "add/8x64x7x7_of3_relu",
           "clip/8x64x7x7_min-0.5_max2",
           "clip/8x64x7x7_min0_maxinf",
           "clip/8x64x7x7_min-inf_maxinf",
           "bias/8x64x7x7",
           "flatten/8x64x7x7",
           "concat/8x96x28x28_axis1_parts64x32",
           "softmax/n64k10",
           "softmax_cross_entropy/n64k10",
           "sgd/n896",
           "sgd/n896_momentum0.9_decay0.5",
           "adam/n896_decay0.5",
       }) {
    const auto op = ParseProblem(text);
    EXPECT_EQ(std::string(op->kind()) + "/" + op->Problem(), text);
  }
}

TEST(ProblemTest, MissingFieldsHaveTheirDefaultValue) {
  const auto op = ParseProblem("conv/c64h56k64r3p1");
  EXPECT_EQ(op->Problem(), "n1c64h56w56k64r3s3u1v1p1q1");
}

std::string ErrorOf(std::string_view text) {
  try {
    ParseProblem(text);
  } catch (const ProblemError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(ProblemTest, AMalformedWordIsRefusedInOneLine) {
  using ::testing::HasSubstr;
  EXPECT_THAT(ErrorOf("conv"), HasSubstr("OPERATION/EXTENTS"));
  EXPECT_THAT(ErrorOf("convolution/n1"), HasSubstr("the operations are"));
  EXPECT_THAT(ErrorOf("gemm/m8n8"), HasSubstr("missing field 'k'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k"), HasSubstr("expected a number at its end"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8m8"), HasSubstr("duplicate field 'm'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8z3"), HasSubstr("unknown field 'z'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8_tc"), HasSubstr("unknown flag '_tc'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8_ta_ta"), HasSubstr("duplicate flag '_ta'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8_ta2"), HasSubstr("takes no number"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8_alpha"), HasSubstr("needs one number"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k8_"), HasSubstr("malformed flag '_'"));
  EXPECT_THAT(ErrorOf("gemm/m8n8k-8"), HasSubstr("expected a number at '-8'"));
  EXPECT_THAT(ErrorOf("gemm/8x8"), HasSubstr("missing field 'm'"));
  EXPECT_THAT(ErrorOf("gemm/m99999999999999999999n1k1"),
              HasSubstr("expected a number at '99999999'"));
  EXPECT_THAT(ErrorOf("relu/n8"), HasSubstr("missing shape"));
  EXPECT_THAT(ErrorOf("concat/8x96x2x2_axis1"), HasSubstr("missing flag '_parts'"));
  EXPECT_THAT(ErrorOf("concat/8x96x2x2_axis1_parts64x"), HasSubstr("malformed flag '_parts64x'"));
  EXPECT_THAT(ErrorOf("concat/8x96x2x2_axis1_parts64x31"), HasSubstr("the parts sum to"));
  EXPECT_THAT(ErrorOf("concat/8x96x2x2_axis7_parts64x32"), HasSubstr("axis does not exist"));
  EXPECT_THAT(ErrorOf("relu/8x"), HasSubstr("expected a number at its end"));
}

TEST(ProblemTest, AFractionInsteadOfAWholeNumberIsRefused) {
  using ::testing::HasSubstr;
  for (const auto& [problem, number] : std::map<std::string, std::string>{
           {"add/8x4_of2.7", "'_of' has the number 2.7"},
           {"binary/mul2x3_by2.5x3", "'_by' has the number 2.5"},
           {"matmul/2x3_by3.5x4", "'_by' has the number 3.5"},
           {"concat/8x96x2x2_axis1.5_parts64x32", "'_axis' has the number 1.5"},
           {"concat/8x96x2x2_axis1_parts64.5x32", "'_parts' has the number 64.5"},
           {"flatten/6_to2.5x3", "'_to' has the number 2.5"},
           {"gather/2x5x3_count4.5", "'_count' has the number 4.5"},
           {"interpolate/linear5_to7.5_scale1.4_half", "'_to' has the number 7.5"},
           {"lrn/8x96_size2.5", "'_size' has the number 2.5"},
           {"pool_nd/lp1x1x4_kernel2_stride1_dilation1_before0_after0_p2.5",
            "'_p' has the number 2.5"},
           {"quantize/5x7_types8.5_scale0.1", "'_types' has the number 8.5"},
           {"reorder/8x4_fromf32.5_tos8", "'_fromf' has the number 32.5"},
           {"slice/5_start0.5_step1_extent1", "'_start' has the number 0.5"},
           {"topk/7_axis0_k1.5", "'_k' has the number 1.5"},
           {"transpose/2x3_order0x0.5", "'_order' has the number 0.5"}}) {
    EXPECT_THAT(ErrorOf(problem), HasSubstr("flag " + number + ", write a whole number"))
        << problem;
  }
}

TEST(ProblemTest, AWholeNumberThatDoesNotFitItsTypeIsRefused) {
  using ::testing::HasSubstr;
  for (const char* problem : {"add/8x4_of4294967298", "add/8x4_of-inf", "add/8x4_of-nan",
                              "concat/8x96x2x2_axis4294967297_parts64x32",
                              "concat/8x96x2x2_axis1_parts1e300x32", "flatten/6_to1e300"}) {
    EXPECT_THAT(ErrorOf(problem), HasSubstr("write a whole number from -")) << problem;
  }
}

// A part of a word that no parser uses would be measured as if it were not there.
TEST(ProblemTest, APartThatWouldHaveNoEffectIsRefused) {
  using ::testing::HasSubstr;
  EXPECT_THAT(ErrorOf("dropout/64x16s7x9_ratio0.5"), HasSubstr("unknown field 'x'"));
  EXPECT_THAT(ErrorOf("conv/c8h7k8r3_abs_exp"), HasSubstr("give one function, not abs and exp"));
  EXPECT_THAT(ErrorOf("reorder/8x4_fromf32_froms8"), HasSubstr("'_from' needs an element type"));
  EXPECT_THAT(ErrorOf("reorder/8x4_tou0"), HasSubstr("'_to' needs an element type"));
  EXPECT_THAT(ErrorOf("quantized_conv/c8h7k8r3_hardswish"),
              HasSubstr("applies a ReLU alone, not hard_swish"));
}

TEST(ProblemTest, ImpossibleExtentsAreRefusedWithTheirProblem) {
  using ::testing::HasSubstr;
  EXPECT_THAT(ErrorOf("conv/n1c3h4k8r5"), HasSubstr("kernel is larger"));
  EXPECT_THAT(ErrorOf("conv/n0c3h4k8r3"), HasSubstr("1 or more"));
  EXPECT_THAT(ErrorOf("gemm/m0n1k1"), HasSubstr("1 or more"));
  EXPECT_THAT(ErrorOf("gemm/m4000000000n4000000000k4000000000"), HasSubstr("problem 'gemm/"));
}

}  // namespace
}  // namespace topdnn
