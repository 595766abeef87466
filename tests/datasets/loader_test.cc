#include "datasets/loader.h"

#include <gtest/gtest.h>

#include <set>

#include "datasets/open.h"
#include "datasets/synthetic.h"

namespace topdnn {
namespace {

const Shape kImage{3, 8, 8};

LoaderOptions Options(bool prefetch, bool drop_last = true) {
  return {.image = kImage,
          .batch = 16,
          .seed = 5,
          .shuffle = true,
          .drop_last = drop_last,
          .prefetch = prefetch};
}

TEST(LoaderTest, PrefetchedBatchesAreTheSame) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  BatchLoader ahead(*data, Options(true));
  BatchLoader plain(*data, Options(false));
  for (int i = 0; i < 10; ++i) {
    const Batch a = ahead.Next();
    const Batch b = plain.Next();
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.images, b.images);
    EXPECT_EQ(a.last_of_epoch, b.last_of_epoch);
    EXPECT_EQ(a.last_of_epoch, i % 3 == 2);  // 50 images make 3 full batches
  }
}

TEST(LoaderTest, AnIncompleteLastBatchReportsItsRealImages) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  BatchLoader loader(*data, Options(false, /*drop_last=*/false));
  EXPECT_EQ(loader.batches_per_epoch(), 4);
  std::int64_t images = 0;
  for (int i = 0; i < 4; ++i) images += loader.Next().valid;
  EXPECT_EQ(images, 50);
}

TEST(LoaderTest, EachEpochHasANewOrder) {
  const auto data = MakeSynthetic(kImage, 10, 64, 1, 0);
  BatchLoader loader(*data, Options(false));
  std::set<std::vector<float>> first;
  std::vector<float> leading;
  for (int i = 0; i < 4; ++i) {
    const Batch batch = loader.Next();
    if (i == 0) leading = batch.images;
    const std::size_t size = static_cast<std::size_t>(kImage.elements());
    for (std::size_t n = 0; n < 16; ++n) {
      first.emplace(batch.images.begin() + static_cast<std::ptrdiff_t>(n * size),
                    batch.images.begin() + static_cast<std::ptrdiff_t>((n + 1) * size));
    }
  }
  EXPECT_EQ(first.size(), 64u);  // each image once
  EXPECT_NE(loader.Next().images, leading);
}

TEST(LoaderTest, ABatchLargerThanTheDataIsRefused) {
  const auto data = MakeSynthetic(kImage, 4, 10, 1, 0);
  EXPECT_THROW(BatchLoader(*data, Options(false)), DatasetError);
}

TEST(LoaderTest, ImpossibleOptionsAreRefusedInTheConstructor) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  LoaderOptions grey = Options(true);
  grey.image = {1, 8, 8};
  EXPECT_THROW(BatchLoader(*data, grey), DatasetError);
  for (const std::int64_t batch : {0, -1}) {
    LoaderOptions none = Options(true);
    none.batch = batch;
    EXPECT_THROW(BatchLoader(*data, none), DatasetError);
  }
}

// Images, one of which cannot be read.
class OneBadImage : public Dataset {
 public:
  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return 8; }
  int classes() const override { return 2; }
  const Shape& image_shape() const override { return kImage; }
  std::int32_t label(std::int64_t) const override { return 0; }
  void CopyImage(std::int64_t index, std::span<float>) const override {
    if (index == 5) throw DatasetError("image 5 is bad");
  }

 private:
  std::string name_ = "one bad image";
};

TEST(LoaderTest, APrefetchErrorIsThrownWithItsBatch) {
  const OneBadImage data;
  LoaderOptions options = Options(true);
  options.batch = 2;
  options.shuffle = false;
  BatchLoader loader(data, options);
  EXPECT_NO_THROW(loader.Next());
  EXPECT_NO_THROW(loader.Next());
  EXPECT_THROW(loader.Next(),
               DatasetError);  // images 4 and 5, prepared while the second batch was in use
}

TEST(LoaderTest, ALoaderMayBeDestroyedDuringAPrefetch) {
  const OneBadImage data;
  for (int batches = 0; batches < 3; ++batches) {
    LoaderOptions options = Options(true);
    options.batch = 2;
    options.shuffle = false;
    BatchLoader loader(data, options);
    for (int i = 0; i < batches; ++i) EXPECT_EQ(loader.Next().valid, 2);
  }
}

TEST(SyntheticTest, SeedsAndPartsDiffer) {
  std::vector<float> a(192), b(192), c(192), again(192);
  MakeSynthetic(kImage, 4, 10, 1, 0)->CopyImage(3, a);
  MakeSynthetic(kImage, 4, 10, 2, 0)->CopyImage(3, b);
  MakeSynthetic(kImage, 4, 10, 1, 1)->CopyImage(3, c);
  MakeSynthetic(kImage, 4, 10, 1, 0)->CopyImage(3, again);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  for (const float pixel : a) {
    EXPECT_GE(pixel, 0.0F);
    EXPECT_LE(pixel, 1.0F);
  }
}

TEST(PlaceImageTest, ASmallGreyImageIsCentredInALargeColouredOne) {
  std::vector<float> image(28 * 28, 1.0F);
  std::vector<float> placed(3 * 32 * 32, 7.0F);
  PlaceImage({1, 28, 28}, image, {3, 32, 32}, placed);
  double sum = 0;
  for (const float pixel : placed) sum += static_cast<double>(pixel);
  EXPECT_EQ(sum, 3 * 28 * 28);
  EXPECT_EQ(placed[0], 0.0F);
  EXPECT_EQ(placed[2 * 32 + 2], 1.0F);
  EXPECT_EQ(placed[2 * 1024 + 29 * 32 + 29], 1.0F);
  EXPECT_EQ(placed[2 * 1024 + 30 * 32 + 29], 0.0F);
}

TEST(PlaceImageTest, ALargeImageIsCroppedAndChannelsMustAgree) {
  std::vector<float> image(2 * 4 * 4);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i);
  std::vector<float> placed(2 * 2 * 2);
  PlaceImage({2, 4, 4}, image, {2, 2, 2}, placed);
  EXPECT_EQ(placed, (std::vector<float>{5, 6, 9, 10, 21, 22, 25, 26}));
  EXPECT_THROW(PlaceImage({2, 4, 4}, image, {3, 2, 2}, placed), DatasetError);
}

}  // namespace
}  // namespace topdnn
