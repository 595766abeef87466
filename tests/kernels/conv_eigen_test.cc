// How the Eigen convolution divides the images of a gradient among threads and memory. The figures
// are worked out by hand from TensorFlow 2.5: conv_grad_input_ops.cc and conv_grad_filter_ops.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/conv/group_by_group.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr ConvEpilogue kNoBias{.bias = false};

KernelRun RunOf(const ConvExtents& e, Pass pass, int threads, const std::string& algorithm = "") {
  KernelRequest request = RequestFor(std::make_shared<ConvOp>(e, kNoBias), {pass}, threads);
  request.algorithm = algorithm;
  return {"eigen", request};
}

std::string AlgorithmOf(const ConvExtents& e, Pass pass, int threads) {
  const std::string name = RunOf(e, pass, threads).kernel()->implementation();
  return name.substr(0, name.find(':'));
}

std::size_t ElementsOfCol(const ConvExtents& e, Pass pass, int threads) {
  return RunOf(e, pass, threads).kernel()->run_scratch_bytes() / sizeof(float);
}

// conv2 of the network cnn: 13x13 outputs of 288-element patches and 64 channels, together
// 48,672 + 10,816 + 18,432 = 77,920 elements: 304 KiB on one thread, 152 KiB on each of two.
constexpr ConvExtents kConv2{.n = 32, .c = 32, .h = 15, .w = 15, .k = 64, .r = 3, .s = 3};

TEST(ConvEigenTest, ThreadsShareAProductFrom256KibOfWorkEach) {
  EXPECT_EQ(AlgorithmOf(kConv2, Pass::kBackwardData, 1), "contraction+col2im");
  EXPECT_EQ(AlgorithmOf(kConv2, Pass::kBackwardData, 2), "sharded_gemm+col2im");
  // One image cannot be divided.
  ConvExtents one = kConv2;
  one.n = 1;
  EXPECT_EQ(AlgorithmOf(one, Pass::kBackwardData, 2), "contraction+col2im");
  // 255 outputs of 255-element patches and 256 channels: 65,025 + 65,280 + 65,280 = 195,585, less
  // than 3 * 65,536 = 196,608 by 1,023. Three threads have 65,195 each.
  ConvExtents below{.n = 2, .c = 255, .h = 255, .w = 1, .k = 256};
  EXPECT_EQ(AlgorithmOf(below, Pass::kBackwardData, 3), "sharded_gemm+col2im");
  // With 258 channels it is 196,605, which is 65,535 for each thread; with 259 it is 197,115.
  below.k = 258;
  EXPECT_EQ(AlgorithmOf(below, Pass::kBackwardData, 3), "sharded_gemm+col2im");
  below.k = 259;
  EXPECT_EQ(AlgorithmOf(below, Pass::kBackwardData, 3), "contraction+col2im");
}

