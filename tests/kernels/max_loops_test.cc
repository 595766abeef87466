// The variant native-channels of max pooling: its results, winners and gradients are those of
// oneDNN's own kernels, bit for bit.

#include "kernels/pool/max_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/check/random_inputs.h"
#include "kernels/kernel/native.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/problem.h"
#include "kernels/pool/pool.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

KernelRequest Loops(const std::string& problem, const Execution& execution, int threads,
                    const std::string& layout) {
  return RequestOnImages("pool/" + problem, kChannelLoops, execution, threads, layout);
}

// Strides, padding on some sides, windows beyond it, channels that fill no vector or part of a
// block, and enough elements for several threads.
const char* const kMaxProblems[] = {
    "maxn2c16h7w9r3s3u1v1p1q1",       "maxn1c20h12w11r3s2u2v1p1q0P0Q1",
    "maxn3c37h9w8r2s3u3v2p0q1P1Q1",   "maxn2c5h6w6r3s3u2v2p1q1_ceil",
    "maxn1c96h33w31r3s3u2v2p0q0P1Q1", "maxn1c32h5w4r5s4u1v1p0q0"};

TEST(MaxLoopsTest, AgreeWithTheReferenceAndGiveTheGradientItsWinners) {
  for (const std::string problem : kMaxProblems) {
    for (const std::string layout : {"acdb", "aBcd8b", "aBcd16b"}) {
      for (const int threads : {1, 2}) {
        const KernelRequest inference = Loops(problem, {Pass::kForward, false}, threads, layout);
        EXPECT_EQ(CheckAgainstReference("native", inference, 1), Verdict::kAgrees)
            << problem << layout;
        const KernelRequest training = Loops(problem, {Pass::kForward, true}, threads, layout);
        KernelRequest own = training;
        own.algorithm.clear();
        KernelRun ours("native", training), theirs("onednn", own);
        ASSERT_NE(ours.kernel(), nullptr) << ours.refusal();
        ASSERT_NE(theirs.kernel(), nullptr) << theirs.refusal();
        Values inputs = RandomInputs(*training.op, training.execution, 2);
        // (every fifth element is equal to others of its window: the first one wins)
        auto& src = inputs.at(Arg::kSrc);
        for (std::size_t i = 0; i < src.size(); i += 5) src[i] = 1.5;
        for (KernelRun* run : {&ours, &theirs}) {
          run->SetInputs(inputs);
          run->Run();
        }
        EXPECT_TRUE(ours.DescOf(Arg::kWorkspace) == theirs.DescOf(Arg::kWorkspace));
        EXPECT_EQ(ours.Get(Arg::kDst), theirs.Get(Arg::kDst)) << problem << layout;
        EXPECT_EQ(ours.Get(Arg::kWorkspace), theirs.Get(Arg::kWorkspace)) << problem << layout;
      }
    }
  }
}

// For each window and stride that has a gradient: padding on each side and on none, a last row and
// column in no window, a window beyond the image, channels that fill no vector, several threads.
const char* const kGradientProblems[] = {
    "maxn2c20h8w6r2s2u2v2",         "maxn1c37h9w7r2s2u2v2",           "maxn2c16h7w8r2s2u2v2p1q1",
    "maxn1c8h5w5r2s2u2v2_ceil",     "maxn2c20h8w6r3s3u2v2p1q1",       "maxn1c37h12w11r3s3u2v2",
    "maxn1c16h7w6r3s3u2v2p0q1P1Q0", "maxn1c8h6w6r3s3u2v2_ceil",       "maxn2c20h7w6r3s3u1v1p1q1",
    "maxn1c37h5w9r3s3u1v1",         "maxn1c64h33w31r3s3u2v2p0q0P1Q1", "maxn1c64h30w31r2s2u2v2",
    "maxn1c64h28w28r3s3u1v1p1q1"};

