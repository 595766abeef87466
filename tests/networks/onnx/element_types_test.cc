// Networks with inputs, weights and outputs of other types than float, compared with arithmetic
// written here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int kHalf = onnx::TensorProto::FLOAT16, kFloat = onnx::TensorProto::FLOAT;

const char* const kEveryBackend[] = {"reference", "onednn", "eigen", "openblas"};

// The bits of 0.5, -0.25, 1.5 and 2 in IEEE's binary16.
onnx::TensorProto& HalfWeights(ModelBuilder& model) {
  constexpr int kBits[] = {0x3800, 0xb400, 0x3e00, 0x4000};
  return model.Integers("w", kHalf, {2, 2, 1, 1}, [&](int i) { return kBits[i]; });
}

// A model that is float16 throughout (github.com/microsoft/onnxconverter-common issue 208).
TEST(ElementTypesTest, HalfModelsComputeInFloat) {
  ModelBuilder model;
  model.Input("x", {1, 2, 1, 2}, kHalf).Output("y", kHalf);
  HalfWeights(model);
  model.Node("Conv", "c", {"x", "w"});
  model.Node("Relu", "y", {"c"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_EQ(network.inputs.front().type, DataType::kF16);
  EXPECT_EQ(network.outputs.front().type, DataType::kF16);
  for (const std::string backend : kEveryBackend) {
    EXPECT_THAT(RunNetwork(network, {{"x", {1, 2, 3, -4}}}, backend).at("y"),
                Pointwise(DoubleNear(1e-6), std::vector<double>{0, 2, 7.5, 0}))
        << backend;
  }
}

// keep_io_types: casts behind the input and before the output, which stay float.
TEST(ElementTypesTest, CastsToHalfKeepTheNumbers) {
  ModelBuilder model;
  model.Input("x", {1, 2, 1, 1}).Output("y");
  AddInt(model.Node("Cast", "h", {"x"}), "to", kHalf);
  HalfWeights(model);
  model.Node("Conv", "c", {"h", "w"});
  AddInt(model.Node("Cast", "y", {"c"}), "to", kFloat);
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_EQ(network.outputs.front().type, DataType::kF32);
  EXPECT_THAT(RunNetwork(network, {{"x", {4, 8}}}).at("y"), ElementsAre(0, 22));
}

// A constant that the file casts to float16 is rounded to it: 1/3 has 11 bits.
TEST(ElementTypesTest, ConstantsCastToHalfAreRounded) {
  ModelBuilder model;
  model.Input("x", {1}).Output("y");
  model.Floats("third", {1}, {1.0F / 3});
  AddInt(model.Node("Cast", "h", {"third"}), "to", kHalf);
  AddInt(model.Node("Cast", "f", {"h"}), "to", kFloat);
  model.Node("Add", "y", {"x", "f"});
  EXPECT_THAT(RunNetwork(ImportOnnx(model.Bytes(), {}), {{"x", {0}}}).at("y"),
              ElementsAre(1365.0 / 4096));
}

TEST(ElementTypesTest, ImagesOfBytesAreCast) {
  ModelBuilder model(11);
  model.Input("x", {1, 1, 1, 3}, onnx::TensorProto::UINT8).Output("y");
  AddInt(model.Node("Cast", "f", {"x"}), "to", kFloat);
  model.Floats("w", {1, 1, 1, 2}, {1, -2});
  model.Node("Conv", "y", {"f", "w"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_EQ(network.inputs.front().type, DataType::kU8);
  EXPECT_EQ(network.inputs.front().most, 255);
  EXPECT_THAT(RunNetwork(network, {{"x", {255, 7, 0}}}).at("y"), ElementsAre(241, 7));
}

TEST(ElementTypesTest, BooleansChoose) {
  ModelBuilder model;
  model.Input("c", {1, 3}, onnx::TensorProto::BOOL).Output("y");
  model.Floats("a", {1, 3}, {1, 2, 3});
  model.Floats("b", {1, 3}, {-1, -2, -3});
  model.Node("Not", "n", {"c"});
  model.Node("Where", "y", {"n", "a", "b"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_EQ(network.inputs.front().most, 1);
  EXPECT_THAT(RunNetwork(network, {{"c", {0, 1, 0}}}).at("y"), ElementsAre(1, -2, 3));
}

TEST(ElementTypesTest, DoubleInputsAreRefused) {
  ModelBuilder model;
  model.Input("x", {1, 3}, onnx::TensorProto::DOUBLE).Output("y");
  model.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("input x: of double"));
}

TEST(ElementTypesTest, AnInputOfBfloat16IsRefusedByItsName) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}, onnx::TensorProto::BFLOAT16).Output("y");
  model.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("input x: of bfloat16; float, float16"));
}

constexpr int kImageSize = 5, kSumChannels = 3, kTaps = 2 * 9;

std::vector<double> BytesOfImage() {
  std::vector<double> image;
  for (int i = 0; i < 2 * kImageSize * kImageSize; ++i) image.push_back(i * 83 % 256);
  return image;
}

int WeightAt(int i) { return i * 59 % 255 - 127; }

// The sums of a 3x3 convolution without padding.
std::vector<std::int64_t> SumsOf(const std::vector<double>& image) {
  std::vector<std::int64_t> sums;
  constexpr int kRows = kImageSize - 2;
  for (int k = 0; k < kSumChannels; ++k) {
    for (int at = 0; at < kRows * kRows; ++at) {
      std::int64_t sum = 0;
      for (int t = 0; t < kTaps; ++t) {
        const int y = at / kRows + t % 9 / 3, x = at % kRows + t % 3;
        const auto place = static_cast<std::size_t>((t / 9 * kImageSize + y) * kImageSize + x);
        sum += WeightAt(k * kTaps + t) * static_cast<std::int64_t>(image[place]);
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

// Requantization between the convolutions of an integer network, as NEMO writes it
// (github.com/pulp-platform/dory_examples): the products need more bits than f32 has.
TEST(ElementTypesTest, RequantizationIsExactInIntegers) {
  for (const bool by_channel : {false, true}) {
    ModelBuilder model(11);
    model.Input("x", {1, 2, kImageSize, kImageSize}).Output("y");
    std::vector<float> weights;
    for (int i = 0; i < kSumChannels * kTaps; ++i)
      weights.push_back(static_cast<float>(WeightAt(i)));
    model.Floats("w", {kSumChannels, 2, 3, 3}, weights);
    model.Node("Conv", "c", {"x", "w"});
    AddInt(model.Node("Cast", "i", {"c"}), "to", onnx::TensorProto::INT64);
    if (by_channel) {
      onnx::TensorProto& m = model.Ints("m", {20011, 8388607, -1});
      m.add_dims(1);
      m.add_dims(1);
    } else {
      model.Scalar("m", 20011);
    }
    model.Node("Mul", "i2", {"i", "m"});
    model.Scalar("b", 12345);
    model.Node("Add", "i3", {"b", "i2"});
    model.Scalar("d", 1 << 20);
    model.Node("Div", "i4", {"i3", "d"});
    AddInt(model.Node("Cast", "r", {"i4"}), "to", kFloat);
    model.Floats("lo", {}, {-200});
    model.Floats("hi", {}, {255});
    model.Node("Clip", "y", {"r", "lo", "hi"});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    std::vector<double> expected;
    const std::vector<std::int64_t> sums = SumsOf(BytesOfImage());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::int64_t by[] = {20011, 8388607, -1};
      const std::int64_t factor = by_channel ? by[i / (sums.size() / kSumChannels)] : by[0];
      const std::int64_t quotient = (sums[i] * factor + 12345) / (1 << 20);
      expected.push_back(std::clamp(static_cast<double>(quotient), -200.0, 255.0));
    }
    for (const std::string backend : kEveryBackend) {
      EXPECT_EQ(RunNetwork(network, {{"x", BytesOfImage()}}, backend).at("y"), expected) << backend;
    }
  }
}

TEST(ElementTypesTest, IntegersOfUnknownSizeAreNoResult) {
  ModelBuilder model;
  model.Input("x", {1, 3}).Output("y", onnx::TensorProto::INT64);
  AddInt(model.Node("Cast", "i", {"x"}), "to", onnx::TensorProto::INT64);
  model.Ints("m", {1000});
  model.Node("Mul", "y", {"i", "m"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("integers of unknown size"));
}

// The result has as many dimensions as the operand.
TEST(ElementTypesTest, IntegersOfUnknownSizeTakeNoMoreDimensions) {
  ModelBuilder model;
  model.Input("x", {1, 3}).Output("y");
  AddInt(model.Node("Cast", "i", {"x"}), "to", onnx::TensorProto::INT64);
  model.Integers("m", onnx::TensorProto::INT32, {1, 1, 1}, 5);
  AddInt(model.Node("Cast", "wide", {"m"}), "to", onnx::TensorProto::INT64);
  model.Node("Mul", "product", {"i", "wide"});
  AddInt(model.Node("Cast", "y", {"product"}), "to", kFloat);
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("integers of unknown size"));
}

// A bound beyond all integers of the input is not exact in f32, and needs not be. A sum of floats
// is not one of integers.
TEST(ElementTypesTest, BoundsThatNoIntegerReachesAndSumsOfCastsAreTaken) {
  ModelBuilder model;
  model.Input("x", {1, 3}, onnx::TensorProto::INT64).Output("y");
  model.Scalar("none", 0);
  model.Scalar("bound", 2147483647);
  model.Scalar("axis", 1);
  model.Node("Clip", "clip", {"x", "none", "bound"});
  AddInt(model.Node("Cast", "f", {"clip"}), "to", kFloat);
  model.Node("CumSum", "y", {"f", "axis"});
  EXPECT_NO_THROW(ImportOnnx(model.Bytes(), {}));
}

TEST(ElementTypesTest, BothBoundsOfIntegersAreExact) {
  for (const bool upper : {false, true}) {
    ModelBuilder model;
    model.Input("x", {1, 3}).Output("y");
    AddInt(model.Node("Cast", "i", {"x"}), "to", onnx::TensorProto::INT64);
    model.Scalar("bound", 16777217);
    model.Node("Clip", "clip", {"i", upper ? "" : "bound", upper ? "bound" : ""});
    AddInt(model.Node("Cast", "y", {"clip"}), "to", kFloat);
    EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("the integer 16777217 is not exact in f32"));
  }
}

}  // namespace
}  // namespace topdnn
