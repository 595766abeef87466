// Copies and comparisons by tables of positions, against the same by Layout::Offsets.

#include "kernels/tensor/tensor_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/check/difference.h"

namespace topdnn {
namespace {

constexpr const char* kCopiedTags[] = {"abcd", "acdb", "aBcd16b", "ABcd8b16a2b"};
constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16, DataType::kF64, DataType::kS32};

std::vector<double> Numbers(std::size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-100, 100);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(random);
  return values;
}

TEST(TensorCopyTest, MovesRoundsAndZeroesThePadding) {
  std::mt19937_64 random(4);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  for (int i = 0; i < 64; ++i) {
    const Shape shape{upto(20), upto(40), upto(6), upto(6)};
    const Tensor from({shape, kTypes[i % 4], *Layout::Parse(kCopiedTags[i / 4 % 4])});
    const Tensor to({shape, kTypes[random() % 4], *Layout::Parse(kCopiedTags[i / 16])});
    FromDouble(Numbers(static_cast<std::size_t>(shape.elements()), random), from.desc(),
               from.data());
    std::memset(to.data(), 0xff, to.desc().bytes());
    TensorCopy(from.desc(), to.desc()).Run(from.data(), to.data());
    const Tensor expected(to.desc());
    const std::vector<std::int64_t> source = from.desc().layout.Offsets(shape);
    const std::vector<std::int64_t> target = to.desc().layout.Offsets(shape);
    CopyElements(from.desc().type, from.data(), source, to.desc().type, expected.data(), target);
    EXPECT_EQ(std::memcmp(to.data(), expected.data(), to.desc().bytes()), 0)
        << shape.ToString() << " " << from.desc().layout.tag() << " " << to.desc().layout.tag();
  }
}

TEST(TensorCopyTest, OfTwoShapesThrows) {
  const TensorDesc one = {{2, 3}, DataType::kF32, Layout::Plain(2)};
  const TensorDesc other = {{3, 2}, DataType::kF32, Layout::Plain(2)};
  EXPECT_THROW(TensorCopy(one, other), std::invalid_argument);
  EXPECT_THROW(DifferenceOf(one, nullptr, other, nullptr, 0), std::invalid_argument);
}

// Two channels of two pixels: the orders are written by hand.
TEST(CopyTensorTest, CopiesIntoOtherLayoutsAndTypes) {
  const Shape shape{1, 2, 1, 2};
  Tensor planes(shape);
  FromFloat(std::array<float, 4>{1, 2, 30, 40}, planes.desc(), planes.data());
  Tensor same(shape);
  CopyTensor(planes.desc(), planes.data(), same.desc(), same.data());
  EXPECT_EQ(ToFloat(same.desc(), same.data()), (std::vector<float>{1, 2, 30, 40}));
  Tensor pixels(TensorDesc{shape, DataType::kF32, Layout::ChannelsLast(4)});
  CopyTensor(planes.desc(), planes.data(), pixels.desc(), pixels.data());
  const auto* stored = pixels.as<float>();
  EXPECT_EQ(std::vector<float>(stored, stored + 4), (std::vector<float>{1, 30, 2, 40}));
  EXPECT_EQ(ToFloat(pixels.desc(), pixels.data()), (std::vector<float>{1, 2, 30, 40}));
  Tensor integers(TensorDesc{shape, DataType::kS32, Layout::Plain(4)});
  CopyTensor(pixels.desc(), pixels.data(), integers.desc(), integers.data());
  EXPECT_EQ(integers.as<std::int32_t>()[2], 30);
  const Tensor other(Shape{1, 2, 2, 2});
  EXPECT_THROW(CopyTensor(planes.desc(), planes.data(), other.desc(), other.data()),
               std::invalid_argument);
}

// Three outputs of two inputs, as (K, C) and as (K, C, 1, 1), rows and columns exchanged on either
// side: the orders are written by hand.
TEST(CopyTensorTest, CopiesIntoAnotherShape) {
  const std::array<float, 6> stored = {1, 2, 3, 4, 5, 6};
  const TensorDesc to = {{3, 2, 1, 1}, DataType::kF32, *Layout::Parse("bacd")};
  std::array<float, 6> copy{};
  CopyTensor({{3, 2}, DataType::kF32, Layout::Plain(2)}, stored.data(), to, copy.data());
  EXPECT_EQ(copy, (std::array<float, 6>{1, 3, 5, 2, 4, 6}));
  CopyTensor({{3, 2}, DataType::kF32, *Layout::Parse("ba")}, stored.data(), to, copy.data());
  EXPECT_EQ(copy, stored);
}

// The largest difference and the largest entry, by the definition in tolerance.h.
double ErrorByDefinition(const std::vector<double>& a, const std::vector<double>& b, double scale,
                         double rounding) {
  double difference = 0;
  double largest = scale;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]) - rounding * std::abs(b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

TEST(DifferenceOfTest, IsTheDefinitionInEveryLayout) {
  std::mt19937_64 random(5);
  const Shape shape{5, 17, 3, 2};
  const auto count = static_cast<std::size_t>(shape.elements());
  for (const char* tag : kCopiedTags) {
    for (const DataType type : {DataType::kF32, DataType::kBF16}) {
      const Tensor a({shape, type, *Layout::Parse(tag)});
      const Tensor b(shape);
      FromDouble(Numbers(count, random), a.desc(), a.data());
      std::vector<double> reference = Numbers(count, random);
      reference[7] = reference[count - 1] = 0;
      FromDouble(reference, b.desc(), b.data());
      const Difference difference = DifferenceOf(a.desc(), a.data(), b.desc(), b.data(), 0.01);
      const std::vector<double> left = ToDouble(a.desc(), a.data());
      const std::vector<double> right = ToDouble(b.desc(), b.data());
      EXPECT_EQ(difference.Relative(0), ErrorByDefinition(left, right, 0, 0.01)) << tag;
      EXPECT_EQ(difference.Relative(1000), ErrorByDefinition(left, right, 1000, 0.01)) << tag;
      EXPECT_EQ(difference.zeros(), 2) << tag;
    }
  }
}

// Changes one element at a time, so that a comparison that skips a part is found.
TEST(DifferenceOfTest, FindsAnErrorInAnyElement) {
  const Shape shape{3, 18, 2, 2};
  const Tensor b({shape, DataType::kF32, *Layout::Parse("aBcd16b")});
  const auto count = static_cast<std::size_t>(shape.elements());
  const std::vector<double> ones(count, 1.0);
  FromDouble(ones, b.desc(), b.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> values = ones;
    values[i] = 1.5;
    const Tensor a(shape);
    FromDouble(values, a.desc(), a.data());
    ASSERT_EQ(DifferenceOf(a.desc(), a.data(), b.desc(), b.data(), 0).Relative(0), 0.5) << i;
    a.as<float>()[i] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_TRUE(std::isinf(DifferenceOf(a.desc(), a.data(), b.desc(), b.data(), 0).Relative(0)))
        << i;
  }
}

}  // namespace
}  // namespace topdnn
