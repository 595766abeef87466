#include "bench/npz.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/datasets/files.h"

namespace topdnn {
namespace {

NpyArray Floats(Shape shape, float first) {
  Tensor tensor(std::move(shape));
  for (float& value : tensor.values<float>()) value = first++;
  return ToNpy(tensor);
}

TEST(NpzTest, ArraysOfEveryTypeAndShapeRoundTrip) {
  const TestFolder folder;
  const std::string path = folder.path() / "a.npz";
  NamedArrays arrays = {{"weights/conv1/weights", Floats({2, 3, 4, 5}, 1)},
                        {"loss", Floats(Shape{}, 2.5F)},
                        {"empty", {Shape{0, 3}, DataType::kF32, {}}}};
  for (const DataType type :
       {DataType::kF64, DataType::kS32, DataType::kS64, DataType::kS8, DataType::kU8}) {
    Tensor tensor(Shape{7}, type);
    FromDouble(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, tensor.desc(), tensor.data());
    arrays.emplace_back(std::string(NameOf(type)), ToNpy(tensor));
  }
  WriteNpz(path, arrays);
  const NamedArrays read = ReadNpz(path);
  ASSERT_EQ(read.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(read[i].first, arrays[i].first);
    EXPECT_EQ(read[i].second.shape, arrays[i].second.shape);
    EXPECT_EQ(read[i].second.type, arrays[i].second.type);
    EXPECT_EQ(read[i].second.data, arrays[i].second.data);
  }
}

TEST(NpzTest, AnArrayIsWhatNumPyExpects) {
  const std::vector<std::byte> bytes = EncodeNpy(Floats({2, 3}, 0));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_NE(text.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }"),
            std::string::npos);
  EXPECT_EQ((bytes.size() - 6 * sizeof(float)) % 64, 0u);
  EXPECT_EQ(text[bytes.size() - 6 * sizeof(float) - 1], '\n');
}

TEST(NpzTest, EveryCutOfAnArrayIsRefused) {
  const std::vector<std::byte> whole = EncodeNpy(Floats({2, 3}, 0));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(DecodeNpy(cut, "cut.npy"), NpzError) << size;
  }
}

TEST(NpzTest, AHostileHeaderAllocatesNothing) {
  std::vector<std::byte> bytes = EncodeNpy(Floats({2, 3}, 0));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.find("(2,3,)");
  text.replace(at, 12, "(99999999999");
  std::memcpy(bytes.data(), text.data(), bytes.size());
  EXPECT_THROW(DecodeNpy(bytes, "hostile.npy"), NpzError);
}

TEST(NpzTest, WhatIsNoArchiveOrCannotBeWrittenIsOneLine) {
  const TestFolder folder;
  const auto text = folder.Write("text.npz", "not a zip file");
  EXPECT_THROW(ReadNpz(text), NpzError);
  EXPECT_THROW(ReadNpz(folder.path() / "none.npz"), NpzError);
  EXPECT_THROW(WriteNpz(folder.path() / "none" / "a.npz", {{"x", Floats({1}, 0)}}), NpzError);
}

}  // namespace
}  // namespace topdnn
