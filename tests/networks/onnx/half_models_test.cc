// Networks in float16, as onnxconverter-common writes them, compared with loops over numbers of
// float16 written here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

double OfHalf(int bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Small normal numbers of both signs with all bits of the fraction in use.
int HalfBitsAt(int i) { return (i % 3 == 0 ? 0x8000 : 0) | (11 + i % 4) << 10 | i * 397 % 1024; }

struct HalfLayer {
  int inputs, outputs, kernel, first;  // the first of its weights in HalfBitsAt

  double Weight(int i) const { return OfHalf(HalfBitsAt(first + i)); }
};

void AddHalfConvolution(ModelBuilder& model, const std::string& x, const std::string& y,
                        const HalfLayer& layer) {
  const auto bits = [&](int i) { return HalfBitsAt(layer.first + i); };
  model.Integers(y + "_w", onnx::TensorProto::FLOAT16,
                 {layer.outputs, layer.inputs, layer.kernel, layer.kernel}, bits);
  model.Integers(y + "_b", onnx::TensorProto::FLOAT16, {layer.outputs}, bits);
  const std::int64_t pad = layer.kernel / 2;
  AddInts(model.Node("Conv", y, {x, y + "_w", y + "_b"}), "pads", {pad, pad, pad, pad});
}

std::vector<double> HalfConvolved(const std::vector<double>& x, int size, const HalfLayer& layer) {
  std::vector<double> y;
  const int taps = layer.kernel * layer.kernel;
  for (int k = 0; k < layer.outputs; ++k) {
    for (int at = 0; at < size * size; ++at) {
      double sum = layer.Weight(k);
      for (int w = 0; w < layer.inputs * taps; ++w) {
        const int row = at / size + w / layer.kernel % layer.kernel - layer.kernel / 2;
        const int column = at % size + w % layer.kernel - layer.kernel / 2;
        if (row < 0 || row >= size || column < 0 || column >= size) continue;
        sum += x[static_cast<std::size_t>((w / taps * size + row) * size + column)] *
               layer.Weight(k * layer.inputs * taps + w);
      }
      y.push_back(sum);
    }
  }
  return y;
}

std::vector<double> Relu(std::vector<double> x) {
  for (double& element : x) element = std::max(element, 0.0);
  return x;
}

std::vector<double> HalfImage() {
  std::vector<double> image;
  for (int i = 0; i < 2 * 16; ++i) image.push_back(OfHalf(HalfBitsAt(3 * i + 1)));
  return image;
}

constexpr HalfLayer kStem = {2, 4, 3, 100}, kBody = {4, 4, 1, 300}, kHead = {4, 3, 1, 500};

// The type of every value but the model's inputs and outputs is float16 (keep_io_types;
// github.com/microsoft/onnxconverter-common issue 208, github.com/ENOT-AutoDL/onnx2torch issue
// 199), or that of those, too.
class HalfModelTest : public testing::TestWithParam<bool> {
 protected:
  // Adds the input and output, and calls `build` with the names of what it reads and writes.
  void Expect(
      const std::function<void(ModelBuilder&, const std::string&, const std::string&)>& build,
      const std::vector<double>& expected) const {
    const bool keep = GetParam();
    const int half = onnx::TensorProto::FLOAT16, single = onnx::TensorProto::FLOAT;
    ModelBuilder model(13);
    model.Input("x", {1, 2, 4, 4}, keep ? single : half).Output("y", keep ? single : half);
    if (keep) AddInt(model.Node("Cast", "x16", {"x"}), "to", half);
    build(model, keep ? "x16" : "x", keep ? "y16" : "y");
    if (keep) AddInt(model.Node("Cast", "y", {"y16"}), "to", single);
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    EXPECT_EQ(network.outputs.front().type, keep ? DataType::kF32 : DataType::kF16);
    for (const std::string backend : {"reference", "onednn", "eigen", "openblas"}) {
      EXPECT_THAT(RunNetwork(network, {{"x", HalfImage()}}, backend).at("y"),
                  Pointwise(DoubleNear(1e-5), expected))
          << backend;
    }
  }
};

TEST_P(HalfModelTest, ConvolutionsAndMaxima) {
  const std::vector<double> stem = Relu(HalfConvolved(HalfImage(), 4, kStem));
  std::vector<double> pooled;
  for (int i = 0; i < 4 * 4; ++i) {
    const int corner = i / 4 * 16 + i % 4 / 2 * 8 + i % 2 * 2;
    double most = 0;
    for (const int step : {0, 1, 4, 5}) {
      most = std::max(most, stem[static_cast<std::size_t>(corner + step)]);
    }
    pooled.push_back(most);
  }
  Expect(
      [](ModelBuilder& model, const std::string& x, const std::string& y) {
        AddHalfConvolution(model, x, "stem", kStem);
        model.Node("Relu", "relu", {"stem"});
        onnx::NodeProto& pool = model.Node("MaxPool", "pool", {"relu"});
        AddInts(pool, "kernel_shape", {2, 2});
        AddInts(pool, "strides", {2, 2});
        AddHalfConvolution(model, "pool", y, kHead);
      },
      HalfConvolved(pooled, 2, kHead));
}

TEST_P(HalfModelTest, AResidualBlockAndAClassifier) {
  const std::vector<double> stem = Relu(HalfConvolved(HalfImage(), 4, kStem));
  const std::vector<double> body = HalfConvolved(stem, 4, kBody);
  std::vector<double> means;
  for (std::size_t k = 0; k < 4; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += std::max(stem[16 * k + i] + body[16 * k + i], 0.0);
    means.push_back(sum / 16);
  }
  Expect(
      [](ModelBuilder& model, const std::string& x, const std::string& y) {
        AddHalfConvolution(model, x, "stem", kStem);
        model.Node("Relu", "relu", {"stem"});
        AddHalfConvolution(model, "relu", "body", kBody);
        model.Node("Add", "sum", {"relu", "body"});
        model.Node("Relu", "relu2", {"sum"});
        model.Node("GlobalAveragePool", "mean", {"relu2"});
        AddHalfConvolution(model, "mean", y, kHead);
      },
      HalfConvolved(means, 1, kHead));
}

// A batch normalization with statistics of float16, and a clip with bounds of float16.
TEST_P(HalfModelTest, ANormalizationAndAClip) {
  const auto bits_of = [](int which) {
    return [which](int k) { return HalfBitsAt(10 * which + k) & 0x7fff; };
  };
  std::vector<double> expected = HalfConvolved(HalfImage(), 4, kStem);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int k = static_cast<int>(i) / 16;
    const double gamma = OfHalf(bits_of(1)(k)), beta = OfHalf(bits_of(2)(k));
    const double mean = OfHalf(bits_of(3)(k)), variance = OfHalf(bits_of(4)(k));
    expected[i] =
        (expected[i] - mean) / std::sqrt(variance + static_cast<double>(1e-5F)) * gamma + beta;
    expected[i] = std::clamp(expected[i], 0.0, 6.0);
  }
  Expect(
      [&](ModelBuilder& model, const std::string& x, const std::string& y) {
        AddHalfConvolution(model, x, "stem", kStem);
        std::vector<std::string> inputs = {"stem"};
        for (int which = 1; which <= 4; ++which) {
          inputs.push_back("n" + std::to_string(which));
          model.Integers(inputs.back(), onnx::TensorProto::FLOAT16, {4}, bits_of(which));
        }
        model.Node("BatchNormalization", "norm", inputs);
        model.Integers("zero", onnx::TensorProto::FLOAT16, {}, 0);
        model.Integers("six", onnx::TensorProto::FLOAT16, {}, 0x4600);
        model.Node("Clip", y, {"norm", "zero", "six"});
      },
      expected);
}

INSTANTIATE_TEST_SUITE_P(OnnxConverter, HalfModelTest, testing::Values(true, false),
                         [](const auto& test) {
                           return std::string(test.param ? "KeepIoTypes" : "HalfThroughout");
                         });

}  // namespace
}  // namespace topdnn
