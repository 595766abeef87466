// Deconvolutions, and convolutions and poolings of sequences and volumes, as problems of topdnn's
// kernels. Paddings and extents are worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/log/read/traced_tensor.h"
#include "tests/bench/translated_case.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class TracedWindowTest : public testing::TestWithParam<TranslatedCase> {};

TEST_P(TracedWindowTest, GivesTheProblemOrTheReason) {
  EXPECT_THAT(TranslateFields(GetParam().fields), HasSubstr(GetParam().result));
}

// A line in f32: the layouts of src and dst, and of the weights.
std::string Product(const std::string& primitive, const std::string& prop, const std::string& tag,
                    const std::string& weights, const std::string& problem,
                    const std::string& attributes = "", const std::string& bias = "undef::undef:") {
  return primitive + ",x," + prop + ",src_f32::blocked:" + tag + ":f0 wei_f32::blocked:" + weights +
         ":f0 bia_" + bias + ":f0 dst_f32::blocked:" + tag + ":f0," + attributes +
         ",alg:" + primitive + "_direct," + problem;
}

// From 14 to 28 pixels: 13 * 2 + 2 = 28. oneDNN's weights (16, 32, 2, 2) are topdnn's (32, 16, 2,
// 2).
const std::string kDoubling = "mb2_ic32oc16_ih14oh28kh2sh2dh0ph0_iw14ow28kw2sw2dw0pw0";
const std::string kDoubled =
    "conv_transpose/2x16x28x28_to32_groups1_kernel2x2_stride2x2_dilation1x1_before0x0_after0x0 ";
// Planes: 3 * 2 + 3 - 8 - 1 = 0 behind. Rows and columns: 7 + 3 - 8 - 1 = 1.
const std::string kVolume = "mb1_ic16oc32_id8od4kd3sd2dd0pd1_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1";

