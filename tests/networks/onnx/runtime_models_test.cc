// Whole networks as ONNX Runtime's quantize_static writes them with QuantFormat.QOperator, and as
// its optimizer writes them, compared with loops over integers written here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr int kByte = onnx::TensorProto::UINT8, kSignedByte = onnx::TensorProto::INT8;

// An image of integers, and what they stand for.
struct QuantizedImage {
  std::vector<int> integers;  // (channels, size, size)
  int channels, size;
  float scale;
  int zero;

  double Real(std::size_t i) const { return static_cast<double>(scale) * (integers[i] - zero); }
};

int Byte(double x, int zero) {
  return static_cast<int>(std::clamp(std::nearbyint(x) + zero, 0.0, 255.0));
}

int KernelAt(int i) { return i * 71 % 255 - 127; }
int BiasAt(int k) { return 700 * k - 900; }
float WeightScaleAt(int k) { return 0.002F + 0.0007F * static_cast<float>(k); }

struct ImageType {
  float scale;
  int zero;
};

// A square convolution with padding, weights KernelAt and a bias; ONNX Runtime multiplies the sum
// of integers by one number for each channel.
QuantizedImage Convolved(const QuantizedImage& x, int outputs, int kernel, const ImageType& to) {
  QuantizedImage y = {{}, outputs, x.size, to.scale, to.zero};
  for (int k = 0; k < outputs; ++k) {
    for (int at = 0; at < x.size * x.size; ++at) {
      int sum = BiasAt(k);
      for (int w = 0; w < x.channels * kernel * kernel; ++w) {
        const int c = w / (kernel * kernel);
        const int row = at / x.size + w / kernel % kernel - kernel / 2;
        const int column = at % x.size + w % kernel - kernel / 2;
        if (row < 0 || row >= x.size || column < 0 || column >= x.size) continue;
        const int pixel =
            x.integers[static_cast<std::size_t>((c * x.size + row) * x.size + column)];
        sum += (pixel - x.zero) * KernelAt(k * x.channels * kernel * kernel + w);
      }
      const float factor = x.scale * WeightScaleAt(k) / to.scale;
      y.integers.push_back(Byte(static_cast<double>(static_cast<float>(sum) * factor), to.zero));
    }
  }
  return y;
}

// Adds the constants and a node QLinearConv from `x` to `y`.
void AddConvolution(ModelBuilder& model, const std::string& x, const std::string& y, int inputs,
                    int outputs, int kernel) {
  const std::string w = y + "_w";
  model.Integers(w, kSignedByte, {outputs, inputs, kernel, kernel}, KernelAt);
  std::vector<float> scales;
  for (int k = 0; k < outputs; ++k) scales.push_back(WeightScaleAt(k));
  model.Floats(w + "s", {outputs}, scales);
  model.Integers(w + "z", kSignedByte, {outputs}, 0);
  model.Integers(w + "b", onnx::TensorProto::INT32, {outputs}, BiasAt);
  const std::int64_t pad = kernel / 2;
  AddInts(model.Node("QLinearConv", y,
                     {x, x + "_s", x + "_z", w, w + "s", w + "z", y + "_s", y + "_z", w + "b"}),
          "pads", {pad, pad, pad, pad});
}

void AddTarget(ModelBuilder& model, const std::string& name, const ImageType& target) {
  model.Floats(name + "_s", {}, {target.scale});
  model.Integers(name + "_z", kByte, {}, target.zero);
}

onnx::NodeProto& Microsoft(ModelBuilder& model, const std::string& op_type, const std::string& name,
                           const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = model.Node(op_type, name, inputs);
  node.set_domain("com.microsoft");
  return node;
}

constexpr int kImageChannels = 3, kImageExtent = 6;

// Reals that are whole numbers of the input's quantization, and their integers.
std::pair<std::vector<double>, QuantizedImage> ImageOf(const ImageType& target) {
  QuantizedImage image = {{}, kImageChannels, kImageExtent, target.scale, target.zero};
  std::vector<double> reals;
  for (int i = 0; i < kImageChannels * kImageExtent * kImageExtent; ++i) {
    image.integers.push_back(i * 89 % 256);
    reals.push_back(image.Real(static_cast<std::size_t>(i)));
  }
  return {reals, image};
}

void ExpectOnEachBackend(const ModelBuilder& model, const std::vector<double>& input,
                         const std::vector<double>& expected) {
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  for (const std::string backend : {"reference", "onednn", "eigen", "openblas"}) {
    EXPECT_THAT(RunNetwork(network, {{"x", input}}, backend).at("y"),
                Pointwise(DoubleNear(1e-6), expected))
        << backend;
  }
}

