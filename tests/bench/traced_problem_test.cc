// Rows of a trace as problems of topdnn's kernels.

#include "bench/log/translate/traced_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "bench/benchdnn/benchdnn_line.h"
#include "bench/cases/problem_sets.h"
#include "bench/replay/measured_trace.h"
#include "bench/replay/trace_problem_set.h"
#include "tests/bench/translated_case.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::string Convolution(
    const std::string& prop, const std::string& tensors, const std::string& attributes = "",
    const std::string& problem = "mb2_ic16oc32_ih28oh28kh3sh1dh0ph1_iw28ow28kw3sw1dw0pw1",
    const std::string& algorithm = "convolution_direct") {
  return "convolution,jit:x," + prop + "," + tensors + "," + attributes + ",alg:" + algorithm +
         "," + problem;
}

const std::string kTensors =
    "src_f32::blocked:aBcd16b:f0 wei_f32::blocked:ABcd16b16a:f0 bia_undef::undef::f0 "
    "dst_f32::blocked:aBcd16b:f0";
const std::string kWord = "conv/n2c16h28w28k32r3s3u1v1p1q1";

TEST(TracedConvolutionTest, EachPassHasItsOperands) {
  EXPECT_EQ(TranslateFields(Convolution("forward_training", kTensors)),
            kWord + " forward type=f32 mode=train src=aBcd16b weights=ABcd16b16a dst=aBcd16b");
  EXPECT_EQ(TranslateFields(Convolution("forward_inference", kTensors)),
            kWord + " forward type=f32 mode=infer src=aBcd16b weights=ABcd16b16a dst=aBcd16b");
  EXPECT_EQ(TranslateFields(Convolution("backward_data", kTensors)),
            kWord +
                " backward_data type=f32 mode=train weights=ABcd16b16a diff_src=aBcd16b "
                "diff_dst=aBcd16b");
  EXPECT_EQ(TranslateFields(Convolution("backward_weights", kTensors)),
            kWord +
                " backward_weights type=f32 mode=train src=aBcd16b diff_weights=ABcd16b16a "
                "diff_dst=aBcd16b");
}

TEST(TracedConvolutionTest, BiasAndPostOpsAreItsEpilogue) {
  std::string biased = kTensors;
  biased.replace(biased.find("bia_undef::undef"), 16, "bia_f32::blocked:a");
  const auto word = [&](const std::string& attributes) {
    const std::string text = TranslateFields(Convolution("forward_training", biased, attributes));
    return text.substr(0, text.find(' '));
  };
  EXPECT_EQ(word(""), kWord + "_bias");
  EXPECT_EQ(word("attr-scratchpad:user attr-post-ops:eltwise_relu "), kWord + "_bias_relu");
  EXPECT_EQ(word("attr-post-ops:sum+eltwise_relu"), kWord + "_bias_sum_relu");
  EXPECT_EQ(word("post_ops:'sum;eltwise_relu;'"), kWord + "_bias_sum_relu");
  EXPECT_EQ(word("attr-post-ops:eltwise_clip:0:6"), kWord + "_bias_relu_bound6");
  EXPECT_EQ(word("attr-post-ops:eltwise_bounded_relu:6"), kWord + "_bias_relu_bound6");
  EXPECT_EQ(word("attr-post-ops:eltwise_swish:1"), kWord + "_bias_swish");
  EXPECT_EQ(word("attr-post-ops:sum+eltwise_gelu_erf"), kWord + "_bias_sum_gelu");
  EXPECT_EQ(word("attr-post-ops:eltwise_hardswish"), kWord + "_bias_hardswish");
  EXPECT_EQ(word("attr-post-ops:eltwise_hardswish:0.166667:0.5"), kWord + "_bias_hardswish");
  EXPECT_EQ(word("attr-post-ops:eltwise_relu:0.01"), kWord + "_bias_leakyrelu");
}

