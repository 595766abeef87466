#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/conv/conv.h"
#include "kernels/kernel/native.h"
#include "kernels/op/problem.h"
#include "kernels/quantization/integer_types.h"
#include "kernels/quantization/quantize.h"
#include "kernels/quantization/quantized_layer.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// The examples of ONNX's QuantizeLinear: a tie goes to the even integer, and a value outside the
// range to its end.
TEST(QuantizationTest, RoundsTiesToEvenAndSaturates) {
  const Quantization u8{DataType::kU8, 2.0F};
  EXPECT_EQ(Quantized(3.0F, u8), 2.0F);
  EXPECT_EQ(Quantized(5.0F, u8), 2.0F);
  EXPECT_EQ(Quantized(7.0F, u8), 4.0F);
  EXPECT_EQ(Quantized(1000.0F, u8), 255.0F);
  EXPECT_EQ(Quantized(-1.5F, u8), 0.0F);
  const Quantization s8{DataType::kS8, 0.5F};
  EXPECT_EQ(Quantized(-1.25F, s8), -2.0F);
  EXPECT_EQ(Quantized(-1e30F, s8), -128.0F);
  EXPECT_EQ(Quantized(std::numeric_limits<float>::infinity(), s8), 127.0F);
}

TEST(QuantizationTest, RefusesScalesAndTypesThatDoNotExist) {
  const auto make = [](DataType type, float scale) {
    return QuantizeOp(QuantizeOp::Step::kQuantize, Shape{4}, {type, scale});
  };
  EXPECT_THROW(make(DataType::kU8, 0.0F), std::invalid_argument);
  EXPECT_THROW(make(DataType::kU8, std::nanf("")), std::invalid_argument);
  EXPECT_THROW(make(DataType::kF32, 1.0F), std::invalid_argument);
  const auto conv = std::make_shared<ConvOp>(ConvExtents{.c = 2, .k = 3}, ConvEpilogue{});
  EXPECT_THROW(QuantizedLayerOp(conv, {.scales = {1.0F}}), std::invalid_argument);
  EXPECT_THROW(QuantizedLayerOp(conv, {.scales = {1.0F, 1.0F, -1.0F}}), std::invalid_argument);
}

// One sum by hand: (200 * 3 + 20 * 2 + 10) * 0.25 + 3 * 0.5 = 164. The bound limits it to 120.
TEST(QuantizationTest, RequantizesInTheOrderOfItsDefinition) {
  for (const float bound : {0.0F, 120.0F}) {
    const auto conv = std::make_shared<ConvOp>(
        ConvExtents{.c = 2}, ConvEpilogue{.bias = true, .relu = true, .bound = bound});
    const auto op = std::make_shared<QuantizedLayerOp>(
        conv, Requantization{.scales = {0.25F}, .sum = DataType::kS8, .sum_scale = 0.5F});
    KernelRun run("reference", RequestFor(op, {Pass::kForward, false, DataType::kF32}, 1));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    run.Set(Arg::kSrc, {200, 20});
    run.Set(Arg::kWeights, {3, 2});
    run.Set(Arg::kBias, {10});
    run.Set(Arg::kSum, {3});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kDst).front(), bound == 0.0F ? 164.0 : 120.0);
  }
}

// oneDNN's results are those of the reference, to the last bit: every type of source, result and
// second source, with groups, padding, strides, and images that an inner product reads.
TEST(QuantizationTest, OneDnnIsExact) {
  int ran = 0;
  for (const char* problem :
       {"quantized_conv/n2c16h9w9k32r3s3u1v1p1q1_bias_relu_srcu8_dstu8",
        "quantized_conv/n2c3h15w15k16r5s5u2v2p2q2_bias_srcs8_dsts8",
        "quantized_conv/n1c32h7w7k48r1s1u1v1p0q0_bias_relu_srcu8_dstu8_plusu8",
        "quantized_conv/n1c32h7w7k64r1s1u1v1p0q0_bias_relu_srcu8_dstu8_pluss8",
        "quantized_conv/n2c16h8w8k16r3s3u1v1p1q1_srcu8_dsts8_pluss8",
        "quantized_conv/n2c32h8w8k32r3s3u1v1p1q1g32_bias_relu_bound100_srcs8_dstu8",
        "quantized_conv/n2c8h6w6k20r3s3u1v1p1q1_bias_srcu8_real",
        "quantized_inner_product/n4c64k24_bias_relu_srcu8_dstu8",
        "quantized_inner_product/n4c64k24_bias_relu_bound100_srcu8_dstu8",
        "quantized_inner_product/n3c16h4w4k10_bias_srcs8_real",
        "quantize/2x16x7x7_typeu8_scale0.01", "quantize/2x3x7x7_types8_scale0.007",
        "dequantize/2x16x7x7_typeu8_scale0.3", "dequantize/5x7_types8_scale0.1"}) {
    SCOPED_TRACE(problem);
    const std::shared_ptr<const Op> op = ParseProblem(problem);
    EXPECT_EQ(std::string(op->kind()) + "/" + op->Problem(), problem);
    CheckOptions options;
    options.may_refuse = true;
    options.slack = 0;
    const KernelRequest request = RequestFor(op, {Pass::kForward, false, DataType::kU8}, 2);
    const auto verdict =
        CheckAgainstReference(ServingBackend("onednn", request), request, 3, options);
    EXPECT_NE(verdict, Verdict::kDiffers);
    ran += verdict == Verdict::kAgrees ? 1 : 0;
  }
  EXPECT_GE(ran, 4);  // the loops of quantize and dequantize run on every CPU
}

}  // namespace
}  // namespace topdnn
