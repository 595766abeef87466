#include "kernels/op/element.h"

#include <gtest/gtest.h>

#include "kernels/op/problem.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// Each single element must be the one in the result of the whole reference.
TEST(ElementTest, EveryElementAgreesWithTheReference) {
  for (const std::string problem :
       {"conv/n2c6h7w5k4r3s2u2v1p1q0P2Q1d1e2g2_bias_sum_relu", "conv/n1c3h5w5k2r3s3",
        "conv/n2c4h3w5k6r1s1g2_bias_relu", "conv/n2c4h3w5k6r1s1u2v1", "conv/n2c4h3w5k6r1s1p1q1P1Q1",
        "gemm/m3n5k4_ta_alpha2_beta0.5", "gemm/b2m3n2k4_tb", "matmul/2x1x3x4_by1x5x4x2",
        "conv_nd/2x4x7_to6_groups2_kernel3_stride2_dilation2_before2_after1",
        "conv_nd/"
        "1x2x5x6x7_to4_groups1_kernel3x2x3_stride1x2x1_dilation1x1x2_before1x0x2_after1x1x0",
        "conv_transpose/2x4x7x6_to6_groups2_kernel3x2_stride2x3_dilation1x2_before1x1_after1x0",
        "matmul/2x3x4_by1x4x5_constant", "inner_product/n3c4k5_bias",
        "inner_product/n2c3h2w2k5_relu", "inner_product/n2c6k7_bias_relu_bound0.5"}) {
    const auto op = ParseProblem(problem);
    const ElementFunction element = FindElement(op->kind());
    ASSERT_NE(element, nullptr) << problem;
    for (const Pass pass : kAllPasses) {
      if (!op->Has({pass})) continue;
      const KernelRequest request = RequestFor(op, {pass, true, DataType::kF64}, 1);
      const Values inputs = RandomInputs(*op, request.execution, 3);
      for (const auto& [arg, expected] : ReferenceResults(request, inputs)) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(element(*op, pass, inputs, arg, static_cast<std::int64_t>(i)), expected[i])
              << problem << " " << NameOf(pass) << " " << NameOf(arg) << "[" << i << "]";
        }
      }
    }
  }
}

TEST(ElementTest, PoolingHasNoElementFunction) { EXPECT_EQ(FindElement("pool"), nullptr); }

}  // namespace
}  // namespace topdnn
