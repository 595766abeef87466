// The variant native-channels of batch normalization.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/batchnorm/batchnorm.h"
#include "kernels/kernel/native.h"
#include "kernels/simd/vector_isa.h"
#include "tests/kernels/batchnorm_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

KernelRequest LoopsRequest(const BatchNormOp& op, const Execution& execution, int threads,
                           const char* tag) {
  KernelRequest request = RequestFor(std::make_shared<BatchNormOp>(op), execution, threads);
  request.algorithm = kChannelLoops;
  if (op.shape().rank() == 4) SettleImages(request, tag);
  return request;
}

// Several chunks of rows per image, results that are written past the caches (2 MiB or more),
// channels that fill vectors of 16, 8 or 4 lanes or part of a block, matrices, more threads than
// chunks.
TEST(BatchNormLoopsTest, AgreeWithTheReference) {
  for (const Shape& shape :
       {Shape{3, 32, 7, 6}, Shape{2, 20, 5, 5}, Shape{1, 8, 20, 19}, Shape{2, 24, 33, 31},
        Shape{5, 16, 1, 1}, Shape{9, 8}, Shape{4, 32, 66, 65}}) {
    for (const auto& [relu, bound] :
         {std::pair{false, 0.0F}, std::pair{true, 0.0F}, std::pair{true, 1.0F}}) {
      const BatchNormOp op(shape, 1e-3F, relu, bound);
      for (const auto& [pass, training] :
           {std::pair{Pass::kForward, true}, std::pair{Pass::kForward, false},
            std::pair{Pass::kBackwardData, true}}) {
        for (const char* tag : {"acdb", "aBcd16b", "aBcd8b"}) {
          for (const int threads : {1, 3}) {
            const bool large = shape.elements() >= 1 << 19;
            if (large && (threads == 1 || std::string(tag) != "acdb")) continue;
            const KernelRequest request = LoopsRequest(op, {pass, training}, threads, tag);
            EXPECT_EQ(CheckBatchNorm("native", request, 7), Verdict::kAgrees)
                << op.Problem() << tag;
          }
        }
      }
    }
  }
}

// Also if one value of a channel is extreme, or the first one is.
TEST(BatchNormLoopsTest, TheVarianceIsAccurate) {
  constexpr std::size_t kRows = 4096;
  for (const std::size_t extreme : {std::size_t{0}, kRows - 5}) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal(1000.0, 1.0);
    std::vector<double> src(4 * kRows);  // (1, 4, 64, 64)
    for (double& value : src) value = static_cast<double>(static_cast<float>(normal(random)));
    src[extreme] = 1500;
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < kRows; ++i) mean += src[i] / kRows;
    for (std::size_t i = 0; i < kRows; ++i) squares += std::pow(src[i] - mean, 2) / kRows;
    KernelRun run("native",
                  LoopsRequest(BatchNormOp(Shape{1, 4, 64, 64}), {Pass::kForward}, 2, "acdb"));
    ASSERT_NE(run.kernel(), nullptr) << run.refusal();
    run.Set(Arg::kSrc, src);
    run.Set(Arg::kScale, {1, 1, 1, 1});
    run.Set(Arg::kShift, {0, 0, 0, 0});
    run.Run();
    EXPECT_NEAR(run.Get(Arg::kVariance)[0], squares, 1e-6 * squares) << extreme;
    EXPECT_NEAR(run.Get(Arg::kMean)[0], mean, 1e-7 * mean) << extreme;
  }
}

TEST(BatchNormLoopsTest, MayOverwriteTheirSource) {
  for (const auto& [pass, to, from] : {std::tuple{Pass::kForward, Arg::kDst, Arg::kSrc},
                                       {Pass::kBackwardData, Arg::kDiffSrc, Arg::kDiffDst}}) {
    const KernelRequest request =
        LoopsRequest(BatchNormOp(Shape{3, 16, 20, 20}), {pass, true}, 2, "acdb");
    KernelRun apart("native", request);
    KernelRun in_place("native", request);
    ASSERT_NE(apart.kernel(), nullptr) << apart.refusal();
    in_place.Alias(to, from);
    for (KernelRun* run : {&apart, &in_place}) {
      run->SetInputs(RandomInputs(*request.op, request.execution, 8));
      run->Run();
    }
    EXPECT_EQ(apart.Get(to), in_place.Get(from));
  }
}

TEST(BatchNormLoopsTest, NanAndInfinityStayInTheirChannel) {
  for (const double bad : {static_cast<double>(NAN), HUGE_VAL}) {
    KernelRun run("native",
                  LoopsRequest(BatchNormOp(Shape{2, 4, 2, 2}, 1e-5F, true, 6), {}, 2, "acdb"));
    std::vector<double> src(32);
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<double>(i % 5);
    src[21] = bad;  // image 1, channel 1
    run.Set(Arg::kSrc, src);
    run.Set(Arg::kScale, {1, 1, 1, 1});
    run.Set(Arg::kShift, {0, 0, 0, 0});
    run.Run();
    const std::vector<double> dst = run.Get(Arg::kDst);
    for (std::size_t i = 0; i < dst.size(); ++i) {
      EXPECT_EQ(std::isnan(dst[i]), i / 4 % 4 == 1) << i;
    }
  }
}

TEST(BatchNormLoopsTest, WhatTheyDoNotComputeIsRefused) {
  const auto refusal = [](const KernelRequest& request) {
    return KernelRun("native", request).refusal();
  };
  const BatchNormOp op(Shape{2, 16, 3, 3});
  EXPECT_NE(
      refusal(LoopsRequest(op, {Pass::kForward, true, DataType::kBF16}, 1, "acdb")).find("in f32"),
      std::string::npos);
  EXPECT_NE(refusal(LoopsRequest(op, {}, 1, "abcd")).find("multiples of four"), std::string::npos);
  EXPECT_NE(refusal(LoopsRequest(BatchNormOp(Shape{2, 6, 3, 3}), {}, 1, "acdb"))
                .find("not 6 channels in acdb"),
            std::string::npos);
}

// Without a variant, the layout decides which loops compute a bounded ReLU.
TEST(BatchNormLoopsTest, ComputeABoundedReluInEachLayout) {
  if (WidestVectorIsa().empty()) GTEST_SKIP() << "the CPU has neither AVX2 nor AVX-512";
  const auto op = std::make_shared<BatchNormOp>(Shape{2, 16, 3, 3}, 1e-5F, true, 6.0F);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    KernelRequest request = RequestFor(op, {pass}, 1);
    EXPECT_EQ(KernelRun("native", request).kernel()->implementation(), "omp loops");
    EXPECT_EQ(CheckBatchNorm("native", request, 7), Verdict::kAgrees);
    SettleImages(request, "acdb");
    EXPECT_EQ(KernelRun("native", request).kernel()->implementation(), "channel loops");
    for (const char* backend : {"eigen", "onednn"}) {
      EXPECT_NE(KernelRun(backend, request).refusal().find("bounded"), std::string::npos)
          << backend;
    }
  }
}

}  // namespace
}  // namespace topdnn
