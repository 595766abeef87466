#include "datasets/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "datasets/bytes.h"
#include "datasets/open.h"
#include "tests/datasets/files.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

const std::string kImages = BigEndian(0x803) + BigEndian(2) + BigEndian(2) + BigEndian(3) +
                            std::string("\x00\x33\x66\x99\xcc\xff", 6) + std::string(6, '\x01');
const std::string kLabels = BigEndian(0x801) + BigEndian(2) + std::string("\x09\x00", 2);

class IdxTest : public testing::Test {
 protected:
  std::string Refusal(const std::string& images, const std::string& labels) {
    const auto a = folder_.Write("images", images);
    const auto b = folder_.Write("labels", labels);
    return ErrorOf([&] { ReadIdx("test", a, b); });
  }

  TestFolder folder_;
};

TEST_F(IdxTest, ReadsPlainAndGzip) {
  const auto plain_images = folder_.Write("images", kImages);
  const auto plain_labels = folder_.Write("labels", kLabels);
  const auto gzip_images = WriteGzip(folder_, "images.gz", kImages);
  const auto gzip_labels = WriteGzip(folder_, "labels.gz", kLabels);
  for (const auto& [images, labels] :
       {std::pair(plain_images, plain_labels), std::pair(gzip_images, gzip_labels)}) {
    const auto data = ReadIdx("test", images, labels);
    EXPECT_EQ(data->size(), 2);
    EXPECT_EQ(data->image_shape(), (Shape{1, 2, 3}));
    EXPECT_EQ(data->label(0), 9);
    EXPECT_EQ(data->label(1), 0);
    std::vector<float> pixels(6);
    data->CopyImage(0, pixels);
    EXPECT_FLOAT_EQ(pixels[1], 0.2F);
    EXPECT_FLOAT_EQ(pixels[5], 1.0F);
  }
}

TEST_F(IdxTest, EachDefectIsOneLineWithFileOffsetAndFix) {
  const std::string cut = kImages.substr(0, kImages.size() - 1);
  EXPECT_THAT(Refusal(cut, kLabels),
              testing::AllOf(HasSubstr("images: offset 27: truncated"), HasSubstr("download")));
  EXPECT_THAT(Refusal(kImages + "x", kLabels), HasSubstr("images: offset 28: too long"));
  EXPECT_THAT(Refusal(kImages.substr(0, 10), kLabels),
              HasSubstr("images: offset 10: truncated, the header"));
  EXPECT_THAT(Refusal(kLabels, kLabels),
              testing::AllOf(HasSubstr("images: offset 0: magic number 0x00000801"),
                             HasSubstr("not an IDX file of images")));
  EXPECT_THAT(Refusal("\x01" + kImages.substr(1), kLabels),
              HasSubstr("images: offset 0: magic number 0x01000803"));
  EXPECT_THAT(Refusal(kImages, kLabels.substr(0, 8) + "\x0a" + std::string(1, '\0')),
              HasSubstr("labels: offset 8: label 10 is out of range"));
  EXPECT_THAT(Refusal(kImages, BigEndian(0x801) + BigEndian(1) + "\x01"),
              HasSubstr("labels: offset 4: 1 labels, but 2 images"));
  // A header that declares more than fits in memory must not cause an allocation.
  EXPECT_THAT(Refusal(BigEndian(0x803) + BigEndian(0xffffffff) + BigEndian(0xffffffff) +
                          BigEndian(0xffffffff),
                      kLabels),
              HasSubstr("images: offset 8: extent 4294967295 leaves no data, or more than 4 GiB"));
  EXPECT_THAT(Refusal("", kLabels), HasSubstr("truncated"));
}

