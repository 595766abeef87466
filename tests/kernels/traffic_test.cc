// Compulsory bytes, computed by hand.

#include "kernels/kernel/traffic.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kernels/kernel/registry.h"
#include "kernels/lrn/lrn.h"
#include "kernels/op/problem.h"
#include "kernels/pool/pool.h"
#include "kernels/softmax/cross_entropy.h"

namespace topdnn {
namespace {

std::int64_t BytesOf(const std::string& backend, std::shared_ptr<const Op> op,
                     const Execution& execution) {
  KernelOrRefusal answer = MakeKernel(backend, {std::move(op), execution, 1, {}, ""});
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    ADD_FAILURE() << refusal->reason;
    return 0;
  }
  return CompulsoryBytes(*std::get<std::unique_ptr<Kernel>>(answer));
}

// AlexNet's pool1 at batch 2: 2x96x55x55 = 580,800 elements in, 2x96x27x27 = 139,968 out.
class PoolTrafficTest : public testing::Test {
 protected:
  std::shared_ptr<const Op> pool_ = std::make_shared<PoolOp>(
      PoolAlgorithm::kMax,
      PoolExtents{.n = 2, .c = 96, .h = 55, .w = 55, .r = 3, .s = 3, .stride_h = 2, .stride_w = 2});
};

TEST_F(PoolTrafficTest, InferenceKeepsNoMaxima) {
  const Execution inference{Pass::kForward, false, DataType::kF32};
  for (const char* backend : {"reference", "onednn", "native"}) {
    EXPECT_EQ(BytesOf(backend, pool_, inference), 4 * (580'800 + 139'968)) << backend;  // 2.75 MiB
  }
  EXPECT_EQ(pool_->WorkIn(inference).bytes, 4 * (580'800 + 139'968));
}

// oneDNN stores the position in a window in one byte, the other backends in four.
TEST_F(PoolTrafficTest, TrainingKeepsThemInTheBackendsOwnType) {
  const Execution forward{Pass::kForward, true, DataType::kF32};
  const Execution backward{Pass::kBackwardData, true, DataType::kF32};
  for (const Execution& execution : {forward, backward}) {
    EXPECT_EQ(BytesOf("reference", pool_, execution), 4 * (580'800 + 139'968) + 4 * 139'968);
    EXPECT_EQ(BytesOf("onednn", pool_, execution), 4 * (580'800 + 139'968) + 139'968);
  }
}

// AlexNet's norm1 at batch 2: 580,800 elements in and out; the sums of squares are for training.
TEST(LrnTrafficTest, InferenceKeepsNoSums) {
  const auto norm = std::make_shared<LrnOp>(Shape{2, 96, 55, 55},
                                            LrnSettings{.size = 5, .alpha = 1e-4F, .beta = 0.75F});
  const Execution inference{Pass::kForward, false, DataType::kF32};
  for (const char* backend : {"reference", "onednn", "native"}) {
    EXPECT_EQ(BytesOf(backend, norm, inference), 4 * 2 * 580'800) << backend;  // 4.43 MiB
  }
  EXPECT_EQ(norm->WorkIn(inference).bytes, 4 * 2 * 580'800);
  EXPECT_EQ(BytesOf("reference", norm, {Pass::kForward, true, DataType::kF32}), 4 * 3 * 580'800);
}

// Half of 64 channels of 2x64x8x8 = 8,192 elements, forward; backward also writes the zeros of the
// other half. A matrix that is repeated, and one that gets a border, are read once.
TEST(SliceTrafficTest, OnlyTheSelectedElementsMove) {
  const auto half = ParseProblem("slice/2x64x8x8_start0x32x0x0_step1x1x1x1_extent2x32x8x8");
  for (const char* backend : {"reference", "onednn", "native", "eigen"}) {
    EXPECT_EQ(BytesOf(backend, half, {Pass::kForward}), 4 * (4'096 + 4'096)) << backend;
    EXPECT_EQ(BytesOf(backend, half, {Pass::kBackwardData}), 4 * (4'096 + 8'192)) << backend;
  }
  EXPECT_EQ(half->WorkIn({Pass::kForward}).bytes, 4 * (4'096 + 4'096));
  const auto bytes_of = [](const char* problem) {
    return ParseProblem(problem)->WorkIn({Pass::kForward}).bytes;
  };
  EXPECT_EQ(bytes_of("slice/5x3_start2x0_step0x1_extent4x3"), 4 * (3 + 12));
  EXPECT_EQ(bytes_of("slice/5x3_start0x0_step2x1_extent3x3"), 4 * (9 + 9));
  EXPECT_EQ(bytes_of("slice/2x3_start-1x-1_step1x1_extent4x5_fill0"), 4 * (6 + 20));
}

// A convolution of single pixels with strides of 2 reads a quarter of 2x64x56x56 = 401,408
// elements; its gradient by the source writes all of them. 64 * 128 weights, 2x128x28x28 = 200,704
// results.
TEST(WindowTrafficTest, ElementsOutsideAllWindowsDoNotMove) {
  const auto conv = ParseProblem("conv/n2c64h56w56k128r1s1u2v2p0q0");
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardWeights}) {
      EXPECT_EQ(BytesOf(backend, conv, {pass}), 4 * (100'352 + 8'192 + 200'704)) << backend;
    }
    EXPECT_EQ(BytesOf(backend, conv, {Pass::kBackwardData}), 4 * (401'408 + 8'192 + 200'704));
  }
  const auto bytes_of = [](const char* problem) {
    return ParseProblem(problem)->WorkIn({Pass::kForward, false}).bytes;
  };
  // Rows -1 to 1 and 3 to 5 of 5: four of them are in the image.
  EXPECT_EQ(bytes_of("conv/c1h5w5k1r3s3u4v4p1q1"), 4 * (16 + 9 + 4));
  // Rows 0, 1, 3 and 4 of 7, and all columns.
  EXPECT_EQ(bytes_of("pool/maxn1c2h7w8r2s2u3v2p0q0"), 4 * (2 * 4 * 8 + 2 * 2 * 4));
  EXPECT_EQ(bytes_of("conv_nd/1x2x5_to3_groups1_kernel1_stride2_dilation1_before0_after0"),
            4 * (2 * 3 + 6 + 3 * 3));
  // The last of 7 elements is not in a window.
  EXPECT_EQ(bytes_of("pool_nd/max1x2x7_kernel2_stride2_dilation1_before0_after0"),
            4 * (2 * 6 + 2 * 3));
  // Elements 0, 3, 2, 5, 4 and 7 of 8.
  EXPECT_EQ(bytes_of("conv_nd/1x1x8_to1_groups1_kernel2_stride2_dilation3_before0_after0"),
            4 * (6 + 2 + 3));
}

// At most a row of src for each index, and each row once.
TEST(GatherTrafficTest, OnlyTheGatheredRowsMove) {
  const auto few = ParseProblem("gather/8x1000x64_count5");
  for (const char* backend : {"reference", "native", "eigen"}) {
    EXPECT_EQ(BytesOf(backend, few, {}), 4 * (8 * 5 * 64 + 5 + 8 * 5 * 64)) << backend;
  }
  EXPECT_EQ(ParseProblem("gather/2x3x4_count7")->WorkIn({}).bytes, 4 * (24 + 7 + 2 * 7 * 4));
}

TEST(CrossEntropyTrafficTest, InferenceHasNoGradient) {
  const SoftmaxCrossEntropyOp loss(64, 10);
  EXPECT_EQ(loss.WorkIn({Pass::kForward, false, DataType::kF32}).bytes, 4 * (640 + 64 + 1));
  EXPECT_EQ(loss.WorkIn({Pass::kForward, true, DataType::kF32}).bytes, 4 * (640 + 64 + 1 + 640));
}

}  // namespace
}  // namespace topdnn
