// The allowed difference of results, computed by hand from the formula's source.

#include "kernels/tolerance.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "kernels/conv/conv.h"

namespace topdnn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
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
  // Operand and result are rounded to the narrow type, the sums are f32.
  EXPECT_DOUBLE_EQ(of(DataType::kBF16), 40 * 0x1p-24 + 2 * 0x1p-8);
  EXPECT_DOUBLE_EQ(of(DataType::kF16), 40 * 0x1p-24 + 2 * 0x1p-11);
  EXPECT_EQ(of(DataType::kS8), 0);
  EXPECT_EQ(of(DataType::kU8), 0);
  // The gradient of the weights sums 6 * 6 outputs: the same length.
  EXPECT_DOUBLE_EQ(Tolerance(op, {Pass::kBackwardWeights, true, DataType::kF32}), 40 * 0x1p-24);
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
  EXPECT_EQ(Error({0, 1e-300}, {0, 0}), kInfinity);
}

TEST(RelativeErrorTest, NonFiniteElementsMustBeTheSame) {
  EXPECT_EQ(Error({kNan, 1}, {kNan, 1}), 0);
  EXPECT_EQ(Error({kInfinity, 1}, {kInfinity, 1}), 0);
  EXPECT_EQ(Error({kNan, 1}, {2, 1}), kInfinity);
  EXPECT_EQ(Error({2, 1}, {kNan, 1}), kInfinity);
  EXPECT_EQ(Error({kInfinity, 1}, {-kInfinity, 1}), kInfinity);
  EXPECT_EQ(Error({1, kInfinity}, {1, 5}), kInfinity);
}

}  // namespace
}  // namespace topdnn
