// Networks of ONNX's operations on integers, compared with loops over integers written here.

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

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSize = 6, kChannels = 3, kOutputs = 4, kClasses = 5;

// The nearest integer, a tie to the even one, plus the zero point, within the type.
int Rounded(float x, int zero_point, bool is_signed) {
  const int integer = static_cast<int>(std::nearbyint(x)) + zero_point;
  return std::clamp(integer, is_signed ? -128 : 0, is_signed ? 127 : 255);
}

int WeightOf(int i) { return i * 37 % 201 - 100; }

std::vector<double> TestImage() {
  std::vector<double> image(static_cast<std::size_t>(kChannels * kSize * kSize));
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<double>(static_cast<float>(std::sin(0.7 * static_cast<double>(i))));
  }
  return image;
}

// The sums of a 3x3 convolution with padding 1 of (integer - zero point).
std::vector<int> ConvSums(const std::vector<int>& image, int zero_point) {
  std::vector<int> sums;
  for (int k = 0; k < kOutputs; ++k) {
    for (int at = 0; at < kSize * kSize; ++at) {
      int sum = 0;
      for (int w = 0; w < kChannels * 9; ++w) {
        const int y = at / kSize + w % 9 / 3 - 1, x = at % kSize + w % 3 - 1;
        if (y < 0 || y >= kSize || x < 0 || x >= kSize) continue;
        const int place = (w / 9 * kSize + y) * kSize + x;
        sum +=
            (image[static_cast<std::size_t>(place)] - zero_point) * WeightOf(k * kChannels * 9 + w);
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

struct ZeroPoints {
  int input, hidden;
};

// QuantizeLinear, QLinearConv with scales by channel and a bias, MaxPool, Reshape, QLinearMatMul
// and DequantizeLinear.
std::string QLinearModel(const ZeroPoints& zero) {
  ModelBuilder model(13);
  model.Input("x", {1, kChannels, kSize, kSize}).Output("y");
  const int u8 = onnx::TensorProto::UINT8, s8 = onnx::TensorProto::INT8;
  model.Floats("xs", {}, {0.0078125F});
  model.Integers("xz", u8, {}, zero.input);
  model.Node("QuantizeLinear", "q", {"x", "xs", "xz"});
  model.Integers("w", s8, {kOutputs, kChannels, 3, 3}, WeightOf);
  model.Floats("ws", {kOutputs}, {0.01F, 0.02F, 0.005F, 0.04F});
  model.Integers("wz", s8, {kOutputs}, 0);
  model.Floats("hs", {}, {0.0625F});
  model.Integers("hz", u8, {}, zero.hidden);
  model.Integers("b", onnx::TensorProto::INT32, {kOutputs}, [](int i) { return 300 * i - 500; });
  AddInts(model.Node("QLinearConv", "conv", {"q", "xs", "xz", "w", "ws", "wz", "hs", "hz", "b"}),
          "pads", {1, 1, 1, 1});
  onnx::NodeProto& pool = model.Node("MaxPool", "pool", {"conv"});
  AddInts(pool, "kernel_shape", {2, 2});
  AddInts(pool, "strides", {2, 2});
  model.Ints("rows", {1, -1});
  model.Node("Reshape", "flat", {"pool", "rows"});
  model.Integers("v", s8, {kOutputs * 9, kClasses}, WeightOf);
  model.Floats("vs", {}, {0.03F});
  model.Integers("vz", s8, {}, 2);
  model.Floats("ys", {}, {0.5F});
  model.Integers("yz", s8, {}, -7);
  model.Node("QLinearMatMul", "product", {"flat", "hs", "hz", "v", "vs", "vz", "ys", "yz"});
  model.Node("DequantizeLinear", "y", {"product", "ys", "yz"});
  return model.Bytes();
}

std::vector<double> QLinearResult(const ZeroPoints& zero) {
  std::vector<int> image;
  for (const double x : TestImage()) {
    image.push_back(Rounded(static_cast<float>(x) / 0.0078125F, zero.input, false));
  }
  const float scales[] = {0.01F, 0.02F, 0.005F, 0.04F};
  std::vector<int> hidden;
  const std::vector<int> sums = ConvSums(image, zero.input);
  for (int i = 0; i < kOutputs * kSize * kSize; ++i) {
    const int k = i / (kSize * kSize);
    const auto sum = static_cast<float>(sums[static_cast<std::size_t>(i)] + 300 * k - 500);
    hidden.push_back(Rounded(sum * (0.0078125F * scales[k] / 0.0625F), zero.hidden, false));
  }
  std::vector<int> pooled;
  for (int i = 0; i < kOutputs * 9; ++i) {
    const int corner = i / 9 * kSize * kSize + i % 9 / 3 * 2 * kSize + i % 3 * 2;
    int most = 0;
    for (const int step : {0, 1, kSize, kSize + 1}) {
      most = std::max(most, hidden[static_cast<std::size_t>(corner + step)]);
    }
    pooled.push_back(most);
  }
  std::vector<double> result;
  for (int c = 0; c < kClasses; ++c) {
    int sum = 0;
    for (int i = 0; i < kOutputs * 9; ++i) {
      sum += (pooled[static_cast<std::size_t>(i)] - zero.hidden) * (WeightOf(i * kClasses + c) - 2);
    }
    const int y = Rounded(static_cast<float>(sum) * (0.0625F * 0.03F / 0.5F), -7, true);
    result.push_back(0.5 * (y + 7));
  }
  return result;
}

TEST(IntegerNodesTest, QLinearLayersAgreeWithLoopsOverIntegers) {
  for (const ZeroPoints& zero : {ZeroPoints{0, 0}, {128, 0}, {128, 128}, {100, 0}, {128, 31}}) {
    const ImportedNetwork network = ImportOnnx(QLinearModel(zero), {});
    for (const char* backend : {"reference", "onednn", "openblas"}) {
      EXPECT_EQ(RunGraph(network.graph, network.parameters, TestImage(), backend),
                QLinearResult(zero))
          << backend << " with zero points " << zero.input << " and " << zero.hidden;
    }
  }
}

TEST(IntegerNodesTest, AConvolutionWithoutAZeroPointIsAnIntegerLayer) {
  for (const bool symmetric : {true, false}) {
    const ImportedNetwork network = ImportOnnx(QLinearModel({symmetric ? 128 : 100, 0}), {});
    std::vector<std::string> kinds;
    for (const GraphNode& node : network.graph.nodes()) kinds.emplace_back(node.op->kind());
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "quantized_conv"), symmetric ? 1 : 0);
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "conv"), symmetric ? 0 : 1);
  }
}

