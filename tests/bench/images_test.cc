// Images that feed a plan's input, in the input's layout.

#include "bench/workload/images.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/workload/folder_images.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

WorkloadOptions CnnOn(const std::string& backend) {
  WorkloadOptions options;
  options.network = "cnn";
  options.batch = 2;
  options.backend = backend;
  options.data = "synthetic";
  options.oversubscribe = true;
  return options;
}

std::vector<double> InputOf(const Plan& plan) { return plan.Read(plan.Find(BufferRole::kInput)); }

// (2, 3, 32, 32), each element with its own value.
Batch NumberedBatch() {
  Batch batch;
  for (int i = 0; i < 2 * 3 * 32 * 32; ++i) batch.images.push_back(static_cast<float>(i));
  batch.labels = {3, 1};
  return batch;
}

TEST(FeedBatchTest, ImagesAreTheSameInEveryLayoutOfTheInput) {
  for (const char* backend : {"reference", "eigen"}) {
    const Workload workload = MakeWorkload(CnnOn(backend), true);
    const Plan& plan = *workload.plan;
    FeedBatch(plan, NumberedBatch());
    const std::vector<double> input = InputOf(plan);
    for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(input[i], static_cast<double>(i));
    EXPECT_EQ(plan.Read(plan.Find(BufferRole::kLabels)), (std::vector<double>{3, 1}));
    // NHWC: the second element is the second channel of the first pixel.
    const auto* data = static_cast<const float*>(plan.Data(plan.Find(BufferRole::kInput)));
    EXPECT_EQ(data[1], std::string(backend) == "eigen" ? 1024.0F : 1.0F);
  }
}

// The kept batches change their layout when plans of different layouts take turns.
TEST(TrainingImagesTest, PlansOfDifferentLayoutsGetTheSameImages) {
  const Workload planes = MakeWorkload(CnnOn("reference"), true);
  const Workload pixels = MakeWorkload(CnnOn("eigen"), true);
  TrainingImages images(CnnOn("reference"), planes);
  images.FillNext(*planes.plan);
  const std::vector<double> first = InputOf(*planes.plan);
  for (const Workload* workload : {&pixels, &planes, &pixels, &pixels}) {
    images.GoTo(0);
    images.FillNext(*workload->plan);
    EXPECT_EQ(InputOf(*workload->plan), first);
  }
}

// Writes one part of a data set in MNIST's format: two images of 2x2 pixels.
void WritePart(const TestFolder& folder, const std::string& prefix, const std::string& pixels) {
  const std::string two("\0\0\0\2", 4);
  std::string images("\0\0\x8\x3", 4);
  for (int extent = 0; extent < 3; ++extent) images += two;
  folder.Write(prefix + "-images-idx3-ubyte", images + pixels);
  folder.Write(prefix + "-labels-idx1-ubyte", std::string("\0\0\x8\x1", 4) + two + "\x5\x7");
}

TEST(FolderImagesTest, AreThoseOfTheFolderAndAreReadOnce) {
  const TestFolder folder;
  WritePart(folder, "train", "abcdefgh");
  WritePart(folder, "t10k", "stuvwxyz");
  ReadAhead(folder.path());
  const DatasetPair first = FolderImages(folder.path());
  const DatasetPair plain = OpenFolder(folder.path());
  std::filesystem::remove(folder.path() / "train-images-idx3-ubyte");
  const DatasetPair second = FolderImages(folder.path());
  for (const DatasetPair* pair : {&first, &second}) {
    for (const auto part : {&DatasetPair::train, &DatasetPair::test}) {
      const Dataset& images = *(pair->*part);
      const Dataset& expected = *(plain.*part);
      EXPECT_EQ(images.name(), expected.name());
      EXPECT_EQ(images.classes(), expected.classes());
      EXPECT_EQ(images.image_shape(), expected.image_shape());
      ASSERT_EQ(images.size(), 2);
      for (std::int64_t i = 0; i < 2; ++i) {
        EXPECT_EQ(images.label(i), expected.label(i));
        std::vector<float> pixels(4);
        std::vector<float> expected_pixels(4);
        images.CopyImage(i, pixels);
        expected.CopyImage(i, expected_pixels);
        EXPECT_EQ(pixels, expected_pixels);
      }
    }
  }
}

TEST(FolderImagesTest, EveryCallReportsWhatIsWrong) {
  const TestFolder folder;
  WritePart(folder, "train", "abc");
  WritePart(folder, "t10k", "stuvwxyz");
  ReadAhead(folder.path());
  for (int i = 0; i < 2; ++i) EXPECT_THROW(FolderImages(folder.path()), DatasetError);
}

}  // namespace
}  // namespace topdnn
