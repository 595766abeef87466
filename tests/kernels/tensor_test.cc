#include "kernels/tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace topdnn {
namespace {

TEST(LayoutTest, ParsesOnlyWholeTags) {
  EXPECT_TRUE(Layout::Parse("abcd"));
  EXPECT_TRUE(Layout::Parse("aBcd16b"));
  EXPECT_TRUE(Layout::Parse("ABcd8b16a2b"));
  for (const char* wrong : {"", "abd", "aabc", "aBcd", "abcd16b", "aBcd16", "aBcd0b", "aBcd16e"}) {
    EXPECT_FALSE(Layout::Parse(wrong)) << wrong;
  }
}

TEST(LayoutTest, ChannelsLastIsNhwc) {
  const Shape shape{2, 3, 4, 5};
  EXPECT_EQ(Layout::ChannelsLast(4).tag(), "acdb");
  const std::array<std::int64_t, 4> index = {1, 2, 3, 4};
  EXPECT_EQ(Layout::ChannelsLast(4).OffsetOf(shape, index), ((1 * 4 + 3) * 5 + 4) * 3 + 2);
  EXPECT_EQ(Layout::Plain(4).OffsetOf(shape, index), ((1 * 3 + 2) * 4 + 3) * 5 + 4);
}

TEST(LayoutTest, BlockedChannelsArePaddedToWholeBlocks) {
  const Shape shape{2, 17, 3, 3};
  const Layout blocked = *Layout::Parse("aBcd16b");
  EXPECT_EQ(blocked.PaddedElements(shape), 2 * 32 * 9);
  const std::array<std::int64_t, 4> index = {1, 16, 2, 1};
  EXPECT_EQ(blocked.OffsetOf(shape, index), ((1 * 2 + 1) * 9 + 2 * 3 + 1) * 16 + 0);
}

TEST(LayoutTest, OffsetsAgreeWithOffsetOfAndAreDistinct) {
  const Shape shape{5, 18, 2, 3};
  for (const char* tag : {"abcd", "acdb", "aBcd8b", "ABcd16b16a", "ABcd8b16a2b", "Acdb16a"}) {
    const Layout layout = *Layout::Parse(tag);
    const std::vector<std::int64_t> offsets = layout.Offsets(shape);
    std::vector<bool> used(static_cast<std::size_t>(layout.PaddedElements(shape)), false);
    std::size_t at = 0;
    for (std::int64_t a = 0; a < 5; ++a) {
      for (std::int64_t b = 0; b < 18; ++b) {
        for (std::int64_t c = 0; c < 2; ++c) {
          for (std::int64_t d = 0; d < 3; ++d, ++at) {
            const std::array<std::int64_t, 4> index = {a, b, c, d};
            ASSERT_EQ(offsets[at], layout.OffsetOf(shape, index)) << tag;
            ASSERT_FALSE(used[static_cast<std::size_t>(offsets[at])]) << tag;
            used[static_cast<std::size_t>(offsets[at])] = true;
          }
        }
      }
    }
  }
}

TEST(LayoutTest, ADimensionWithOneBlockMayBeAnywhereInATag) {
  EXPECT_TRUE(Layout::ChannelsLast(4).IsPlainFor({8, 64, 1, 1}));
  EXPECT_FALSE(Layout::ChannelsLast(4).IsPlainFor({8, 64, 2, 1}));
  EXPECT_TRUE(Layout::Parse("Abcd16a")->SameFor({16, 3, 2, 2}, *Layout::Parse("bcdA16a")));
  EXPECT_FALSE(Layout::Parse("Abcd16a")->SameFor({32, 3, 2, 2}, *Layout::Parse("bcdA16a")));
}

TEST(TensorTest, EveryTypeRoundTripsThroughDouble) {
  const Shape shape{2, 17, 2, 2};
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), -8.0);
  for (auto& value : values) value = std::fmod(value, 100.0);
  for (const DataType type : {DataType::kF32, DataType::kF64, DataType::kBF16, DataType::kF16,
                              DataType::kS64, DataType::kS32, DataType::kS8}) {
    Tensor tensor(TensorDesc{shape, type, *Layout::Parse("aBcd16b")});
    FromDouble(values, tensor.desc(), tensor.data());
    EXPECT_EQ(ToDouble(tensor.desc(), tensor.data()), values) << NameOf(type);
  }
}

TEST(TensorTest, Bf16RoundsToNearestEvenAndKeepsNan) {
  Tensor tensor(Shape{4}, DataType::kBF16);
  const std::vector<double> values = {1.00390625, 1.01171875, std::nan(""),
                                      std::numeric_limits<double>::infinity()};
  FromDouble(values, tensor.desc(), tensor.data());
  const std::vector<double> read = ToDouble(tensor.desc(), tensor.data());
  EXPECT_EQ(read[0], 1.0);       // a tie: the even neighbour is below
  EXPECT_EQ(read[1], 1.015625);  // a tie: the even neighbour is above
  EXPECT_TRUE(std::isnan(read[2]));
  EXPECT_TRUE(std::isinf(read[3]));
}

TEST(TensorTest, MemoryIsAlignedAndZero) {
  const Tensor tensor(Shape{3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  for (const float value : tensor.values<float>()) EXPECT_EQ(value, 0.0f);
}

TEST(ShapeTest, OverflowIsRefused) {
  EXPECT_THROW((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}.elements()),
               std::overflow_error);
  EXPECT_EQ((Shape{0, 5}.elements()), 0);
  EXPECT_EQ(Shape{}.elements(), 1);
}

}  // namespace
}  // namespace topdnn