TEST_F(IdxTest, DamagedAndFalseGzipAreRefused) {
  const auto labels = folder_.Write("labels", kLabels);
  const auto false_gzip = folder_.Write("images.gz", kImages);
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", false_gzip, labels); }),
              HasSubstr("images.gz: offset 0: not gzip"));
  const auto whole = WriteGzip(folder_, "whole.gz", kImages + std::string(5000, 'x'));
  std::ifstream file(whole, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto cut = folder_.Write("cut.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", cut, labels); }), HasSubstr("cut.gz: offset"));
  std::string broken = bytes;
  broken[10] = '\xff';  // the first byte after gzip's head: a block of type 3, which does not exist
  const auto damaged = folder_.Write("damaged.gz", broken);
  EXPECT_EQ(
      ErrorOf([&] { ReadIdx("test", damaged, labels); }),
      damaged.string() + ": offset 0: invalid block type; the file is damaged, download it again");
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", folder_.path() / "none", labels); }),
              testing::AllOf(HasSubstr("none"), HasSubstr("No such file"), HasSubstr("--data")));
}

// The data after the head is damaged. A reader that goes on would report the damage instead.
TEST_F(IdxTest, ReadingStopsAtTheLengthInTheHead) {
  const auto labels = folder_.Write("labels", kLabels);
  const auto damaged = [&](const std::string& name, const std::string& head) {
    std::string noise(6 * kHeadBytes, '\0');
    std::uint32_t state = 1;
    for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    auto whole = WriteGzip(folder_, name, head + noise);
    std::filesystem::resize_file(whole, std::filesystem::file_size(whole) / 2);
    return whole;
  };
  const auto over_long = damaged("long.gz", kImages);
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", over_long, labels); }),
              testing::AllOf(HasSubstr("long.gz: offset 28: too long"), HasSubstr("download")));
  const auto other = damaged("other.gz", "an archive of another kind");
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", other, labels); }),
              HasSubstr("other.gz: offset 0: magic number"));
}

TEST_F(IdxTest, AFolderOrAnImpossibleNameIsRefusedWithAFix) {
  const auto labels = folder_.Write("labels", kLabels);
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", folder_.path(), labels); }),
              testing::AllOf(HasSubstr("is a folder"), HasSubstr("--data")));
  EXPECT_THAT(ErrorOf([&] { ReadIdx("test", std::string(300, 'a'), labels); }),
              testing::AllOf(HasSubstr("File name too long"), HasSubstr("--data")));
  EXPECT_THAT(ErrorOf([&] { OpenFolder(std::string(5000, 'a')); }), HasSubstr("no such folder"));
}

TEST(FashionMnistTest, ThePackageHoldsSeventyThousandImages) {
  if (!std::filesystem::exists(kFashionMnistFolder)) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const DatasetPair pair = OpenFolder(kFashionMnistFolder);
  EXPECT_EQ(pair.train->size(), 60000);
  EXPECT_EQ(pair.test->size(), 10000);
  EXPECT_EQ(pair.train->image_shape(), (Shape{1, 28, 28}));
  std::vector<int> images(10);
  for (std::int64_t i = 0; i < pair.train->size(); ++i) ++images[pair.train->label(i)];
  EXPECT_EQ(images, std::vector<int>(10, 6000));
  EXPECT_EQ(ClassesOf(kFashionMnistFolder), pair.train->classes());
}

TEST(FashionMnistTest, TheFolderMayEndInASlash) {
  EXPECT_TRUE(IsFashionMnistFolder("/usr/share/datasets/fashion-mnist"));
  EXPECT_TRUE(IsFashionMnistFolder("/usr/share/datasets/fashion-mnist/"));
  EXPECT_TRUE(IsFashionMnistFolder("/usr/share/./datasets//fashion-mnist"));
  EXPECT_FALSE(IsFashionMnistFolder("/usr/share/datasets"));
  EXPECT_FALSE(IsFashionMnistFolder("/usr/share/datasets/fashion-mnist/more"));
  EXPECT_FALSE(IsFashionMnistFolder(""));
}

}  // namespace
}  // namespace topdnn