// 30 MiB are 7,864,320 elements.
TEST(ConvEigenTest, ShardsHoldTheImagesOf30MibRoundedUp) {
  // 82x82 outputs of 216-element patches and 2 channels: 1,452,384 + 13,448 + 432 = 1,466,264
  // elements an image, of which 30 MiB hold 5.36.
  const ConvExtents large{.n = 12, .c = 24, .h = 84, .w = 84, .k = 2, .r = 3, .s = 3};
  EXPECT_EQ(ElementsOfCol(large, Pass::kBackwardWeights, 2), 6U * 1'452'384);
  // 30 MiB hold 100.9 images of conv2, whose patches are 48,672 elements.
  ConvExtents many = kConv2;
  many.n = 200;
  EXPECT_EQ(ElementsOfCol(many, Pass::kBackwardWeights, 2), 101U * 48'672);
  EXPECT_EQ(ElementsOfCol(many, Pass::kBackwardData, 2), 101U * 48'672);
  EXPECT_EQ(ElementsOfCol(many, Pass::kBackwardData, 1), 48'672U);  // image by image
  EXPECT_EQ(ElementsOfCol(kConv2, Pass::kBackwardData, 2), 32U * 48'672);
}

// More images than a shard has, and a last shard that is not full.
TEST(ConvEigenTest, ShardsOfImagesAgreeWithTheReference) {
  const ConvExtents e{.n = 45, .c = 1, .h = 40, .w = 44, .k = 1, .r = 11, .s = 13};
  EXPECT_EQ(ElementsOfCol(e, Pass::kBackwardWeights, 2), 45U * 137'280);
  ConvExtents shards = e;
  shards.n = 60;  // 137,280 + 960 + 143 elements an image: 57 images a shard
  EXPECT_EQ(ElementsOfCol(shards, Pass::kBackwardWeights, 2), 57U * 137'280);
  const auto op = std::make_shared<ConvOp>(shards, kNoBias);
  for (const Pass pass : {Pass::kBackwardData, Pass::kBackwardWeights}) {
    EXPECT_EQ(CheckAgainstReference("eigen", RequestFor(op, {pass}, 3), 5), Verdict::kAgrees);
  }
}

// TensorFlow has no matrix product for the gradients of a 1x1 convolution.
TEST(ConvEigenTest, MatrixProductsOfGradientsAreAVariant) {
  const ConvExtents pointwise{.n = 2, .c = 65, .h = 17, .w = 19, .k = 33};
  EXPECT_EQ(AlgorithmOf(pointwise, Pass::kForward, 2), "matmul");
  EXPECT_EQ(AlgorithmOf(pointwise, Pass::kBackwardData, 2), "sharded_gemm+col2im");
  EXPECT_EQ(AlgorithmOf(pointwise, Pass::kBackwardWeights, 2), "im2col+contraction");
  const auto variant = FindVariant("eigen-matmul");
  ASSERT_TRUE(variant);
  for (const Pass pass : {Pass::kBackwardData, Pass::kBackwardWeights}) {
    const auto request = RequestOf(*variant, std::make_shared<ConvOp>(pointwise), {pass}, 2);
    ASSERT_TRUE(request);
    EXPECT_EQ(KernelRun("eigen", *request).kernel()->implementation().find("matmul:"), 0U);
    EXPECT_EQ(CheckAgainstReference("eigen", *request, 5), Verdict::kAgrees);
  }
  EXPECT_NE(RunOf(pointwise, Pass::kForward, 2, "matmul").refusal().find("forward always uses it"),
            std::string::npos);
  EXPECT_NE(RunOf(kConv2, Pass::kBackwardData, 2, "matmul").refusal().find("single positions"),
            std::string::npos);
}

// A grouped convolution moves each activation once, for all groups.
TEST(ConvEigenTest, GroupsAreSwappedTogether) {
  const ConvExtents e{.n = 2, .c = 12, .h = 5, .w = 4, .k = 6, .r = 3, .s = 3, .groups = 3};
  const auto op = std::make_shared<ConvOp>(e, kNoBias);
  std::vector<std::vector<std::int64_t>> swaps;
  const auto count = [&](std::int64_t outer, std::int64_t middle, std::int64_t inner, const float*,
                         float*) {
    swaps.push_back({outer, middle, inner});
  };
  KernelOrRefusal made = MakeGroupByGroup(
      RequestFor(op, {Pass::kForward}, 2), *op,
      [](const KernelRequest& request) { return MakeKernel("eigen", request); },
      [&]() -> SwapOuter { return count; });
  const auto& kernel = std::get<std::unique_ptr<Kernel>>(made);
  std::map<Arg, AlignedMemory> owned;
  std::map<Arg, void*> memory;
  for (const KernelOperand& operand : kernel->operands()) {
    memory[operand.arg] = (owned[operand.arg] = AlignedMemory(operand.desc.bytes())).data();
  }
  kernel->Prepare(memory);
  kernel->Run();
  EXPECT_THAT(swaps, testing::ElementsAre(std::vector<std::int64_t>{2 * 5 * 4, 3, 4},
                                          std::vector<std::int64_t>{3, 2 * 3 * 2, 2}));
}

}  // namespace
}  // namespace topdnn
