#include "kernels/tensor/addressing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace topdnn {
namespace {

// The positions of all elements, in row-major order.
std::vector<std::int64_t> PositionsBy(const FactoredOffsets& factored) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t outer : factored.outer) {
    for (const std::int64_t inner : factored.inner) positions.push_back(outer + inner);
  }
  return positions;
}

std::vector<std::int64_t> PositionsOf(const Shape& shape, const char* tag) {
  return PositionsBy(FactoredOffsetsOf({shape, DataType::kF32, *Layout::Parse(tag)}));
}

TEST(FactoredOffsetsTest, AreTheRowMajorOrderOfAPlainTensor) {
  std::vector<std::int64_t> counted(2 * 3 * 4 * 5);
  std::iota(counted.begin(), counted.end(), 0);
  EXPECT_EQ(PositionsOf({2, 3, 4, 5}, "abcd"), counted);
  EXPECT_EQ(PositionsBy(FactoredOffsetsOf({Shape{}, DataType::kF32, Layout::Plain(0)})),
            std::vector<std::int64_t>{0});
}

TEST(FactoredOffsetsTest, FollowTheFormulasOfNhwcAndOfPaddedBlocks) {
  // 17 channels in blocks of 16: the last block has 15 elements of padding.
  const Shape shape{2, 17, 3, 5};
  const std::vector<std::int64_t> nhwc = PositionsOf(shape, "acdb");
  const std::vector<std::int64_t> blocked = PositionsOf(shape, "aBcd16b");
  ASSERT_EQ(nhwc.size(), 2u * 17 * 3 * 5);
  ASSERT_EQ(blocked.size(), nhwc.size());
  std::size_t at = 0;
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t c = 0; c < 17; ++c) {
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t w = 0; w < 5; ++w, ++at) {
          ASSERT_EQ(nhwc[at], ((n * 3 + h) * 5 + w) * 17 + c);
          ASSERT_EQ(blocked[at], (((n * 2 + c / 16) * 3 + h) * 5 + w) * 16 + c % 16);
        }
      }
    }
  }
}

TEST(FactoredOffsetsTest, AgreeWithTheOffsetOfEachElement) {
  std::mt19937_64 random(3);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n) + 1; };
  for (const char* tag :
       {"abcd", "acdb", "cdba", "aBcd8b", "ABcd16b16a", "ABcd8b16a2b", "Acdb16a", "aBCd4c8b2c"}) {
    for (int i = 0; i < 8; ++i) {
      const Shape shape{upto(20), upto(40), upto(12), upto(3)};
      SCOPED_TRACE(shape.ToString() + " " + tag);
      EXPECT_EQ(PositionsOf(shape, tag), Layout::Parse(tag)->Offsets(shape));
    }
  }
}

TEST(FactoredOffsetsTest, TablesAreAsShortAsPossible) {
  EXPECT_EQ(OuterDimensions({8, 64, 56, 56}), 2);    // 512 + 3136
  EXPECT_EQ(OuterDimensions({128, 2048, 1, 1}), 1);  // 128 + 2048
  EXPECT_EQ(OuterDimensions({512, 512, 3, 3}), 1);   // 512 + 4608
  EXPECT_EQ(OuterDimensions({7}), 1);
  EXPECT_EQ(OuterDimensions({}), 0);
  const FactoredOffsets weights =
      FactoredOffsetsOf({{512, 512, 3, 3}, DataType::kF32, Layout::Plain(4)});
  EXPECT_EQ(weights.outer.size(), 512u);
  EXPECT_EQ(weights.inner.size(), 4608u);
}

TEST(FactoredOffsetsTest, OfAnOpaqueLayoutThrow) {
  const Layout opaque = Layout::Opaque("secret", 64, std::make_shared<int>(0));
  EXPECT_THROW(FactoredOffsetsOf({{4, 4}, DataType::kF32, opaque}), std::invalid_argument);
  EXPECT_THROW(FactoredOffsetsOf({{4, 4}, DataType::kF32, Layout::Plain(3)}),
               std::invalid_argument);
}

}  // namespace
}  // namespace topdnn