TEST(TracedConvolutionTest, OtherAttributesHaveAReason) {
  const auto reason = [&](const std::string& attributes) {
    return TranslateFields(Convolution("forward_training", kTensors, attributes));
  };
  EXPECT_THAT(reason("attr-post-ops:eltwise_relu:0.1"), HasSubstr("no post-op eltwise_relu"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_relu+sum"), HasSubstr("no post-op sum"));
  EXPECT_THAT(reason("attr-post-ops:sum:0.5"), HasSubstr("no post-op sum"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_bounded_relu:0"), HasSubstr("no post-op"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_bounded_relu:-1"), HasSubstr("no post-op"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_swish:2"), HasSubstr("no post-op eltwise_swish"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_swish:1:0:2"), HasSubstr("no post-op eltwise_swish"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_tanh+eltwise_relu"), HasSubstr("no post-op"));
  EXPECT_THAT(reason("attr-post-ops:eltwise_soft_relu:2"), HasSubstr("no post-op eltwise_soft"));
  EXPECT_THAT(reason("attr-post-ops:binary_add:f32:2:ab"), HasSubstr("binary_add:f32:2:ab"));
  EXPECT_THAT(reason("attr-scales:src0:0:f32"), HasSubstr("attr-scales:src0:0:f32"));
  EXPECT_THAT(reason("attr-fpmath:bf16"), HasSubstr("attr-fpmath:bf16"));
}

TEST(TracedConvolutionTest, GroupsDilationAndPaddingAreRead) {
  std::string grouped = kTensors;
  grouped.replace(grouped.find("ABcd16b16a"), 10, "Abcde16a");
  EXPECT_THAT(
      TranslateFields(Convolution("forward_training", grouped, "",
                                  "g32mb2_ic32oc32_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1")),
      HasSubstr("conv/n2c32h14w14k32r3s3u1v1p1q1g32 forward"));
  // Stride 2 over 15 rows, without padding below.
  EXPECT_THAT(TranslateFields(Convolution("forward_training", kTensors, "",
                                          "mb1_ic16oc16_ih15oh8kh3sh2dh1ph2_iw16ow8kw3sw2dw0pw0")),
              HasSubstr("conv/n1c16h15w16k16r3s3u2v2p2q0P2Q1d2e1 forward"));
}

// A framework may keep the bias and the gradients of the weights in f32 or in the type of src.
TEST(TracedConvolutionTest, ParametersInBf16AreNarrow) {
  const auto problem = [](const std::string& prop_kind, const std::string& wei,
                          const std::string& bia) {
    return TranslateFields(Convolution(prop_kind, "src_bf16::blocked:abcd:f0 wei_" + wei +
                                                      "::blocked:abcd:f0 bia_" + bia +
                                                      "::blocked:a:f0 dst_bf16::blocked:abcd:f0"));
  };
  const std::string tags = " backward_weights type=bf16 mode=train src=abcd diff_weights=abcd ";
  EXPECT_THAT(problem("forward_training", "bf16", "f32"), HasSubstr("_bias forward type=bf16"));
  EXPECT_THAT(problem("forward_training", "bf16", "bf16"),
              HasSubstr("_bias_narrow forward type=bf16"));
  EXPECT_THAT(problem("backward_weights", "f32", "f32"), HasSubstr("_bias" + tags));
  EXPECT_THAT(problem("backward_weights", "bf16", "bf16"), HasSubstr("_bias_narrow" + tags));
  EXPECT_THAT(problem("backward_weights", "bf16", "f32"), HasSubstr("bia is f32, and topdnn's"));
}

TEST(TracedConvolutionTest, WinogradKeepsItsWeightsOpaque) {
  std::string opaque = kTensors;
  opaque.replace(opaque.find("wei_f32::blocked:ABcd16b16a"), 27, "wei_f32::wino:");
  EXPECT_EQ(TranslateFields(Convolution("forward_inference", opaque, "",
                                        "mb2_ic16oc32_ih28oh28kh3sh1dh0ph1_iw28ow28kw3sw1dw0pw1",
                                        "convolution_winograd")),
            kWord + " forward type=f32 mode=infer algorithm=winograd src=aBcd16b dst=aBcd16b");
  EXPECT_THAT(TranslateFields(Convolution("forward_inference", opaque)),
              HasSubstr("wei in the format wino"));
}

TEST(TracedConvolutionTest, WhatIsNotTheSameHasAReason) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string tensors = kTensors;
    tensors.replace(tensors.find(from), from.size(), to);
    return TranslateFields(Convolution("forward_training", tensors));
  };
  EXPECT_THAT(with("dst_f32", "dst_bf16"), HasSubstr("dst is bf16, and topdnn's conv in f32 has"));
  EXPECT_THAT(with("src_f32", "src_f8_e5m2"), HasSubstr("no kernels in f8_e5m2"));
  EXPECT_THAT(with("aBcd16b:f0 wei", "aBcd16b:99x1x1x1:f0 wei"), HasSubstr("src has gaps"));
  EXPECT_THAT(with("ABcd16b16a:f0", "ABcd16b16a:f3:s8m1"), HasSubstr("additional data f3:s8m1"));
  EXPECT_THAT(with("ABcd16b16a", "Abcde16a"), HasSubstr("topdnn's has 4 dimensions"));
  EXPECT_THAT(with("ABcd16b16a", "ABxd"), HasSubstr("wei in the format ABxd"));
  EXPECT_THAT(TranslateFields(Convolution("sideways", kTensors)),
              HasSubstr("sideways is not known"));
  EXPECT_THAT(
      TranslateFields(Convolution("forward_training", kTensors, "",
                                  "mb2_ic16oc16_id4od4kd1sd1dd0pd0_ih8oh8kh1sh1dh0ph0_iw8ow8kw1")),
      HasSubstr("src in aBcd16b: topdnn's has 5 dimensions"));
  EXPECT_THAT(
      TranslateFields(Convolution("forward_training", kTensors, "", "mb2_ic16oc16_iw8ow8kw1")),
      HasSubstr("src in aBcd16b: topdnn's has 3 dimensions"));
  EXPECT_THAT(TranslateFields(Convolution("forward_training", kTensors, "",
                                          "mb2_ic16oc16_ih8oh7kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0")),
              HasSubstr("contradicts itself"));
  EXPECT_THAT(TranslateFields(Convolution("forward_training", kTensors, "",
                                          "mb0_ic16oc16_ih8oh8kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0")),
              HasSubstr("1 or more"));
  EXPECT_THAT(TranslateFields(Convolution("forward_training", kTensors, "", "mb2_ic16_ih8")),
              HasSubstr("no number"));
  EXPECT_THAT(
      TranslateFields(Convolution("forward_training", kTensors, "",
                                  "mb2_ic1oc9999999999_ih8oh8kh1sh1dh0ph0_iw8ow8kw1sw1dw0pw0")),
      HasSubstr("out of range"));
}

class TranslatorTest : public testing::TestWithParam<TranslatedCase> {};

TEST_P(TranslatorTest, GivesTheProblemOrTheReason) {
  EXPECT_THAT(TranslateFields(GetParam().fields), HasSubstr(GetParam().result));
}

INSTANTIATE_TEST_SUITE_P(
    Primitives, TranslatorTest,
    testing::Values(
        TranslatedCase{
            "Reorder",
            "reorder,x,undef,src_bf16::blocked:abcd:f0 dst" + kImageFields + ",,,2x16x7x7",
            "reorder/2x16x7x7_frombf16_tof32 forward type=f32 mode=train src=abcd dst=aBcd16b"},
        TranslatedCase{
            "ReorderScaled",
            "reorder,x,undef,src_f32::blocked:ab:f0 dst_s8::blocked:ab:f0,oscale:0:2;,,2x16",
            "no attr-oscale:0:2"},
        TranslatedCase{"ReorderRuntime",
                       "reorder,x,undef,src" + kMatrixFields + "dst" + kMatrixFields + ",,,*x16",
                       "'*x16' is not a shape"},
        TranslatedCase{
            "MaxPool",
            "pooling,x,forward_training,src" + kImageFields + "dst" + kImageFields +
                "ws_u8::blocked:aBcd16b:f0,,alg:pooling_max,"
                "mb2ic16_ih28oh14kh3sh2dh0ph1_iw28ow14kw3sw2dw0pw1",
            "pool/maxn2c16h28w28r3s3u2v2p1q1P0Q0 forward type=f32 mode=train src=aBcd16b"},
        TranslatedCase{
            "AveragePoolBackward",
            "pooling_v2,x,backward_data,src" + kImageFields + "dst" + kImageFields +
                ",,"
                "alg:pooling_avg_include_padding,mb2ic16_ih8oh1kh8sh8dh0ph0_iw8ow1kw8sw8dw0pw0",
            "pool/averagen2c16h8w8r8s8u8v8p0q0 backward_data type=f32 mode=train "
            "diff_src=aBcd16b diff_dst=aBcd16b"},
        TranslatedCase{"BatchNorm",
                       "batch_normalization,x,forward_training,data" + kImageFields +
                           ",,flags:CH,mb2ic16ih8iw8",
                       "batchnorm/2x16x8x8 forward type=f32 mode=train src=aBcd16b dst=aBcd16b"},
        TranslatedCase{"BatchNormInferenceRelu",
                       "batch_normalization,x,forward_inference,data" + kImageFields +
                           ",,flags:GSR,mb2ic16ih8iw8",
                       "batchnorm/2x16x8x8_relu forward type=f32 mode=infer"},
        TranslatedCase{"BatchNormScaledRelu",
                       "batch_normalization,x,forward_inference,data" + kImageFields +
                           ",attr-post-ops:eltwise_relu:0:0:2 ,flags:GS,mb2ic16ih8iw8",
                       "topdnn's batch normalization has no post-op eltwise_relu"},
        TranslatedCase{
            "BatchNormBackward",
            "batch_normalization,x,backward,data" + kImageFields + "diff" + kImageFields +
                ",,flags:CH,mb2ic16ih8iw8",
            "batchnorm/2x16x8x8 backward_data type=f32 mode=train src=aBcd16b diff_src=aBcd16b "
            "diff_dst=aBcd16b"},
        TranslatedCase{
            "BatchNormWithoutScale",
            "batch_normalization,x,forward_training,data" + kImageFields + ",,flags:,mb2ic16ih8iw8",
            "has a scale and a shift"},
        // Recent versions of oneDNN 3 (normalization_flags2str() of its src/common/verbose.cpp).
        TranslatedCase{"RmsNormalization",
                       "layer_normalization,jit_uni:avx512_core,forward_inference,"
                       "src:f32::blocked:abc::f0 dst:f32::blocked:abc::f0 "
                       "stats:undef::undef::: scale:f32::blocked:a::f0,,flags:CM,2x8x16",
                       "topdnn's layer_normalization has no flag M (by the root mean square)"},
        TranslatedCase{"BatchNormWithAnUnknownFlag",
                       "batch_normalization,x,forward_training,data" + kImageFields +
                           ",,flags:CHZ,mb2ic16ih8iw8",
                       "topdnn's batch_normalization has no flag Z"},
        TranslatedCase{"Lrn",
                       "lrn,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                           ",,alg:lrn_across_channels,mb2ic16ih8iw8ls5beta0.75",
                       "lrn/2x16x8x8_size5 backward_data type=f32 mode=train"},
        TranslatedCase{"LrnWithin",
                       "lrn,x,forward,data" + kImageFields +
                           ",,alg:lrn_within_channel,mb2ic16ih8iw8ls5beta0.75",
                       "no LRN of the kind lrn_within_channel"},
        TranslatedCase{"Softmax",
                       "softmax_v2,x,forward_inference,src" + kMatrixFields + "dst" +
                           kMatrixFields + ",,alg:softmax_accurate axis:1,64x100",
                       "softmax/n64k100 forward type=f32 mode=infer src=ab dst=ab"},
        TranslatedCase{
            "SoftmaxOfOneMoreDimension",
            "softmax,x,forward_inference,src_f32::blocked:abc::f0 dst_f32::blocked:abc::f0"
            ",,alg:softmax_accurate axis:2,4x16x100",
            "softmax/n64k100 forward"},
        TranslatedCase{
            "SoftmaxAlongChannels",
            "softmax,x,forward_inference,src_f32::blocked:abc::f0 dst_f32::blocked:abc::f0"
            ",,alg:softmax_accurate axis:1,4x16x100",
            "along the last axis"},
        TranslatedCase{"SoftmaxBeforeOneDnn26",
                       "softmax,jit:avx512_common,forward_inference,data" + kMatrixFields +
                           "diff_undef::undef::f0,,alg:softmax axis:1,64x100",
                       "softmax/n64k100 forward type=f32 mode=infer src=ab dst=ab"},
        TranslatedCase{"LogSoftmax",
                       "softmax,x,forward,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:softmax_log axis:1,64x100",
                       "no softmax of the kind softmax_log"},
        TranslatedCase{
            "InnerProduct",
            "inner_product,x,forward_training,src" + kMatrixFields +
                "wei_f32:p:blocked:AB16b64a:f0 bia_f32::blocked:a:f0 dst" + kMatrixFields +
                ",,,mb4ic512oc1000",
            "inner_product/n4c512k1000_bias forward type=f32 mode=train src=ab weights=AB16b64a "
            "bias=a dst=ab"},
        TranslatedCase{"InnerProductWithABoundedRelu",
                       "inner_product,x,forward_inference,src" + kMatrixFields +
                           "wei_f32:p:blocked:AB16b64a:f0 bia_undef::undef::f0 dst" +
                           kMatrixFields + ",attr-post-ops:eltwise_clip:0:6 ,,mb4ic512oc1000",
                       "inner_product/n4c512k1000_relu_bound6 forward type=f32"},
        TranslatedCase{"InnerProductWithAnotherFunction",
                       "inner_product,x,forward_inference,src" + kMatrixFields +
                           "wei_f32:p:blocked:AB16b64a:f0 bia_undef::undef::f0 dst" +
                           kMatrixFields + ",attr-post-ops:eltwise_clip:-1:6 ,,mb4ic512oc1000",
                       "topdnn's inner product has no post-op eltwise_clip"},
        TranslatedCase{
            "InnerProductOfImages",
            "inner_product,x,backward_data,src" + kImageFields +
                "wei_f32::blocked:aBcd16b:f0 bia_undef::undef::f0 dst" + kMatrixFields +
                ",,,mb4ic512ih7iw7oc1000",
            "inner_product/n4c512h7w7k1000 backward_data type=f32 mode=train weights=aBcd16b "
            "diff_src=aBcd16b diff_dst=ab"},
        TranslatedCase{"Matmul",
                       "matmul,x,undef,src" + kMatrixFields + "wei_f32::blocked:ba:f0 dst" +
                           kMatrixFields + ",,,8x64:64x10:8x10",
                       "gemm/m8n10k64_tb forward type=f32 mode=train src=ab weights=ab dst=ab"},
        TranslatedCase{"MatmulBatch",
                       "matmul,x,undef,src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 "
                       "dst_f32::blocked:abc:f0,attr-post-ops:sum ,,12x8x64:12x64x10:12x8x10",
                       "gemm/b12m8n10k64_beta1 forward"},
        TranslatedCase{"MatmulBroadcast",
                       "matmul,x,undef,src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 "
                       "dst_f32::blocked:abc:f0,,,12x8x64:1x64x10:12x8x10",
                       "does not broadcast"},
        TranslatedCase{"MatmulBlocked",
                       "matmul,x,undef,src" + kMatrixFields + "wei_f32::blocked:BA16a64b:f0 dst" +
                           kMatrixFields + ",,,8x64:64x10:8x10",
                       "row-major matrices"},
        // Lines of DNNL 1 to oneDNN 2.1: a test of that library (int8), and one of PyTorch's.
        TranslatedCase{"MatmulOfDnnl",
                       "matmul,gemm:jit,undef,src" + kMatrixFields + "wei_f32::blocked:ba:f0 dst" +
                           kMatrixFields + ",,,m16n32k64",
                       "gemm/m16n32k64_tb forward type=f32 mode=train src=ab weights=ab dst=ab"},
        TranslatedCase{"MatmulBatchOfDnnl",
                       "matmul,gemm:jit,undef,src_f32::blocked:abc:f0 wei_f32::blocked:acb:f0 "
                       "dst_f32::blocked:abc:f0,,,b10m20n20k30",
                       "gemm/b10m20n20k30_tb forward"},
        TranslatedCase{"MatmulInt8OfDnnl",
                       "matmul,matmul-gemm:ref,undef,src_s8::blocked:ba:f0 wei_s8::blocked:ab:f0 "
                       "bia_f32::blocked:ab:f0 dst_s32::blocked:ab:f0,"
                       "oscale:0:2;zero_points:'src:0:-2_wei:0:2';,,m10n20k2",
                       "primitive/matmul_10x2:2x20_attr-oscale:0:2_attr-zero-points:src:0:-2+"
                       "wei:0:2 forward type=s8"},
        TranslatedCase{"BinaryOfDnnl",
                       "binary,jit:uni,undef,src_f32::blocked:abc:f0 src_f32::blocked:abc:f0 "
                       "dst_f32::blocked:abc:f0,,alg:binary_add,10x20x30:10x20x30 10x20x30",
                       "add/10x20x30_of2 forward type=f32"},
        TranslatedCase{"ConcatOfDnnl",
                       "concat,simple:any,undef,src" + kMatrixFields + "src" + kMatrixFields +
                           "dst" + kMatrixFields + ",,axis:1,2x16:2x32 2x48",
                       "concat/2x48_axis1_parts16x32 forward"},
        TranslatedCase{
            "ResamplingOfDnnl",
            "resampling,simple:any,forward_training,src_f32::blocked:abcd:f0  "
            "dst_f32::blocked:abcd:f0,,alg:resampling_nearest,1x3x5x5 1x3x10x15",
            "interpolate/nearest1x3x5x5_to1x3x10x15_scale1x1x2x3_half_preferfloor forward"},
        TranslatedCase{"ResamplingOfSequencesOfDnnl",
                       "resampling,simple:any,forward_training,src_f32::blocked:abc:f0  "
                       "dst_f32::blocked:abc:f0,,alg:resampling_linear,2x16x8 2x16x6",
                       "interpolate/linear2x16x8_to2x16x6_scale1x1x0.75_half forward"},
        TranslatedCase{"SoftmaxOfTwoTypes",
                       "softmax_v2,x,forward_inference,src" + kMatrixFields +
                           "dst_u8::blocked:ab:f0,,alg:softmax_accurate axis:1,64x100",
                       "tensors of one type, not dst in u8"},
        TranslatedCase{"LayerNormalizationOfTwoTypes",
                       "layer_normalization,x,forward_inference,src_f32::blocked:abc:f0 "
                       "dst_s8::blocked:acb:f0,,flags:,2x8x16",
                       "of one type and layout"},
        TranslatedCase{"MatmulBias",
                       "matmul,x,undef,src" + kMatrixFields + "wei" + kMatrixFields +
                           "bia_f32::blocked:ab:f0_mask2 dst" + kMatrixFields +
                           ",,,8x64:64x10:8x10",
                       "gemm has no bias"},
        TranslatedCase{"Concat",
                       "concat,x,undef,src" + kImageFields + "src_f32::blocked:abcd:f0 dst" +
                           kImageFields + ",,axis:1,2x16x8x8:2x32x8x8",
                       "concat/2x48x8x8_axis1_parts16x32 forward type=f32 mode=train "
                       "src_0=aBcd16b src_1=abcd dst=aBcd16b"},
        TranslatedCase{"Resampling",
                       "resampling,x,forward_training,src" + kImageFields + "dst" + kImageFields +
                           ",,alg:resampling_nearest,mb2ic16_ih14oh28_iw14ow42",
                       "interpolate/nearest2x16x14x14_to2x16x28x42_scale1x1x2x3_half_preferfloor "
                       "forward"},
        TranslatedCase{"ResamplingLinear",
                       "resampling,x,forward_training,src" + kImageFields + "dst" + kImageFields +
                           ",,alg:resampling_linear,mb2ic16_ih14oh28_iw14ow42",
                       "interpolate/linear2x16x14x14_to2x16x28x42_scale1x1x2x3_half forward "
                       "type=f32 mode=train src=aBcd16b dst=aBcd16b"},
        TranslatedCase{"ResamplingLinearOfSequences",
                       "resampling,x,backward_data,src_f32::blocked:abc:f0 "
                       "dst_f32::blocked:abc:f0,,alg:resampling_linear,mb2ic16_iw8ow6",
                       "interpolate/linear2x16x8_to2x16x6_scale1x1x0.75_half backward_data "
                       "type=f32 mode=train diff_src=abc diff_dst=abc"},
        TranslatedCase{"ResamplingOfNothing",
                       "resampling,x,forward_training,src_f32::blocked:abc:f0 "
                       "dst_f32::blocked:abc:f0,,alg:resampling_linear,mb2ic16_iw0ow6",
                       "interpolation of 2x16x0"},
        TranslatedCase{"ResamplingOfVolumes",
                       "resampling,x,forward_training,src_f32::blocked:abcde:f0 "
                       "dst_f32::blocked:abcde:f0,,alg:resampling_nearest,"
                       "mb2ic16_id2od4_ih2oh4_iw2ow4",
                       "to the nearest pixel of images only, by whole factors"},
        TranslatedCase{"Unknown", "quantum,x,undef,,,,", "topdnn has no kernels for quantum"}),
    [](const auto& test) { return test.param.name; });

// The only field of MKL-DNN 0.x about a softmax is its shape.
TEST(TracedSoftmaxTest, MkldnnNamesNoAxis) {
  const auto row_of = [](const std::string& fields) {
    TraceReader reader;
    reader.Add("mkldnn_verbose,exec,softmax,jit:avx2,forward_inference," + fields + ",0.5\n");
    return reader.Finish().rows.at(0);
  };
  const TraceRow matrix = row_of("fdata:nc fdiff:undef,,mb64ic100");
  const auto problem = ProblemOf(matrix);
  ASSERT_TRUE(std::holds_alternative<TracedProblem>(problem))
      << std::get<NoProblem>(problem).reason;
  EXPECT_EQ(std::get<TracedProblem>(problem).op->Problem(), "n64k100");
  EXPECT_EQ(BenchdnnLineOf(matrix).text, "--softmax --dir=FWD_I --dtag=ab 64x100");
  const auto images = ProblemOf(row_of("fdata:nchw fdiff:undef,,mb2ic8ih4iw4"));
  ASSERT_TRUE(std::holds_alternative<NoProblem>(images));
  EXPECT_THAT(std::get<NoProblem>(images).reason, HasSubstr("has no number 'axis'"));
}

Trace ReadFile(const std::string& name) {
  std::ifstream file(TOPDNN_SOURCE_DIR "/tests/bench/traces/" + name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty()) << name;
  TraceReader reader;
  reader.Add(text);
  return reader.Finish();
}

struct RealLog {
  std::string name;
  std::int64_t lines, primitives;
  std::size_t rows;
  std::string dialect;
};
void PrintTo(const RealLog& log, std::ostream* out) { *out << log.name; }

class RealLogTest : public testing::TestWithParam<RealLog> {};

TEST_P(RealLogTest, EveryLineIsReadAndEveryRowIsAProblem) {
  Trace trace = ReadFile(GetParam().name);
  EXPECT_EQ(trace.lines, GetParam().lines);
  EXPECT_EQ(trace.Primitives(), GetParam().primitives);
  EXPECT_EQ(trace.damaged_lines, 0);
  EXPECT_EQ(trace.dialect, GetParam().dialect);
  EXPECT_EQ(trace.threads, 2);
  const MeasuredTrace translated = TranslateTrace(std::move(trace));
  ASSERT_EQ(translated.rows.size(), GetParam().rows);
  for (const MeasuredRow& row : translated.rows) {
    EXPECT_TRUE(row.problem) << row.row.primitive << " " << row.row.problem << ": " << row.reason;
  }
  // The set is read back with the same operations, executions and layouts.
  const ProblemSet set = ParseProblemSet("saved", ProblemSetText(translated), "saved.txt");
  EXPECT_EQ(set.problems.size(), translated.rows.size());
  std::map<std::string, int> words;
  for (const MeasuredRow& row : translated.rows) {
    ++words[row.problem->op->Problem() + " " +
            SettledProblem{row.problem->execution, row.problem->layouts, ""}.Words() +
            std::to_string(row.row.count)];
  }
  for (const CountedProblem& problem : set.problems) {
    ASSERT_TRUE(problem.settled);
    --words[problem.op->Problem() + " " + problem.settled->Words() + std::to_string(problem.count)];
  }
  for (const auto& [word, count] : words) EXPECT_EQ(count, 0) << word;
}

INSTANTIATE_TEST_SUITE_P(Logs, RealLogTest,
                         testing::Values(RealLog{"pytorch-onednn3-resnet18-train.log", 241, 234, 80,
                                                 "onednn_verbose,v1,primitive"},
                                         RealLog{"pytorch-onednn3-googlenet-infer.log", 234, 227,
                                                 152, "onednn_verbose,v1,primitive"}),
                         [](const auto& test) {
                           std::string name = test.param.name.substr(8);
                           std::erase_if(name, [](char c) { return c == '-' || c == '.'; });
                           return name;
                         });

// topdnn's own run of one kernel of each kind: creations, stamps, every primitive.
TEST(RealLogTest, TheLogOfEveryKernelHasCreationsAndStamps) {
  Trace trace = ReadFile("topdnn-onednn2-kernels.log");
  EXPECT_EQ(trace.damaged_lines, 0);
  EXPECT_EQ(trace.text_lines, 0);
  EXPECT_EQ(trace.created, trace.Primitives());
  ASSERT_TRUE(trace.between_seconds);
  EXPECT_GT(*trace.between_seconds, 0);
  const MeasuredTrace translated = TranslateTrace(std::move(trace));
  std::map<std::string, int> kinds;
  for (const MeasuredRow& row : translated.rows) {
    if (row.problem) ++kinds[std::string(row.problem->op->kind())];
  }
  for (const char* const kind :
       {"conv", "gemm", "inner_product", "pool", "relu", "bounded_relu", "clip", "sigmoid",
        "batchnorm", "lrn", "softmax", "add", "concat", "interpolate", "reduce", "reorder"}) {
    EXPECT_GT(kinds[kind], 0) << kind;
  }
}

}  // namespace
}  // namespace topdnn
