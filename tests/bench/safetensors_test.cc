#include "bench/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "bench/command_line/command.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::string File(const std::string& header, const std::string& data,
                 std::optional<std::uint64_t> length = {}) {
  const std::uint64_t declared = length.value_or(header.size());
  std::string bytes(sizeof(declared), '\0');
  std::memcpy(bytes.data(), &declared, sizeof(declared));
  return bytes + header + data;
}

std::string Floats(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

std::string ReasonFor(const std::string& bytes) {
  try {
    DecodeSafetensors(bytes, "w.safetensors");
  } catch (const UsageError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_THAT(message, HasSubstr("w.safetensors"));
    return message;
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(SafetensorsTest, TensorsHaveTheirNamesTypesAndShapes) {
  // bf16 1.5 is 0x3fc0; here it begins at an odd offset.
  const std::string data = Floats({1, 2, 3, 4, 5, 6}) + "\x07" + "\xc0\x3f";
  const NamedArrays arrays = DecodeSafetensors(File(R"({"__metadata__":{"format":"pt"},
               "conv1/weights":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
               "labels":{"dtype":"U8","shape":[1],"data_offsets":[24,25]},
               "half":{"dtype":"BF16","shape":[],"data_offsets":[25,27]}})",
                                                    data),
                                               "w.safetensors");
  ASSERT_EQ(arrays.size(), 3u);
  std::map<std::string, NpyArray> named(arrays.begin(), arrays.end());
  EXPECT_EQ(named["conv1/weights"].shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(named["conv1/weights"].data.data(), data.data(), 24), 0);
  EXPECT_EQ(named["labels"].type, DataType::kU8);
  EXPECT_EQ(named["half"].type, DataType::kF32);
  float half = 0;
  std::memcpy(&half, named["half"].data.data(), sizeof(half));
  EXPECT_EQ(half, 1.5F);
}

TEST(SafetensorsTest, EachHostileHeaderIsRefused) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(DecodeSafetensors(File(good, Floats({1, 2})), "good").size(), 1u);
  EXPECT_THAT(ReasonFor("1234567"), HasSubstr("truncated"));
  EXPECT_THAT(ReasonFor(File(good, Floats({1, 2}), 1ULL << 63)), HasSubstr("a header of"));
  EXPECT_THAT(ReasonFor(File(good, "", good.size() + 1)), HasSubstr("a header of"));
  EXPECT_THAT(ReasonFor(File(good, Floats({1}))), HasSubstr("bytes 0 to 8 of 4"));
  EXPECT_THAT(ReasonFor(File("{\"a\":", "")), HasSubstr("is not JSON"));
  EXPECT_THAT(ReasonFor(File("[1,2]", "")), HasSubstr("is not a JSON object"));
  EXPECT_THAT(ReasonFor(File(std::string(100000, '['), "")), HasSubstr("too deeply"));
  const auto tensor = [](const std::string& members) { return "{\"a\":{" + members + "}}"; };
  const std::string f32 = R"("dtype":"F32",)";
  for (const auto& [members, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {R"("shape":[2],"data_offsets":[0,8])", "no dtype"},
           {R"("dtype":"F4\n2","shape":[2],"data_offsets":[0,8])", "dtype F4?2"},
           {f32 + R"("shape":[-2],"data_offsets":[0,8])", "no shape"},
           {f32 + R"("shape":[2.5],"data_offsets":[0,8])", "no shape"},
           {f32 + R"("shape":[18446744073709551615],"data_offsets":[0,8])", "no shape"},
           {f32 + R"("shape":[4611686018427387906],"data_offsets":[0,8])", "is impossible"},
           {f32 + R"("shape":[2],"data_offsets":[0])", "no data_offsets"},
           {f32 + R"("shape":[2],"data_offsets":[8,0])", "bytes 8 to 0"},
           {f32 + R"("shape":[3],"data_offsets":[0,8])", "not its 12"},
           {f32 + R"("shape":[2],"data_offsets":[4,12])", "bytes 4 to 12"}}) {
    EXPECT_THAT(ReasonFor(File(tensor(members), Floats({1, 2}))), HasSubstr(why)) << members;
  }
  const std::string one = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_THAT(ReasonFor(File("{" + one + "," + one + "}", Floats({1, 2}))),
              HasSubstr("a is a duplicate"));
  std::string many = "{" + one;
  for (const char* name : {"b", "c", "d"}) many += ",\"" + std::string(name) + one.substr(2);
  EXPECT_THAT(ReasonFor(File(many + "}", Floats({1, 2}))), HasSubstr("overlap"));
}

TEST(SafetensorsTest, TensorsThatShareAByteAreRefused) {
  const auto two = [](const std::string& first, const std::string& second) {
    return File("{\"a\":{\"dtype\":\"U8\"," + first + "},\"b\":{\"dtype\":\"U8\"," + second + "}}",
                "0123456789");
  };
  const std::string four = R"("shape":[4],"data_offsets":[0,4])";
  EXPECT_EQ(DecodeSafetensors(two(four, R"("shape":[4],"data_offsets":[4,8])"), "x").size(), 2u);
  EXPECT_EQ(DecodeSafetensors(two(four, R"("shape":[0],"data_offsets":[2,2])"), "x").size(), 2u);
  for (const char* second :
       {R"("shape":[4],"data_offsets":[3,7])", R"("shape":[2],"data_offsets":[1,3])",
        R"("shape":[4],"data_offsets":[0,4])"}) {
    EXPECT_THAT(ReasonFor(two(four, second)), HasSubstr("its tensors a and b overlap at byte"));
    EXPECT_THAT(ReasonFor(two(second, four)), HasSubstr("overlap at byte"));
  }
}

// An algorithm with quadratic time would need minutes.
TEST(SafetensorsTest, AHeaderFullOfTensorsIsRead) {
  std::string header = "{";
  constexpr int kTensors = 250'000;
  for (int i = 0; i < kTensors; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  }
  header += "}";
  if (header.size() > (std::size_t{16} << 20)) header.resize(0);
  ASSERT_FALSE(header.empty());
  EXPECT_EQ(DecodeSafetensors(File(header, std::string(kTensors, 'x')), "x").size(), kTensors);
}

TEST(SafetensorsTest, MutationsAreReadOrRefused) {
  const std::string whole = File(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[1,3],"data_offsets":[8,11]}})",
      Floats({1, 2}) + "abc");
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole.substr(0, i % 4 == 0 ? random() % whole.size() : whole.size());
    for (int edit = 0; edit < 3 && !bytes.empty(); ++edit) {
      bytes[random() % bytes.size()] =
          static_cast<char>(random() % 3 == 0 ? random() : '0' + random() % 10);
    }
    try {
      DecodeSafetensors(bytes, "x");
    } catch (const UsageError&) {
    }
  }
}

}  // namespace
}  // namespace topdnn
