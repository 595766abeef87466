#include "datasets/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datasets/open.h"
#include "tests/datasets/files.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// A record with increasing pixel values, so that a wrong plane or row is visible.
std::string Record(char label, int start) {
  std::string record(1, label);
  for (int i = 0; i < 3072; ++i) record += static_cast<char>((start + i) % 251);
  return record;
}

TEST(Cifar10Test, AFolderOfBatchesIsRead) {
  const TestFolder folder;
  for (int i = 1; i <= 5; ++i) {
    folder.Write("data_batch_" + std::to_string(i) + ".bin",
                 Record(static_cast<char>(i), i) + Record(0, 7));
  }
  folder.Write("test_batch.bin", Record(9, 100));
  const DatasetPair pair = OpenFolder(folder.path());
  EXPECT_EQ(pair.train->size(), 10);
  EXPECT_EQ(pair.test->size(), 1);
  EXPECT_EQ(pair.train->image_shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(pair.train->label(4), 3);
  EXPECT_EQ(ClassesOf(folder.path()), pair.train->classes());
  std::vector<float> pixels(3072);
  pair.test->CopyImage(0, pixels);
  EXPECT_FLOAT_EQ(pixels[0], 100 / 255.0F);
  EXPECT_FLOAT_EQ(pixels[1024], (100 + 1024) % 251 / 255.0F);
}

TEST(Cifar10Test, EachDefectIsOneLineWithFileOffsetAndFix) {
  const TestFolder folder;
  const auto cut = folder.Write("data_batch_1.bin", Record(1, 0) + Record(2, 0).substr(0, 99));
  EXPECT_THAT(ErrorOf([&] { ReadCifar10("test", {cut}); }),
              HasSubstr("data_batch_1.bin: offset 3172: truncated"));
  const auto over_long = folder.Write("long.bin", Record(1, 0) + "x");
  EXPECT_THAT(ErrorOf([&] { ReadCifar10("test", {over_long}); }),
              testing::AllOf(HasSubstr("long.bin: offset 3074: truncated or too long"),
                             HasSubstr("1 bytes of a record of 3073"), HasSubstr("download")));
  const auto wrong = folder.Write("wrong.bin", Record(1, 0) + Record(10, 0));
  EXPECT_THAT(ErrorOf([&] { ReadCifar10("test", {wrong}); }),
              HasSubstr("wrong.bin: offset 3073: label 10 is out of range"));
  EXPECT_THAT(ErrorOf([&] { OpenFolder(folder.path()); }), HasSubstr("data_batch_1.bin"));
}

TEST(OpenFolderTest, TheErrorForAFolderWithoutDataNamesTheExpectedFiles) {
  const TestFolder folder;
  EXPECT_THAT(ErrorOf([&] { OpenFolder(folder.path()); }),
              testing::AllOf(HasSubstr("data_batch_1.bin"), HasSubstr("train-images-idx3-ubyte")));
  EXPECT_THAT(ErrorOf([&] { OpenFolder(folder.path() / "none"); }), HasSubstr("no such folder"));
}

}  // namespace
}  // namespace topdnn
