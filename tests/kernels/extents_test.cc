#include "kernels/tensor/extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "kernels/op/problem.h"

namespace topdnn {
namespace {

TEST(ExtentsTest, TensorsUpToTheLimitAreAccepted) {
  EXPECT_NO_THROW(CheckExtents("relu", Shape{}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{1, 1, 1}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{kMaxElements}));
  EXPECT_NO_THROW(CheckExtents("relu", Shape{1 << 24, 1 << 24}));
}

TEST(ExtentsTest, ImpossibleShapesAreRefusedWithNameAndShape) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const Shape& shape : {Shape{0}, Shape{3, -1}, Shape{kMaxElements + 1},
                             Shape{(1 << 24) + 1, 1 << 24}, Shape{kMax, kMax, kMax}}) {
    try {
      CheckExtents("relu", shape);
      ADD_FAILURE() << shape.ToString();
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find("relu of " + shape.ToString()), 0u) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(ExtentsTest, WorkThatDoesNotFit64BitsIsRefused) {
  EXPECT_NO_THROW(CheckWork("conv", {std::int64_t{1} << 30, std::int64_t{1} << 30}));
  EXPECT_THROW(CheckWork("conv", {std::int64_t{1} << 30, std::int64_t{1} << 30, 2}),
               std::invalid_argument);
  EXPECT_THROW(CheckWork("conv", {kMaxElements, kMaxElements}), std::invalid_argument);
}

TEST(ExtentsTest, SoftmaxOfTooManyElementsIsRefused) {
  for (const std::string operation : {"softmax", "softmax_cross_entropy"}) {
    try {
      ParseProblem(operation + "/n4294967296k4294967296");
      ADD_FAILURE() << operation;
    } catch (const ProblemError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("at most 281474976710656 elements"));
    }
  }
}

// In each product one of the limits is exceeded: that of the source, the weights, the result or the
// number of multiply-accumulates.
TEST(ExtentsTest, ProductsWhoseCountsDoNotFit64BitsAreRefused) {
  using testing::HasSubstr;
  for (const auto& [problem, what] : std::map<std::string, std::string>{
           {"inner_product/n16777216c33554432k1", "inner product of 16777216x33554432"},
           {"inner_product/n1c16777216k33554432", "inner product, weights of 33554432x16777216"},
           {"inner_product/n16777216c1k33554432", "inner product, result of 16777216x33554432"},
           {"inner_product/n4194304c1048576k1048576", "inner product of 4398046511104 x 1048576"},
           {"gemm/m16777216n1k33554432", "gemm, A of 16777216x33554432"},
           {"gemm/m1n16777216k33554432", "gemm, B of 33554432x16777216"},
           {"gemm/m16777216n33554432k1", "gemm, C of 16777216x33554432"},
           {"gemm/b4m1048576n1048576k1048576", "gemm of 4 x 1048576 x 1048576 x 1048576 steps"}}) {
    try {
      ParseProblem(problem);
      ADD_FAILURE() << problem;
    } catch (const ProblemError& error) {
      EXPECT_THAT(error.what(), HasSubstr(what)) << problem;
    }
  }
}

// Without the limit, extents that overflow in a formula would be printed wrongly.
TEST(ExtentsTest, HugeWindowsAreRefusedWithTheirExtents) {
  const std::string huge = "9223372036854775807";
  for (const std::string& problem :
       {"conv/n1c1h" + huge + "w1k1r1p1", "conv/n1c1h8w8k1r3p" + huge, "conv/n1c1h8k1r3u" + huge,
        "conv/n1c1h8k1r3p1d" + huge, "conv/n1c1h8k1r" + huge + "p4",
        "conv/n" + huge + "c" + huge + "h8k1r1", std::string("conv/n1c1048576h4096k1048576r3p1"),
        "pool/maxn1c1h" + huge + "w8r2", "pool/maxn1c1h8r" + huge + "p1",
        "pool/maxn1c1h8r2u" + huge, "pool/maxn" + huge + "c1h8r2"}) {
    try {
      ParseProblem(problem);
      ADD_FAILURE() << problem;
    } catch (const ProblemError& error) {
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("-"))) << problem;
    }
  }
}

}  // namespace
}  // namespace topdnn
