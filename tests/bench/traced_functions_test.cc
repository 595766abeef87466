// Functions of one and two tensors, sums and reductions of a trace as problems of topdnn's kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/translated_case.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class TracedFunctionTest : public testing::TestWithParam<TranslatedCase> {};

TEST_P(TracedFunctionTest, GivesTheProblemOrTheReason) {
  EXPECT_THAT(TranslateFields(GetParam().fields), HasSubstr(GetParam().result));
}

INSTANTIATE_TEST_SUITE_P(
    Primitives, TracedFunctionTest,
    testing::Values(
        TranslatedCase{"Relu",
                       "eltwise,x,forward_inference,data" + kImageFields +
                           "diff_undef::undef::f0,,"
                           "alg:eltwise_relu alpha:0 beta:0,2x16x28x28",
                       "relu/2x16x28x28 forward type=f32 mode=infer src=aBcd16b dst=aBcd16b"},
        TranslatedCase{
            "ReluBackward",
            "eltwise,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                ",,"
                "alg:eltwise_relu alpha:0 beta:0,2x16x28x28",
            "relu/2x16x28x28 backward_data type=f32 mode=train dst=aBcd16b diff_src=aBcd16b "
            "diff_dst=aBcd16b"},
        TranslatedCase{"LeakyRelu",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_relu alpha:0.1 beta:0,2x16x8x8",
                       "unary/leaky_relu2x16x8x8_alpha0.1 forward type=f32 mode=train src=aBcd16b "
                       "dst=aBcd16b"},
        TranslatedCase{
            "LeakyReluBackward",
            "eltwise,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                ",,alg:eltwise_relu_use_dst_for_bwd alpha:0.1 beta:0,2x16x8x8",
            "unary/leaky_relu2x16x8x8_alpha0.1 backward_data type=f32 mode=train src=aBcd16b "
            "diff_src=aBcd16b diff_dst=aBcd16b"},
        TranslatedCase{"Clip",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_clip_v2_use_dst_for_bwd alpha:-0.5 beta:0.5,2x16x8x8",
                       "clip/2x16x8x8_min-0.5_max0.5 forward"},
        TranslatedCase{
            "Relu6",
            "eltwise,x,forward,data" + kImageFields + ",,alg:eltwise_clip alpha:0 beta:6,2x16x8x8",
            "bounded_relu/2x16x8x8_bound6 forward"},
        TranslatedCase{"Sigmoid",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_logistic alpha:0 beta:0,2x16x8x8",
                       "sigmoid/2x16x8x8 forward"},
        TranslatedCase{"Sigmoid8Bit",
                       "eltwise,x,forward_inference,data_u8::blocked:aBcd16b:f0,,"
                       "alg:eltwise_logistic alpha:0 beta:0,2x16x8x8",
                       "topdnn's sigmoid has no pass forward in u8"},
        TranslatedCase{"Gelu",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_gelu_erf alpha:0 beta:0,2x16x8x8",
                       "unary/gelu2x16x8x8 forward type=f32 mode=train src=aBcd16b dst=aBcd16b"},
        TranslatedCase{"GeluTanh",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_gelu_tanh alpha:0 beta:0,2x16x8x8",
                       "unary/gelu_tanh2x16x8x8 forward"},
        TranslatedCase{
            "GeluOfOlderVersions",
            "eltwise,x,forward,data" + kImageFields + ",,alg:eltwise_gelu alpha:0 beta:0,2x16x8x8",
            "unary/gelu_tanh2x16x8x8 forward"},
        TranslatedCase{
            "Elu",
            "eltwise,x,forward,src" + kImageFields + "dst" + kImageFields +
                ",,alg:eltwise_elu alpha:0.5 beta:0,2x16x8x8",
            "unary/elu2x16x8x8_alpha0.5 forward type=f32 mode=train src=aBcd16b dst=aBcd16b"},
        TranslatedCase{
            "TanhBackward",
            "eltwise,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                ",,alg:eltwise_tanh alpha:0 beta:0,2x16x8x8",
            "unary/tanh2x16x8x8 backward_data type=f32 mode=train src=aBcd16b diff_src=aBcd16b "
            "diff_dst=aBcd16b"},
        TranslatedCase{"TanhBackwardFromDst",
                       "eltwise,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                           ",,alg:eltwise_tanh_use_dst_for_bwd alpha:0 beta:0,2x16x8x8",
                       "topdnn's tanh computes its gradient from src, not from dst"},
        TranslatedCase{"TanhThatIsTrainedFromDst",
                       "eltwise,x,forward_training,data" + kImageFields +
                           ",,alg:eltwise_tanh_use_dst_for_bwd alpha:0 beta:0,2x16x8x8",
                       "unary/tanh2x16x8x8 forward"},
        TranslatedCase{"RoundBackward",
                       "eltwise,x,backward_data,data" + kImageFields + "diff" + kImageFields +
                           ",,alg:eltwise_round alpha:0 beta:0,2x16x8x8",
                       "topdnn's unary has no pass backward_data in f32"},
        TranslatedCase{"HardSwish",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_hardswish alpha:0.166667 beta:0.5,2x16x8x8",
                       "unary/hard_swish2x16x8x8_alpha0.16666667_beta0.5 forward"},
        TranslatedCase{"HardSwishOfOlderVersions",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_hardswish alpha:0 beta:0,2x16x8x8",
                       "unary/hard_swish2x16x8x8_alpha0.16666667_beta0.5 forward"},
        TranslatedCase{"HardSwishOfOtherConstants",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_hardswish alpha:0.25 beta:0.75,2x16x8x8",
                       "unary/hard_swish2x16x8x8_alpha0.25_beta0.75 forward"},
        TranslatedCase{"SoftRelu",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_soft_relu alpha:0 beta:0,2x16x8x8",
                       "unary/softplus2x16x8x8 forward"},
        TranslatedCase{"SoftReluOfOtherSlope",
                       "eltwise,x,forward,data" + kImageFields +
                           ",,alg:eltwise_soft_relu alpha:-1 beta:0,2x16x8x8",
                       "no eltwise_soft_relu of this kind (alg:eltwise_soft_relu alpha:-1 beta:0)"},
        TranslatedCase{
            "Log",
            "eltwise,x,forward,data" + kImageFields + ",,alg:eltwise_log alpha:0 beta:0,2x16x8x8",
            "unary/log2x16x8x8 forward"},
        TranslatedCase{
            "Swish",
            "eltwise,x,forward,data" + kImageFields + ",,alg:eltwise_swish alpha:1 beta:0,2x16x8x8",
            "unary/swish2x16x8x8_alpha1 forward"},
        TranslatedCase{"Unary8Bit",
                       "eltwise,x,forward_inference,data_u8::blocked:aBcd16b:f0,,"
                       "alg:eltwise_square alpha:0 beta:0,2x16x8x8",
                       "topdnn's unary has no pass forward in u8"},
        TranslatedCase{"Sum",
                       "sum,x,undef,src" + kImageFields + "src" + kImageFields + "src" +
                           kImageFields + "dst" + kImageFields + ",,,2x16x8x8",
                       "add/2x16x8x8_of3 forward type=f32 mode=train src_0=aBcd16b src_1=aBcd16b "
                       "src_2=aBcd16b "
                       "dst=aBcd16b"},
        TranslatedCase{"BinaryAdd",
                       "binary,x,undef,src" + kImageFields + "src" + kImageFields + "dst" +
                           kImageFields +
                           ",attr-post-ops:eltwise_relu ,alg:binary_add,2x16x8x8:2x16x8x8",
                       "add/2x16x8x8_of2_relu forward"},
        TranslatedCase{"BinaryAddOfAScaledRelu",
                       "binary,x,undef,src" + kImageFields + "src" + kImageFields + "dst" +
                           kImageFields +
                           ",attr-post-ops:eltwise_relu:0:0:0.5 ,alg:binary_add,2x16x8x8:2x16x8x8",
                       "topdnn's addition has no post-op eltwise_relu"},
        TranslatedCase{"BinaryBias",
                       "binary,x,undef,src" + kImageFields + "src_f32::blocked:abcd:f0 dst" +
                           kImageFields + ",,alg:binary_add,2x16x8x8:1x16x1x1",
                       "bias/2x16x8x8 forward type=f32 mode=train src=aBcd16b bias=a dst=aBcd16b"},
        TranslatedCase{
            "BinaryMul",
            "binary,x,undef,src" + kImageFields + "src" + kImageFields + "dst" + kImageFields +
                ",,alg:binary_mul,2x16x8x8:2x16x8x8",
            "binary/mul2x16x8x8_by2x16x8x8 forward type=f32 mode=train src_0=aBcd16b src_1=aBcd16b "
            "dst=aBcd16b"},
        TranslatedCase{
            "BinaryOfRows",
            "binary,x,undef,src" + kImageFields + "src_f32::blocked:abcd:f0 dst" + kImageFields +
                ",,alg:binary_add,2x16x8x8:1x1x1x8",
            "binary/add2x16x8x8_by1x1x1x8 forward type=f32 mode=train src_0=aBcd16b src_1=abcd "
            "dst=aBcd16b"},
        TranslatedCase{
            "BinaryCompares",
            "binary,x,undef,src" + kMatrixFields + "src" + kMatrixFields + "dst" + kMatrixFields +
                ",,alg:binary_ge,4x8:4x1",
            "binary/greater_or_equal4x8_by4x1 forward type=f32 mode=train src_0=ab src_1=ab "
            "dst=ab"},
        TranslatedCase{"BinaryComparesToBytes",
                       "binary,x,undef,src" + kMatrixFields + "src" + kMatrixFields +
                           "dst_u8::blocked:ab:f0,,alg:binary_lt,4x8:4x8",
                       "dst is u8, and topdnn's binary in f32 has f32"},
        TranslatedCase{"BinarySelect",
                       "binary,x,undef,src" + kMatrixFields + "src" + kMatrixFields + "dst" +
                           kMatrixFields + ",,alg:binary_select,4x8:4x8:4x8",
                       "topdnn has no binary_select"},
        TranslatedCase{"BinaryMulThenRelu",
                       "binary,x,undef,src" + kMatrixFields + "src" + kMatrixFields + "dst" +
                           kMatrixFields + ",attr-post-ops:eltwise_relu,alg:binary_mul,4x8:4x8",
                       "topdnn's kernels have no attr-post-ops:eltwise_relu"},
        TranslatedCase{"BinaryOfExtentsThatDoNotMatch",
                       "binary,x,undef,src" + kMatrixFields + "src" + kMatrixFields + "dst" +
                           kMatrixFields + ",,alg:binary_max,4x8:4x2",
                       "max of 4x8 and 4x2: the extents do not match"},
        TranslatedCase{"Reduction",
                       "reduction,x,undef,src" + kImageFields +
                           "dst_f32::blocked:abcd:f0"
                           ",,alg:reduction_mean p:0 eps:0,2x16x8x8:2x16x1x1",
                       "reduce/mean2x16x8x8_cd_keep forward"},
        TranslatedCase{
            "ReductionMax",
            "reduction,x,undef,src" + kImageFields + "dst" + kImageFields +
                ",,alg:reduction_max p:0 eps:0,2x16x8x8:2x16x1x1",
            "reduce/max2x16x8x8_cd_keep forward type=f32 mode=train src=aBcd16b dst=aBcd16b"},
        TranslatedCase{"ReductionOfProducts",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_mul p:0 eps:0,4x8:1x8",
                       "reduce/product4x8_a_keep forward"},
        TranslatedCase{"ReductionToL1Norm",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_norm_lp_max p:1 eps:0,4x8:4x1",
                       "reduce/l14x8_b_keep forward"},
        TranslatedCase{"ReductionToL2Norm",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_norm_lp_sum p:2 eps:0,4x8:4x1",
                       "reduce/l24x8_b_keep forward"},
        TranslatedCase{"ReductionToSquares",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_norm_lp_power_p_sum p:2 eps:0,4x8:4x1",
                       "reduce/sum_square4x8_b_keep forward"},
        TranslatedCase{"ReductionToL3Norm",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_norm_lp_sum p:3 eps:0,4x8:4x1",
                       "topdnn has no norm of p = 3"},
        TranslatedCase{"ReductionToNormWithEps",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_norm_lp_sum p:2 eps:0.5,4x8:4x1",
                       "topdnn's norms have no eps"},
        TranslatedCase{"ReductionToPart",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_sum p:0 eps:0,4x8:4x2",
                       "contradicts itself: a reduced extent is 1, not 2"},
        TranslatedCase{"ReductionOfNothing",
                       "reduction,x,undef,src" + kMatrixFields + "dst" + kMatrixFields +
                           ",,alg:reduction_sum p:0 eps:0,4x8:4x8",
                       "give one axis or more"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace topdnn