// A residual block and a classifier, as in ResNet and MobileNet.
TEST(RuntimeModelsTest, AResidualNetworkOfTheQuantizer) {
  for (const int zero : {128, 110}) {
    const ImageType in = {0.03125F, zero}, hidden = {0.25F, 0}, sum = {0.5F, 3}, mean = {0.25F, 7};
    ModelBuilder model(13);
    model.Domain("com.microsoft")
        .Input("x", {1, kImageChannels, kImageExtent, kImageExtent})
        .Output("y");
    for (const auto& [name, target] :
         {std::pair("q", in), {"a", hidden}, {"b", hidden}, {"s", sum}, {"m", mean}}) {
      AddTarget(model, name, target);
    }
    model.Node("QuantizeLinear", "q", {"x", "q_s", "q_z"});
    AddConvolution(model, "q", "a", kImageChannels, 4, 3);
    AddConvolution(model, "a", "b", 4, 4, 1);
    Microsoft(model, "QLinearAdd", "s", {"a", "a_s", "a_z", "b", "b_s", "b_z", "s_s", "s_z"});
    Microsoft(model, "QLinearGlobalAveragePool", "m", {"s", "s_s", "s_z", "m_s", "m_z"});
    model.Ints("row", {1, -1});
    model.Node("Reshape", "flat", {"m", "row"});
    model.Integers("v", kSignedByte, {5, 4}, KernelAt);
    model.Floats("vs", {}, {0.01F});
    model.Integers("vz", kSignedByte, {}, 0);
    model.Integers("vb", onnx::TensorProto::INT32, {5}, BiasAt);
    AddInt(Microsoft(model, "QGemm", "y", {"flat", "m_s", "m_z", "v", "vs", "vz", "vb"}), "transB",
           1);

    const auto& [reals, image] = ImageOf(in);
    const QuantizedImage a = Convolved(image, 4, 3, hidden), b = Convolved(a, 4, 1, hidden);
    std::vector<double> expected(5);
    for (int k = 0; k < 4; ++k) {
      double total = 0;
      for (int i = 0; i < kImageExtent * kImageExtent; ++i) {
        const auto at = static_cast<std::size_t>(k * kImageExtent * kImageExtent + i);
        const int added = Byte((a.Real(at) + b.Real(at)) / 0.5, sum.zero);
        total += 0.5 * (added - sum.zero);
      }
      const int average = Byte(total / (kImageExtent * kImageExtent) / 0.25, mean.zero);
      for (int c = 0; c < 5; ++c) {
        expected[static_cast<std::size_t>(c)] += (average - mean.zero) * KernelAt(c * 4 + k);
      }
    }
    for (int c = 0; c < 5; ++c) {
      double& y = expected[static_cast<std::size_t>(c)];
      y = (y + BiasAt(c)) * static_cast<double>(0.25F * 0.01F);
    }
    SCOPED_TRACE(zero);
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    for (const std::string backend : {"reference", "onednn", "eigen", "openblas"}) {
      EXPECT_THAT(RunNetwork(network, {{"x", reals}}, backend).at("y"),
                  Pointwise(DoubleNear(1e-4), expected))
          << backend;
    }
  }
}

