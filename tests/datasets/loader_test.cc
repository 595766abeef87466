#include "datasets/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>

#include "datasets/open.h"
#include "datasets/synthetic.h"
#include "datasets/throttled.h"

namespace topdnn {
namespace {

const Shape kImage{3, 8, 8};

LoaderOptions Options(int prefetch, bool drop_last = true) {
  return {.image = kImage,
          .batch = 16,
          .seed = 5,
          .shuffle = true,
          .drop_last = drop_last,
          .prefetch = prefetch};
}

TEST(LoaderTest, PrefetchedBatchesAreTheSame) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  BatchLoader ahead(*data, Options(1));
  BatchLoader plain(*data, Options(0));
  for (int i = 0; i < 10; ++i) {
    const Batch a = ahead.Next();
    const Batch b = plain.Next();
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.images, b.images);
    EXPECT_EQ(a.last_of_epoch, b.last_of_epoch);
    EXPECT_EQ(a.last_of_epoch, i % 3 == 2);  // 50 images make 3 full batches
  }
}

TEST(LoaderTest, ThreadsAndPrefetchDoNotChangeTheBatches) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  LoaderOptions options = Options(0);
  options.augmentation = {.crop = true, .flip = true, .normalise = true};
  BatchLoader plain(*data, options);
  options.prefetch = 4;
  options.threads = 3;
  BatchLoader ahead(*data, options);
  for (int i = 0; i < 20; ++i) {
    const Batch& a = ahead.Next();
    const Batch& b = plain.Next();
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.images, b.images);
  }
}

// Counts the images that were read.
class CountedImages : public Dataset {
 public:
  const std::string& name() const override { return name_; }
  std::int64_t size() const override { return 1000; }
  int classes() const override { return 2; }
  const Shape& image_shape() const override { return kImage; }
  std::int32_t label(std::int64_t) const override { return 0; }
  void CopyImage(std::int64_t, std::span<float>) const override { ++read; }
  mutable std::atomic<int> read = 0;

 private:
  std::string name_ = "counted images";
};

TEST(LoaderTest, PrefetchIsTheNumberOfBatchesAheadOfTheOneInUse) {
  for (const int prefetch : {0, 1, 3}) {
    const CountedImages data;
    LoaderOptions options = Options(prefetch);
    options.threads = 2;
    BatchLoader loader(data, options);
    loader.Next();
    const int expected = 16 * (1 + prefetch);
    for (int tries = 0; tries < 1000 && data.read < expected; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(data.read, expected);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(data.read, expected);
  }
}

TEST(LoaderTest, EachLoaderThreadCallsItsStart) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  LoaderOptions options = Options(3);
  options.threads = 3;
  options.on_thread_start = [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  {
    BatchLoader loader(*data, options);
    loader.Next();
  }
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(LoaderTest, AnIncompleteLastBatchReportsItsRealImages) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  BatchLoader loader(*data, Options(0, /*drop_last=*/false));
  EXPECT_EQ(loader.batches_per_epoch(), 4);
  std::int64_t images = 0;
  for (int i = 0; i < 4; ++i) images += loader.Next().valid;
  EXPECT_EQ(images, 50);
}

TEST(LoaderTest, EachEpochHasANewOrder) {
  const auto data = MakeSynthetic(kImage, 10, 64, 1, 0);
  BatchLoader loader(*data, Options(0));
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
  EXPECT_THROW(BatchLoader(*data, Options(0)), DatasetError);
}

TEST(LoaderTest, ImpossibleOptionsAreRefusedInTheConstructor) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  LoaderOptions grey = Options(1);
  grey.image = {1, 8, 8};
  EXPECT_THROW(BatchLoader(*data, grey), DatasetError);
  for (const std::int64_t batch : {0, -1}) {
    LoaderOptions none = Options(1);
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
  LoaderOptions options = Options(1);
  options.batch = 2;
  options.shuffle = false;
  BatchLoader loader(data, options);
  EXPECT_NO_THROW(loader.Next());
  EXPECT_NO_THROW(loader.Next());
  EXPECT_THROW(loader.Next(),
               DatasetError);  // images 4 and 5, prepared while the second batch was in use
  EXPECT_THROW(loader.Next(), DatasetError);
}

// No memory has the numbers of its images.
TEST(LoaderTest, ABatchWithoutMemoryIsThrownByNext) {
  const auto data = MakeSynthetic(kImage, 4, 50, 1, 0);
  for (const int prefetch : {0, 1}) {
    LoaderOptions options = Options(prefetch, /*drop_last=*/false);
    options.batch = std::int64_t{1} << 60;
    BatchLoader loader(*data, options);
    EXPECT_ANY_THROW(loader.Next());
    EXPECT_ANY_THROW(loader.Next());
  }
}

TEST(LoaderTest, ADataSetWithoutImagesIsRefused) {
  const auto data = MakeSynthetic(kImage, 4, 0, 1, 0);
  LoaderOptions options = Options(0);
  options.drop_last = false;
  try {
    BatchLoader(*data, options);
    FAIL() << "a loader without images";
  } catch (const DatasetError& error) {
    EXPECT_NE(std::string(error.what()).find("has no images"), std::string::npos) << error.what();
  }
}

TEST(LoaderTest, ASlowSourceDelaysTheBatches) {
  constexpr double kRate = 200;  // images per second
  const ThrottledDataset data(MakeSynthetic(kImage, 4, 50, 1, 0), kRate);
  LoaderOptions options = Options(2);
  options.batch = 10;
  options.threads = 2;
  const auto start = std::chrono::steady_clock::now();
  BatchLoader loader(data, options);
  loader.Next();
  loader.Next();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(passed.count(), 20 / kRate);  // never faster than the source
}

TEST(LoaderTest, TheDestructorDoesNotWaitForASlowSource) {
  constexpr double kRate = 4;  // images per second: an image takes 0.25 s, a batch 100 s
  const ThrottledDataset data(MakeSynthetic(kImage, 4, 400, 1, 0), kRate);
  LoaderOptions options = Options(2);
  options.batch = 400;
  options.threads = 2;
  const auto start = std::chrono::steady_clock::now();
  { const BatchLoader loader(data, options); }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(passed.count(), 50);
}

TEST(LoaderTest, ALoaderMayBeDestroyedDuringAPrefetch) {
  const OneBadImage data;
  for (int batches = 0; batches < 3; ++batches) {
    LoaderOptions options = Options(1);
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