// The pattern of a network that is quantized while it runs: DynamicQuantizeLinear, ConvInteger,
// Cast and Mul.
TEST(IntegerNodesTest, ADynamicallyQuantizedConvolutionAgreesWithLoopsOverIntegers) {
  ModelBuilder model(13);
  model.Input("x", {1, kChannels, kSize, kSize}).Output("y");
  onnx::NodeProto& quantize = model.Node("DynamicQuantizeLinear", "q", {"x"});
  quantize.add_output("scale");
  quantize.add_output("zero");
  model.Integers("w", onnx::TensorProto::INT8, {kOutputs, kChannels, 3, 3}, WeightOf);
  AddInts(model.Node("ConvInteger", "sums", {"q", "w", "zero"}), "pads", {1, 1, 1, 1});
  AddInt(model.Node("Cast", "real", {"sums"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Mul", "y", {"real", "scale"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  const std::vector<double> image = TestImage();
  const auto least = static_cast<float>(*std::min_element(image.begin(), image.end()));
  const auto most = static_cast<float>(*std::max_element(image.begin(), image.end()));
  const float scale = (most - least) / 255.0F;
  const int zero_point = Rounded(-least / scale, 0, false);
  std::vector<int> integers;
  for (const double x : image) {
    integers.push_back(Rounded(static_cast<float>(x) / scale, zero_point, false));
  }
  std::vector<double> expected;
  for (const int sum : ConvSums(integers, zero_point)) {
    expected.push_back(static_cast<double>(static_cast<float>(sum) * scale));
  }
  for (const char* backend : {"reference", "onednn", "openblas"}) {
    EXPECT_EQ(RunGraph(network.graph, network.parameters, image, backend), expected) << backend;
  }
}

TEST(IntegerNodesTest, SumsThatMayRoundAreRefused) {
  const auto model = [](int inputs) {
    ModelBuilder builder(13);
    builder.Input("x", {1, inputs}).Output("y");
    builder.Floats("s", {}, {1.0F});
    builder.Integers("z", onnx::TensorProto::UINT8, {}, 3);
    builder.Node("QuantizeLinear", "q", {"x", "s", "z"});
    builder.Integers("w", onnx::TensorProto::INT8, {inputs, 1}, 127);
    builder.Node("MatMulInteger", "sums", {"q", "w", "z"});
    AddInt(builder.Node("Cast", "y", {"sums"}), "to", onnx::TensorProto::FLOAT);
    return builder.Bytes();
  };
  EXPECT_NO_THROW(ImportOnnx(model(518), {}));  // 518 * 127 * 255 < 2^24
  EXPECT_THAT(RefusalOf(model(519)), HasSubstr("may reach 16807815, and f32 is exact up to 2^24"));
}

// ONNX Runtime writes the shuffle of ShuffleNet so: a part of reshaped integers.
TEST(QuantizedValueTest, APartOfReshapedIntegersIsOfIntegers) {
  ModelBuilder model;
  model.Input("x", {1, 6}).Output("y");
  model.Floats("scale", {}, {0.5F});
  model.Integers("zero", onnx::TensorProto::UINT8, {}, 0);
  model.Ints("shape", {1, 2, 3});
  model.Ints("one", {1});
  model.Ints("two", {2});
  model.Node("QuantizeLinear", "q", {"x", "scale", "zero"});
  model.Node("Reshape", "r", {"q", "shape"});
  model.Node("Slice", "part", {"r", "one", "two", "one"});
  model.Node("DequantizeLinear", "y", {"part", "scale", "zero"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(RunGraph(network.graph, network.parameters, {0.5, 1, 1.5, 2, 2.5, 3}, "reference"),
              ElementsAre(2, 2.5, 3));
}

}  // namespace
}  // namespace topdnn
