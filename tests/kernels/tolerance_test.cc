// The allowed difference of results, computed by hand from the formula's source.

#include "kernels/check/tolerance.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/flatten/flatten.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reorder/reorder.h"
#include "kernels/slice/slice.h"
#include "kernels/transpose/transpose.h"

namespace topdnn {
namespace {

constexpr double kInfiniteError = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ToleranceTest, GrowsWithTheRootOfTheAccumulationLength) {
  // 4 * 3 * 3 terms: 4 * (4 + 6) roundings.
  const ConvOp op({.n = 1, .c = 4, .h = 8, .w = 8, .k = 5, .r = 3, .s = 3});
  const auto of = [&](DataType type, std::string_view algorithm = {}) {
    return Tolerance(op, {Pass::kForward, true, type}, algorithm);
  };
  EXPECT_DOUBLE_EQ(of(DataType::kF32), 40 * 0x1p-24);
  EXPECT_DOUBLE_EQ(of(DataType::kF64), 40 * 0x1p-53);
  EXPECT_DOUBLE_EQ(of(DataType::kF32, "winograd"), 640 * 0x1p-24);
  // The sums of a narrow type are f32.
  EXPECT_DOUBLE_EQ(of(DataType::kBF16), 40 * 0x1p-24);
  EXPECT_DOUBLE_EQ(of(DataType::kF16), 40 * 0x1p-24);
  EXPECT_EQ(of(DataType::kS8), 0);
  EXPECT_EQ(of(DataType::kU8), 0);
  // The gradient of the weights sums 6 * 6 outputs: the same length.
  EXPECT_DOUBLE_EQ(Tolerance(op, {Pass::kBackwardWeights, true, DataType::kF32}), 40 * 0x1p-24);
}

// The unit roundoff of bf16 is 2^-8, and of f16 2^-11.
TEST(ToleranceTest, ResultsOfANarrowTypeAreRoundedEachByItself) {
  const ConvOp op({.c = 4, .h = 8, .w = 8, .k = 5, .r = 3, .s = 3});
  const auto of = [&](DataType type) { return RoundingOfResults(op, Pass::kForward, type); };
  EXPECT_EQ(of(DataType::kF32), 0);
  EXPECT_EQ(of(DataType::kF64), 0);
  EXPECT_EQ(of(DataType::kS8), 0);
  EXPECT_DOUBLE_EQ(of(DataType::kBF16), 2 * 0x1p-8);
  EXPECT_DOUBLE_EQ(of(DataType::kF16), 2 * 0x1p-11);
}

// Copies and choices of elements have no rounding in any type.
TEST(ToleranceTest, MovesAreExact) {
  const Shape image{2, 3, 4, 4};
  const PoolExtents apart{
      .n = 2, .c = 3, .h = 4, .w = 4, .r = 2, .s = 2, .stride_h = 2, .stride_w = 2};
  PoolExtents overlapping = apart;
  overlapping.stride_h = 1;
  const Execution forward{Pass::kForward, true, DataType::kF32};
  const Execution backward{Pass::kBackwardData, true, DataType::kF32};
  const std::vector<std::pair<std::unique_ptr<Op>, Execution>> exact = [&] {
    std::vector<std::pair<std::unique_ptr<Op>, Execution>> all;
    for (const Execution& execution : {forward, backward}) {
      all.emplace_back(std::make_unique<ConcatOp>(std::vector{image, image}, 1), execution);
      all.emplace_back(std::make_unique<FlattenOp>(image), execution);
      all.emplace_back(std::make_unique<TransposeOp>(image, std::vector{0, 2, 3, 1}), execution);
      all.emplace_back(std::make_unique<ReluOp>(image), execution);
      all.emplace_back(std::make_unique<PoolOp>(PoolAlgorithm::kMax, apart), execution);
      all.emplace_back(std::make_unique<SliceOp>(Shape{5}, std::vector<SliceAxis>{{4, -2, 3}}),
                       execution);
    }
    all.emplace_back(
        std::make_unique<ReduceOp>(ReduceAlgorithm::kMax, image, std::vector<int>{2, 3}), forward);
    all.emplace_back(std::make_unique<InterpolateOp>(RepeatPixels(image, {2, 2})), forward);
    all.emplace_back(std::make_unique<ReorderOp>(image, DataType::kF32, DataType::kF32), forward);
    all.emplace_back(std::make_unique<ReorderOp>(image, DataType::kBF16, DataType::kF32), forward);
    all.emplace_back(std::make_unique<PoolOp>(PoolAlgorithm::kMax, overlapping), forward);
    return all;
  }();
  for (const auto& [op, execution] : exact) {
    EXPECT_EQ(Tolerance(*op, execution), 0) << op->kind();
    EXPECT_EQ(RoundingOfResults(*op, execution.pass, DataType::kBF16), 0) << op->kind();
  }
  EXPECT_GT(Tolerance(PoolOp(PoolAlgorithm::kMax, overlapping), backward), 0);
  EXPECT_GT(Tolerance(PoolOp(PoolAlgorithm::kAverage, apart), forward), 0);
  EXPECT_GT(Tolerance(RepeatPixels(image, {2, 2}), backward), 0);
  EXPECT_GT(Tolerance(SliceOp(Shape{5}, {{0, 0, 3}}), backward), 0);  // an element three times
  EXPECT_GT(Tolerance(SliceOp(Shape{5}, {{-1, 1, 3}}, SliceBorder::kEdge), backward), 0);
  EXPECT_GT(Tolerance(ReorderOp(image, DataType::kF32, DataType::kBF16), forward), 0);
  EXPECT_GT(Tolerance(ReluOp(image, 0.3F), forward), 0);
  EXPECT_GT(Tolerance(SigmoidOp(image), forward), 0);
}

double Error(std::array<double, 2> a, std::array<double, 2> b, double scale = 0) {
  return RelativeError(a, b, scale);
}

TEST(RelativeErrorTest, IsOfTheLargestEntry) {
  EXPECT_DOUBLE_EQ(Error({1, 2.5}, {1, 2}), 0.25);
  EXPECT_DOUBLE_EQ(Error({1.5, -4}, {1, -4}), 0.125);
  EXPECT_DOUBLE_EQ(Error({1, 2.5}, {1, 2}, 10), 0.05);
  EXPECT_DOUBLE_EQ(Error({1, 2.5}, {1, 2}, 1), 0.25);  // (a scale below the entries)
  EXPECT_EQ(Error({0, 0}, {0, 0}), 0);
  EXPECT_EQ(Error({0, 1e-300}, {0, 0}), kInfiniteError);
}

// The allowed rounding is 1/256 of each element itself, not of the largest element.
TEST(RelativeErrorTest, TheRoundingIsOfEachElement) {
  const auto error = [](std::array<double, 2> a, std::array<double, 2> b) {
    return RelativeError(a, b, 0, 0x1p-8);
  };
  EXPECT_EQ(error({1 + 0x1p-8, 100}, {1, 100}), 0);
  EXPECT_DOUBLE_EQ(error({1.5, 100}, {1, 100}), (0.5 - 0x1p-8) / 100);
  EXPECT_EQ(error({1, 100.25}, {1, 100}), 0);
}

TEST(RelativeErrorTest, NonFiniteElementsMustBeTheSame) {
  EXPECT_EQ(Error({kNan, 1}, {kNan, 1}), 0);
  EXPECT_EQ(Error({kInfiniteError, 1}, {kInfiniteError, 1}), 0);
  EXPECT_EQ(Error({kNan, 1}, {2, 1}), kInfiniteError);
  EXPECT_EQ(Error({2, 1}, {kNan, 1}), kInfiniteError);
  EXPECT_EQ(Error({kInfiniteError, 1}, {-kInfiniteError, 1}), kInfiniteError);
  EXPECT_EQ(Error({1, kInfiniteError}, {1, 5}), kInfiniteError);
}

TEST(ToleranceTest, TheFirstWrongElementHasItsIndexAndBothValues) {
  const Shape shape{2, 1, 3};
  const std::vector<double> expected = {1, 2, 4, -8, 0, 3};
  std::vector<double> values = expected;
  values[1] += 0.07;   // within a hundredth of the largest entry, 8
  values[4] = -0.125;  // (1,0,1), the first over it
  values[5] = 9;
  EXPECT_EQ(FirstWrongElement(values, expected, 0.01, 0, 0, shape),
            "(1,0,1) is -0.125 instead of 0");
  EXPECT_EQ(FirstWrongElement(values, expected, 0.02, 0, 0, shape), "(1,0,2) is 9 instead of 3");
  EXPECT_EQ(FirstWrongElement(values, expected, 1, 0, 0, shape), "");
  // A scale allows more, and a rounding the part of its own element.
  EXPECT_EQ(FirstWrongElement(values, expected, 0.01, 100, 0, shape), "(1,0,2) is 9 instead of 3");
  EXPECT_EQ(FirstWrongElement(values, expected, 0.02, 0, 2, shape), "");
  values[0] = kNan;
  EXPECT_EQ(FirstWrongElement(values, expected, 0.01, 0, 0, shape), "(0,0,0) is nan instead of 1");
  // Of some elements: the fourth and the last one.
  const std::vector<double> some = {-8, 9};
  const std::vector<double> expected_some = {-8, 3};
  const std::vector<std::int64_t> elements = {3, 5};
  EXPECT_EQ(FirstWrongElement(some, expected_some, 0.01, 0, 0, shape, elements),
            "(1,0,2) is 9 instead of 3");
}

}  // namespace
}  // namespace topdnn
