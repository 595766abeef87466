#include "kernels/tensor/permutation.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace topdnn {
namespace {

using Extents = std::vector<std::int64_t>;
using Order = std::vector<int>;

TEST(PermutationTest, AdjacentDimensionsAreMerged) {
  const Permutation nhwc = Simplified(Extents{2, 3, 4, 5}, Order{0, 2, 3, 1});
  EXPECT_EQ(nhwc.extents, (Extents{2, 3, 20}));
  EXPECT_EQ(nhwc.order, (Order{0, 2, 1}));
  const Permutation matrix = Simplified(Extents{2, 3, 4, 5}, Order{2, 3, 0, 1});
  EXPECT_EQ(matrix.extents, (Extents{6, 20}));
  EXPECT_EQ(matrix.order, (Order{1, 0}));
  const Permutation reversed = Simplified(Extents{2, 3, 4}, Order{2, 1, 0});
  EXPECT_EQ(reversed.extents, (Extents{2, 3, 4}));
  EXPECT_EQ(reversed.order, (Order{2, 1, 0}));
}

TEST(PermutationTest, DimensionsOfExtentOneAreRemoved) {
  // (N, C, 1, W) to (N, 1, W, C), and a single image.
  const Permutation flat = Simplified(Extents{2, 3, 1, 5}, Order{0, 2, 3, 1});
  EXPECT_EQ(flat.extents, (Extents{2, 3, 5}));
  EXPECT_EQ(flat.order, (Order{0, 2, 1}));
  EXPECT_TRUE(Simplified(Extents{1, 3, 1, 1}, Order{0, 2, 3, 1}).is_copy());
  // A dimension of extent 1 may lie between two dimensions that stay together.
  const Permutation around = Simplified(Extents{4, 1, 5, 6}, Order{3, 0, 2, 1});
  EXPECT_EQ(around.extents, (Extents{20, 6}));
  EXPECT_EQ(around.order, (Order{1, 0}));
  EXPECT_TRUE(Simplified(Extents{1, 1}, Order{1, 0}).is_copy());
  EXPECT_TRUE(Simplified(Extents{}, Order{}).is_copy());
}

TEST(PermutationTest, BetweenLayouts) {
  const Shape shape{2, 3, 4, 5};
  const Layout nhwc = Layout::ChannelsLast(4);
  EXPECT_TRUE(PermutationBetween(shape, nhwc, nhwc).is_copy());
  const Permutation back = PermutationBetween(shape, nhwc, Layout::Plain(4));
  EXPECT_EQ(back.extents, (Extents{2, 20, 3}));
  EXPECT_EQ(back.order, (Order{0, 2, 1}));
  EXPECT_TRUE(IsUnblocked(nhwc));
  EXPECT_FALSE(IsUnblocked(*Layout::Parse("aBcd16b")));
  EXPECT_FALSE(IsUnblocked(Layout::Opaque("own", 64, std::make_shared<int>(0))));
}

}  // namespace
}  // namespace topdnn