TEST(MaxLoopsTest, TheirGradientsAreThoseOfOneDnn) {
  for (const std::string problem : kGradientProblems) {
    for (const std::string layout : {"acdb", "aBcd8b", "aBcd16b"}) {
      for (const int threads : {1, 2}) {
        const KernelRequest request = Loops(problem, {Pass::kBackwardData}, threads, layout);
        EXPECT_EQ(CheckAgainstReference("native", request, 1), Verdict::kAgrees)
            << problem << layout;
        KernelRequest own = request;
        own.algorithm.clear();
        KernelRun ours("native", request), theirs("onednn", own);
        ASSERT_NE(ours.kernel(), nullptr) << ours.refusal();
        ASSERT_NE(theirs.kernel(), nullptr) << theirs.refusal();
        EXPECT_TRUE(ours.DescOf(Arg::kWorkspace) == theirs.DescOf(Arg::kWorkspace));
        const Values inputs = RandomInputs(*request.op, request.execution, 2);
        for (KernelRun* run : {&ours, &theirs}) {
          run->SetInputs(inputs);
          run->Run();
        }
        EXPECT_EQ(ours.Get(Arg::kDiffSrc), theirs.Get(Arg::kDiffSrc)) << problem << layout;
      }
    }
  }
}

TEST(MaxLoopsTest, TheFirstNanWins) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  KernelRun run("native", Loops("maxn1c4h1w3r1s3u1v1", {Pass::kForward, true}, 1, "acdb"));
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  run.Set(Arg::kSrc, {1, kNan, 3,     // channel by channel
                      5, 5, 2,        //
                      kNan, 9, kNan,  //
                      -4, -3, -2});
  run.Run();
  EXPECT_THAT(run.Get(Arg::kDst), testing::ElementsAre(testing::IsNan(), 5, testing::IsNan(), -2));
  EXPECT_THAT(run.Get(Arg::kWorkspace), testing::ElementsAre(1, 0, 0, 2));
}

TEST(MaxLoopsTest, WhatTheyDoNotComputeIsRefused) {
  const Execution forward{Pass::kForward, true};
  const auto refusal = [](const KernelRequest& request) {
    return KernelRun("native", request).refusal();
  };
  EXPECT_THAT(refusal(Loops("averagen1c16h4w4r2s2", forward, 1, "acdb")), HasSubstr("a maximum"));
  for (const std::string problem : {"maxn1c16h9w9r3s3u3v3", "maxn1c16h9w9r3s2u2v2",
                                    "maxn1c16h9w9r2s2u2v1", "maxn1c16h9w9r2s2u1v1"}) {
    EXPECT_THAT(refusal(Loops(problem, {Pass::kBackwardData}, 1, "acdb")),
                HasSubstr("have gradients for windows of 2x2"));
  }
  EXPECT_THAT(
      refusal(Loops("maxn1c16h4w4r2s2", {Pass::kForward, true, DataType::kBF16}, 1, "acdb")),
      HasSubstr("in f32"));
  EXPECT_THAT(refusal(Loops("maxn1c3h4w4r2s2", forward, 1, "acdb")), HasSubstr("four channels"));
  EXPECT_THAT(refusal(Loops("maxn1c16h4w4r2s2", forward, 1, "abcd")), HasSubstr("four channels"));
  EXPECT_THAT(refusal(Loops("maxn1c16h16w16r16s16", forward, 1, "acdb")), HasSubstr("255"));
  KernelRequest mixed = Loops("maxn1c16h4w4r2s2", forward, 1, "acdb");
  mixed.layouts[Arg::kDst] = *Layout::Parse("aBcd16b");
  EXPECT_THAT(refusal(mixed), HasSubstr("one layout"));
}

TEST(MaxLoopsTest, AreAVariantOfNative) {
  const auto variant = FindVariant("native-channels");
  ASSERT_TRUE(variant);
  const auto op = ParseProblem("pool/maxn1c16h4w4r2s2");
  const auto request = RequestOf(*variant, op, {Pass::kForward, true}, 2);
  ASSERT_TRUE(request);
  KernelRun run("native", *request);
  ASSERT_NE(run.kernel(), nullptr) << run.refusal();
  EXPECT_EQ(run.kernel()->implementation(), "channel loops");
  EXPECT_EQ(run.DescOf(Arg::kSrc).layout, Layout::ChannelsLast(4));
}

}  // namespace
}  // namespace topdnn
