// The model of an allreduce: its terms, its fit, and what a step exposes, computed by hand.

#include "bench/ranks/allreduce_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace topdnn {
namespace {

using testing::DoubleNear;

// 1 us and 1 GB/s; 4 ranks, 8000 bytes.
TEST(AllreduceModel, TermsOfTheAlgorithms) {
  const auto microseconds = [](AllreduceAlgorithm algorithm, int ranks) {
    return AllreduceModel{algorithm, 1e-6, 1e-9, 0}.SecondsOf(ranks, 8000) * 1e6;
  };
  // 6 messages of 2000 bytes; 2 of 8000; 4 with 12000 in all.
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRing, 4), DoubleNear(18, 1e-9));
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRecursiveDoubling, 4), DoubleNear(18, 1e-9));
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRabenseifner, 4), DoubleNear(16, 1e-9));
  // 14 messages of 1000 bytes; 3 of 8000; 6 with 14000 in all.
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRing, 8), DoubleNear(28, 1e-9));
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRecursiveDoubling, 8), DoubleNear(27, 1e-9));
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRabenseifner, 8), DoubleNear(20, 1e-9));
  EXPECT_EQ(microseconds(AllreduceAlgorithm::kRing, 1), 0);
  EXPECT_THAT(microseconds(AllreduceAlgorithm::kRecursiveDoubling, 3), DoubleNear(18, 1e-9));
}

TEST(AllreduceModel, FindsTheAlgorithmOfThePoints) {
  for (const AllreduceAlgorithm algorithm : kAllreduceAlgorithms) {
    const AllreduceModel truth{algorithm, 3e-6, 2e-10, 0};
    std::vector<AllreducePoint> points;
    for (const int ranks : {2, 4, 8}) {
      for (const std::int64_t bytes : {1000, 100000, 10000000}) {
        points.push_back({ranks, bytes, truth.SecondsOf(ranks, bytes)});
      }
    }
    const auto models = FitAllreduce(points);
    ASSERT_EQ(models.size(), 3U);
    EXPECT_EQ(models[0].algorithm, algorithm);
    EXPECT_THAT(models[0].latency, DoubleNear(3e-6, 1e-12));
    EXPECT_THAT(models[0].seconds_per_byte, DoubleNear(2e-10, 1e-16));
    EXPECT_THAT(models[0].residual, DoubleNear(0, 1e-9));
    EXPECT_GT(models[1].residual, 0.01);
  }
}

TEST(AllreduceModel, HasNoNegativeParameters) {
  // The time grows faster than the bytes, so the best line has a negative latency.
  const std::vector<AllreducePoint> convex = {{2, 1000, 1e-6}, {2, 2000, 4e-6}};
  for (const AllreduceModel& model : FitAllreduce(convex)) {
    EXPECT_EQ(model.latency, 0);
    EXPECT_GT(model.seconds_per_byte, 0);
    EXPECT_GT(model.residual, 0.1);
  }
  const std::vector<AllreducePoint> falling = {{2, 1000, 4e-6}, {2, 2000, 1e-6}};
  for (const AllreduceModel& model : FitAllreduce(falling)) {
    EXPECT_EQ(model.seconds_per_byte, 0);
    EXPECT_GT(model.latency, 0);
  }
}

TEST(AllreduceModel, ExposesWhatTheBackwardPassDoesNotHide) {
  const AllreduceModel model{AllreduceAlgorithm::kRecursiveDoubling, 1, 0.001, 0};
  // Sums of 2 s from 4 s to 6 s, and of 3 s from 6 s (not 5 s) to 9 s; the backward pass ends at 7
  // s.
  const std::vector<ReadyBucket> buckets = {{4, 1000}, {5, 2000}};
  EXPECT_THAT(ExposedSeconds(buckets, 7, model, 2), DoubleNear(2, 1e-12));
  EXPECT_EQ(ExposedSeconds(buckets, 10, model, 2), 0);
  EXPECT_EQ(ExposedSeconds(buckets, 7, model, 1), 0);
}

TEST(AllreduceModel, TheLongestOfManyDrawsIsExpected) {
  const std::vector<double> samples = {4, 2};
  EXPECT_EQ(ExpectedLongest(samples, 1), 3);
  EXPECT_EQ(ExpectedLongest(samples, 2), 3.5);  // both are 2 in one of four draws
  EXPECT_THAT(ExpectedLongest(samples, 4096), DoubleNear(4, 1e-9));
}

}  // namespace
}  // namespace topdnn