// Two branches that meet, as in SqueezeNet and YOLO, with the functions that follow them there.
TEST(RuntimeModelsTest, ABranchedNetworkOfTheQuantizer) {
  const ImageType in = {0.03125F, 100}, hidden = {0.25F, 90}, other = {0.5F, 128},
                  joined = {0.5F, 70};
  const ImageType half = {0.125F, 60}, act = {0.0625F, 100}, result = {1.0F / 256, 0};
  ModelBuilder model(13);
  model.Domain("com.microsoft")
      .Input("x", {1, kImageChannels, kImageExtent, kImageExtent})
      .Output("y");
  for (const auto& [name, target] : {std::pair("q", in),
                                     {"a", hidden},
                                     {"e", hidden},
                                     {"f", other},
                                     {"c", joined},
                                     {"p", half},
                                     {"l", act},
                                     {"g", result}}) {
    AddTarget(model, name, target);
  }
  model.Node("QuantizeLinear", "q", {"x", "q_s", "q_z"});
  AddConvolution(model, "q", "a", kImageChannels, 2, 3);
  AddConvolution(model, "a", "e", 2, 2, 1);
  AddConvolution(model, "a", "f", 2, 3, 3);
  AddInt(
      Microsoft(model, "QLinearConcat", "c", {"c_s", "c_z", "e", "e_s", "e_z", "f", "f_s", "f_z"}),
      "axis", 1);
  onnx::NodeProto& pool =
      Microsoft(model, "QLinearAveragePool", "p", {"c", "c_s", "c_z", "p_s", "p_z"});
  AddInts(pool, "kernel_shape", {2, 2});
  AddInts(pool, "strides", {2, 2});
  AddFloat(Microsoft(model, "QLinearLeakyRelu", "l", {"p", "p_s", "p_z", "l_s", "l_z"}), "alpha",
           0.5F);
  Microsoft(model, "QLinearSigmoid", "g", {"l", "l_s", "l_z", "g_s", "g_z"});
  model.Node("DequantizeLinear", "y", {"g", "g_s", "g_z"});

  const auto& [reals, image] = ImageOf(in);
  const QuantizedImage a = Convolved(image, 2, 3, hidden);
  std::vector<double> concatenated;
  for (const QuantizedImage& branch : {Convolved(a, 2, 1, hidden), Convolved(a, 3, 3, other)}) {
    for (std::size_t i = 0; i < branch.integers.size(); ++i) {
      concatenated.push_back(0.5 * (Byte(branch.Real(i) / 0.5, joined.zero) - joined.zero));
    }
  }
  std::vector<double> expected;
  for (int i = 0; i < 5 * 9; ++i) {
    const int corner =
        i / 9 * kImageExtent * kImageExtent + i % 9 / 3 * 2 * kImageExtent + i % 3 * 2;
    double mean = 0;
    for (const int step : {0, 1, kImageExtent, kImageExtent + 1}) {
      mean += concatenated[static_cast<std::size_t>(corner + step)] / 4;
    }
    const double pooled = 0.125 * (Byte(mean / 0.125, half.zero) - half.zero);
    const double leaky = pooled < 0 ? 0.5 * pooled : pooled;
    const double active = 0.0625 * (Byte(leaky / 0.0625, act.zero) - act.zero);
    expected.push_back(Byte(256 / (1 + std::exp(-active)), 0) / 256.0);
  }
  EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0.8);
  EXPECT_LT(*std::min_element(expected.begin(), expected.end()), 0.4);
  ExpectOnEachBackend(model, reals, expected);
}

// A block that the optimizer has fused: a convolution with its activation, and another one that
// adds the first's input.
TEST(RuntimeModelsTest, ABlockOfTheOptimizer) {
  ModelBuilder model(13);
  model.Domain("com.microsoft").Input("x", {1, 2, 4, 4}).Output("y");
  std::vector<float> first, second;
  for (int i = 0; i < 2 * 2 * 9; ++i) first.push_back(static_cast<float>(KernelAt(i)) / 128);
  for (int i = 0; i < 2 * 2; ++i) second.push_back(static_cast<float>(KernelAt(7 * i)) / 64);
  model.Floats("w1", {2, 2, 3, 3}, first);
  model.Floats("b1", {2}, {0.5F, -0.25F});
  model.Floats("w2", {2, 2, 1, 1}, second);
  model.Floats("b2", {2}, {-0.125F, 0.75F});
  const auto activation = [](onnx::NodeProto& node, const std::string& name) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("activation");
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(name);
  };
  onnx::NodeProto& node = Microsoft(model, "FusedConv", "h", {"x", "w1", "b1"});
  AddInts(node, "pads", {1, 1, 1, 1});
  AddInts(node, "kernel_shape", {3, 3});
  activation(node, "Relu");
  activation(Microsoft(model, "FusedConv", "y", {"h", "w2", "b2", "x"}), "Relu");

  std::vector<double> x, hidden, expected;
  for (int i = 0; i < 32; ++i) x.push_back(i * 13 % 17 / 8.0 - 1);
  for (int i = 0; i < 32; ++i) {
    double sum = i / 16 == 0 ? 0.5 : -0.25;
    for (int w = 0; w < 18; ++w) {
      const int row = i % 16 / 4 + w % 9 / 3 - 1, column = i % 4 + w % 3 - 1;
      if (row < 0 || row > 3 || column < 0 || column > 3) continue;
      sum += x[static_cast<std::size_t>(w / 9 * 16 + row * 4 + column)] *
             static_cast<double>(first[static_cast<std::size_t>(i / 16 * 18 + w)]);
    }
    hidden.push_back(std::max(sum, 0.0));
  }
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t k = i / 16, at = i % 16;
    const double sum = (k == 0 ? -0.125 : 0.75) + hidden[at] * static_cast<double>(second[2 * k]) +
                       hidden[16 + at] * static_cast<double>(second[2 * k + 1]) + x[i];
    expected.push_back(std::max(sum, 0.0));
  }
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  for (const std::string backend : {"reference", "onednn", "eigen", "openblas"}) {
    EXPECT_THAT(RunNetwork(network, {{"x", x}}, backend).at("y"),
                Pointwise(DoubleNear(1e-5), expected))
        << backend;
  }
}

}  // namespace
}  // namespace topdnn