INSTANTIATE_TEST_SUITE_P(
    Primitives, TracedWindowTest,
    testing::Values(
        TranslatedCase{
            "Deconvolution",
            Product("deconvolution", "forward_training", "aBcd16b", "ABcd16b16a", kDoubling),
            kDoubled + "forward type=f32 mode=train src=aBcd16b weights=BAcd16a16b "
                       "dst=aBcd16b"},
        TranslatedCase{"DeconvolutionByData",
                       Product("deconvolution", "backward_data", "abcd", "abcd", kDoubling),
                       kDoubled + "backward_data type=f32 mode=train weights=bacd diff_src=abcd "
                                  "diff_dst=abcd"},
        TranslatedCase{"DeconvolutionByWeights",
                       Product("deconvolution", "backward_weights", "abcd", "bacd", kDoubling),
                       kDoubled + "backward_weights type=f32 mode=train src=abcd diff_weights=abcd "
                                  "diff_dst=abcd"},
        // 13 * 2 + 3 - 1 = 28: no padding behind. The last of 30 columns is in no window.
        TranslatedCase{"DeconvolutionWithOutputPadding",
                       Product("deconvolution", "forward_inference", "abcd", "abcd",
                               "mb2_ic32oc16_ih14oh28kh3sh2dh0ph1_iw14ow30kw3sw2dw0pw0"),
                       "conv_transpose/2x16x28x30_to32_groups1_kernel3x3_stride2x2_dilation1x1_"
                       "before1x0_after0x0 forward type=f32 mode=infer"},
        TranslatedCase{
            "DeconvolutionOfGroups",
            Product("deconvolution", "forward_inference", "abcd", "acbde", "g2" + kDoubling),
            "conv_transpose/2x16x28x28_to32_groups2_kernel2x2_stride2x2_dilation1x1_"
            "before0x0_after0x0 forward type=f32 mode=infer src=abcd weights=abcde "
            "dst=abcd"},
        TranslatedCase{"DeconvolutionOfSequencesInGroups",
                       Product("deconvolution", "forward_inference", "abc", "acbd",
                               "g2mb2_ic32oc16_iw14ow28kw2sw2dw0pw0"),
                       "conv_transpose/2x16x28_to32_groups2_kernel2_stride2_dilation1_before0_"
                       "after0 forward type=f32 mode=infer src=abc weights=abc dst=abc"},
        TranslatedCase{"DeconvolutionOfSequencesInBlockedGroups",
                       Product("deconvolution", "forward_inference", "abc", "abcd",
                               "g2mb2_ic32oc16_iw14ow28kw2sw2dw0pw0"),
                       "topdnn's weights of several groups are row-major, not in acbd"},
        TranslatedCase{"DeconvolutionWithBias",
                       Product("deconvolution", "forward_inference", "abcd", "abcd", kDoubling, "",
                               "f32::blocked:a"),
                       "topdnn's deconvolution has no bias"},
        TranslatedCase{"DeconvolutionWithPostOp",
                       Product("deconvolution", "forward_inference", "abcd", "abcd", kDoubling,
                               "attr-post-ops:eltwise_relu"),
                       "topdnn's deconvolution has no post-ops (attr-post-ops:eltwise_relu)"},
        TranslatedCase{"DeconvolutionThatContradictsItself",
                       Product("deconvolution", "forward_inference", "abcd", "abcd",
                               "mb2_ic32oc16_ih14oh40kh3sh2dh0ph1_iw14ow28kw3sw2dw0pw1"),
                       "contradicts itself: it has 20 windows along h"},
        TranslatedCase{"DeconvolutionWithoutStride",
                       Product("deconvolution", "forward_inference", "abcd", "abcd",
                               "mb2_ic32oc16_ih14oh28kh2sh0dh0ph0_iw14ow28kw2sw2dw0pw0"),
                       "extent, kernel, stride and dilation must be 1 or more"},
        TranslatedCase{
            "Volume",
            Product("convolution", "forward_inference", "aBcde16b", "ABcde16b16a", kVolume),
            "conv_nd/1x16x8x8x8_to32_groups1_kernel3x3x3_stride2x1x1_dilation1x1x1_"
            "before1x1x1_after0x1x1 forward type=f32 mode=infer src=aBcde16b "
            "weights=ABcde16b16a dst=aBcde16b"},
        TranslatedCase{
            "VolumeByWeightsInGroups",
            Product("convolution", "backward_weights", "abcde", "abcdef", "g4" + kVolume),
            "conv_nd/1x16x8x8x8_to32_groups4_kernel3x3x3_stride2x1x1_dilation1x1x1_"
            "before1x1x1_after0x1x1 backward_weights type=f32 mode=train src=abcde "
            "diff_weights=abcde diff_dst=abcde"},
        // A kernel of 3 with gaps of 1 covers 5 elements: 8 - 5 + 1 = 4.
        TranslatedCase{"Sequence",
                       Product("convolution", "forward_training", "abc", "abc",
                               "mb2_ic16oc16_iw8ow4kw3sw1dw1pw0"),
                       "conv_nd/2x16x8_to16_groups1_kernel3_stride1_dilation2_before0_after0 "
                       "forward type=f32 mode=train src=abc weights=abc dst=abc"},
        TranslatedCase{"SequenceWithBias",
                       Product("convolution", "forward_training", "abc", "abc",
                               "mb2_ic16oc16_iw8ow4kw3sw1dw1pw0", "", "f32::blocked:a"),
                       "topdnn's convolution of sequences and volumes has no bias"},
        TranslatedCase{"SequenceThatContradictsItself",
                       Product("convolution", "forward_training", "abc", "abc",
                               "mb2_ic16oc16_iw8ow3kw3sw1dw1pw0"),
                       "contradicts itself: it has 4 windows along w"},
        TranslatedCase{"MaxPoolOfVolumes",
                       "pooling,x,forward_inference,src_f32::blocked:aBcde16b:f0 "
                       "dst_f32::blocked:aBcde16b:f0,,alg:pooling_max,"
                       "mb2ic16_id8od4kd2sd2dd0pd0_ih8oh4kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0",
                       "pool_nd/max2x16x8x8x8_kernel2x2x2_stride2x2x2_dilation1x1x1_before0x0x0_"
                       "after0x0x0 forward type=f32 mode=infer src=aBcde16b dst=aBcde16b"},
        TranslatedCase{"MaxPoolOfVolumesInTraining",
                       "pooling,x,forward_training,src_f32::blocked:abcde:f0 "
                       "dst_f32::blocked:abcde:f0 ws_u8::blocked:abcde:f0,,alg:pooling_max,"
                       "mb2ic16_id8od4kd2sd2dd0pd0_ih8oh4kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0",
                       "is inference, without the workspace of training"},
        TranslatedCase{"AveragePoolOfSequencesByData",
                       "pooling,x,backward_data,src_f32::blocked:abc:f0 dst_f32::blocked:abc:f0,,"
                       "alg:pooling_avg_include_padding,mb2ic16_iw8ow4kw2sw2dw0pw0",
                       "topdnn's pool_nd has no pass backward_data in f32"},
        // Each window covers 5 rows: 8 + 1 + 1 - 5 + 1 = 6.
        TranslatedCase{"DilatedPool",
                       "pooling_v2,x,forward_training,src_f32::blocked:abcd:f0 "
                       "dst_f32::blocked:abcd:f0,,alg:pooling_avg_include_padding,"
                       "mb2ic16_ih8oh6kh3sh1dh1ph1_iw8ow4kw3sw1dw1pw0",
                       "pool_nd/average_of_padding2x16x8x8_kernel3x3_stride1x1_dilation2x2_"
                       "before1x0_after1x0 forward type=f32 mode=train src=abcd dst=abcd"}),
    [](const auto& test) { return test.param.name; });

TEST(ExchangedDimensionsTest, BothCasesOfALetterAreExchanged) {
  EXPECT_EQ(ExchangeDimensions("ABcd16b16a", 'a', 'b'), "BAcd16a16b");
  EXPECT_EQ(ExchangeDimensions("aBCde8c4b", 'b', 'c'), "aCBde8b4c");
  EXPECT_EQ(ExchangeDimensions("acdb", 'a', 'b'), "bcda");
  EXPECT_EQ(ExchangeDimensions("", 'a', 'b'), "");
}

}  // namespace
}  // namespace topdnn
