#include "datasets/augmentation.h"

#include <gtest/gtest.h>

#include <set>

namespace topdnn {
namespace {

const Shape kShape{1, 2, 3};
const std::vector<float> kPixels = {1, 2, 3,  //
                                    4, 5, 6};

std::vector<float> Changed(const ImageChange& change) {
  std::vector<float> changed(kPixels.size(), -1);
  ChangeImage(kShape, kPixels, change, changed);
  return changed;
}

TEST(AugmentationTest, AnImageIsMirroredAndThenShifted) {
  EXPECT_EQ(Changed({}), kPixels);
  EXPECT_EQ(Changed({.mirrored = true}), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(Changed({.down = 1, .right = 0}), (std::vector<float>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(Changed({.down = 0, .right = -1}), (std::vector<float>{2, 3, 0, 5, 6, 0}));
  EXPECT_EQ(Changed({.down = 0, .right = 1, .mirrored = true}),
            (std::vector<float>{0, 3, 2, 0, 6, 5}));
  EXPECT_EQ(Changed({.down = 4, .right = 4}), (std::vector<float>(6, 0.0F)));
}

TEST(AugmentationTest, EachChannelChangesByItself) {
  const std::vector<float> image = {1, 2, 3, 4};
  std::vector<float> changed(4);
  ChangeImage({2, 1, 2}, image, {.down = 0, .right = 0, .mirrored = true}, changed);
  EXPECT_EQ(changed, (std::vector<float>{2, 1, 4, 3}));
}

// tf.image.per_image_standardization: (1, 2, 3, 6) has mean 3 and variance 14 / 4.
TEST(AugmentationTest, NormalisedImagesHaveMeanZeroAndDeviationOne) {
  std::vector<float> image = {1, 2, 3, 6};
  NormaliseImage(image);
  const std::vector<float> expected = {-1.0690450F, -0.5345225F, 0, 1.6035675F};
  for (std::size_t i = 0; i < image.size(); ++i) EXPECT_NEAR(image[i], expected[i], 1e-6F);
  std::vector<float> flat(16, 0.25F);
  NormaliseImage(flat);
  EXPECT_EQ(flat, std::vector<float>(16, 0.0F));
}

TEST(AugmentationTest, DrawsCoverEveryShiftAndBothMirrors) {
  std::mt19937_64 random(1);
  std::set<std::int64_t> down;
  std::set<std::int64_t> right;
  int mirrored = 0;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    const ImageChange change = DrawChange({.crop = true, .flip = true}, random);
    down.insert(change.down);
    right.insert(change.right);
    mirrored += change.mirrored ? 1 : 0;
  }
  EXPECT_EQ(down, (std::set<std::int64_t>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(right, down);
  EXPECT_NEAR(mirrored, kDraws / 2, 120);  // five standard deviations
  const ImageChange none = DrawChange({}, random);
  EXPECT_EQ(none.down, 0);
  EXPECT_EQ(none.right, 0);
  EXPECT_FALSE(none.mirrored);
}

TEST(AugmentationTest, PartsAreSetByName) {
  Augmentation augmentation;
  for (const std::string& name : AugmentationNames()) {
    EXPECT_TRUE(SetAugmentation(name, augmentation)) << name;
  }
  EXPECT_TRUE(augmentation.crop && augmentation.flip && augmentation.normalise);
  EXPECT_FALSE(SetAugmentation("rotate", augmentation));
}

}  // namespace
}  // namespace topdnn
