// The operations of com.microsoft that ONNX Runtime's quantizer and optimizer write, compared with
// loops over integers written here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

using Numbers = std::vector<double>;

constexpr int kU8 = onnx::TensorProto::UINT8;

onnx::NodeProto& RuntimeNode(ModelBuilder& model, const std::string& op_type,
                             const std::string& name, const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = model.Node(op_type, name, inputs);
  node.set_domain("com.microsoft");
  return node;
}

struct Scale {
  double scale;
  int zero;

  double Real(double integer) const { return (integer - zero) * scale; }
  double Integer(double real) const {
    return std::clamp(std::nearbyint(real / scale) + zero, 0.0, 255.0);
  }
};

constexpr Scale kX{0.0625, 100}, kOther{0.03125, 30}, kResult{0.125, 60};

void AddScale(ModelBuilder& model, const std::string& name, const Scale& scale) {
  model.Floats(name + "s", {}, {static_cast<float>(scale.scale)});
  model.Integers(name + "z", kU8, {}, scale.zero);
}

int OtherAt(int i) { return i * 53 % 256; }

// QuantizeLinear, the operation, and DequantizeLinear. Returns the integers of the result.
Numbers Quantized(const std::function<void(ModelBuilder&)>& build, const Numbers& integers,
                  const std::vector<std::int64_t>& dims, std::int64_t opset = 13,
                  const Scale& from = kX, const Scale& to = kResult,
                  const std::string& backend = "reference") {
  ModelBuilder model(opset);
  model.Domain("com.microsoft").Input("x", dims).Output("y");
  AddScale(model, "x", from);
  AddScale(model, "o", kOther);
  AddScale(model, "r", to);
  model.Node("QuantizeLinear", "q", {"x", "xs", "xz"});
  build(model);
  model.Node("DequantizeLinear", "y", {"k", "rs", "rz"});
  Numbers reals;
  for (const double integer : integers) reals.push_back(from.Real(integer));
  Numbers result = RunNetwork(ImportOnnx(model.Bytes(), {}), {{"x", reals}}, backend).at("y");
  for (double& real : result) real = std::round(real / to.scale) + to.zero;
  return result;
}

Numbers Image(int count) {
  Numbers integers;
  for (int i = 0; i < count; ++i) integers.push_back(i * 91 % 256);
  return integers;
}

Numbers Each(const Numbers& integers, const std::function<double(double)>& function) {
  Numbers result;
  for (const double x : integers) result.push_back(kResult.Integer(function(kX.Real(x))));
  return result;
}

TEST(RuntimeNodesTest, SumsAndProductsWithAConstant) {
  const Numbers image = Image(12);
  for (const std::string op_type : {"QLinearAdd", "QLinearMul"}) {
    const auto build = [&](ModelBuilder& m) {
      m.Integers("o", kU8, {1, 3, 2, 2}, OtherAt);
      RuntimeNode(m, op_type, "k", {"q", "xs", "xz", "o", "os", "oz", "rs", "rz"});
    };
    Numbers expected;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double a = kX.Real(image[i]), b = kOther.Real(OtherAt(static_cast<int>(i)));
      expected.push_back(kResult.Integer(op_type == "QLinearAdd" ? a + b : a * b));
    }
    EXPECT_EQ(Quantized(build, image, {1, 3, 2, 2}), expected) << op_type;
  }
}

// With zero points that integer layers have, the values between are kept as real numbers.
TEST(RuntimeNodesTest, ASumOfTwoValuesInTheQuantizationOfIntegerLayers) {
  const Scale symmetric{0.0625, 128};
  const Numbers image = Image(12);
  const auto build = [](ModelBuilder& m) {
    RuntimeNode(m, "QLinearAdd", "s", {"q", "xs", "xz", "q", "xs", "xz", "xs", "xz"});
    RuntimeNode(m, "QLinearAdd", "k", {"s", "xs", "xz", "q", "xs", "xz", "rs", "rz"});
  };
  Numbers expected;
  for (const double x : image) {
    const double sum = symmetric.Integer(2 * symmetric.Real(x));
    expected.push_back(symmetric.Integer(symmetric.Real(sum) + symmetric.Real(x)));
  }
  EXPECT_EQ(Quantized(build, image, {1, 3, 2, 2}, 13, symmetric, symmetric), expected);
}

TEST(RuntimeNodesTest, FunctionsOfOneValue) {
  const Numbers image = Image(16);
  const auto build = [](const std::string& op_type) {
    return [op_type](ModelBuilder& m) {
      onnx::NodeProto& node = RuntimeNode(m, op_type, "k", {"q", "xs", "xz", "rs", "rz"});
      if (op_type == "QLinearLeakyRelu") AddFloat(node, "alpha", 0.25F);
    };
  };
  EXPECT_EQ(Quantized(build("QLinearLeakyRelu"), image, {1, 4, 2, 2}),
            Each(image, [](double x) { return x < 0 ? 0.25 * x : x; }));
  EXPECT_EQ(Quantized(build("QLinearSigmoid"), image, {1, 4, 2, 2}),
            Each(image, [](double x) { return 1 / (1 + std::exp(-x)); }));
}

TEST(RuntimeNodesTest, Averages) {
  const Numbers image = Image(16);
  const auto mean = [&](std::initializer_list<std::size_t> places) {
    double sum = 0;
    for (const std::size_t i : places) sum += kX.Real(image[i]);
    return kResult.Integer(sum / static_cast<double>(places.size()));
  };
  EXPECT_EQ(Quantized(
                [](ModelBuilder& m) {
                  onnx::NodeProto& node =
                      RuntimeNode(m, "QLinearAveragePool", "k", {"q", "xs", "xz", "rs", "rz"});
                  AddInts(node, "kernel_shape", {2, 2});
                  AddInts(node, "strides", {2, 2});
                },
                image, {1, 1, 4, 4}),
            (Numbers{mean({0, 1, 4, 5}), mean({2, 3, 6, 7}), mean({8, 9, 12, 13}),
                     mean({10, 11, 14, 15})}));
  const auto global = [](std::int64_t channels_last) {
    return [channels_last](ModelBuilder& m) {
      AddInt(RuntimeNode(m, "QLinearGlobalAveragePool", "k", {"q", "xs", "xz", "rs", "rz"}),
             "channels_last", channels_last);
    };
  };
  EXPECT_EQ(Quantized(global(0), image, {1, 4, 2, 2}),
            (Numbers{mean({0, 1, 2, 3}), mean({4, 5, 6, 7}), mean({8, 9, 10, 11}),
                     mean({12, 13, 14, 15})}));
  EXPECT_THROW(Quantized(global(1), image, {1, 4, 2, 2}), OnnxError);
}

TEST(RuntimeNodesTest, AConcatenationOfTwoScales) {
  const Numbers image = Image(4);
  const auto build = [](ModelBuilder& m) {
    RuntimeNode(m, "QLinearAdd", "s", {"q", "xs", "xz", "q", "xs", "xz", "os", "oz"});
    AddInt(RuntimeNode(m, "QLinearConcat", "k", {"rs", "rz", "q", "xs", "xz", "s", "os", "oz"}),
           "axis", 1);
  };
  Numbers expected;
  for (const double x : image) expected.push_back(kResult.Integer(kX.Real(x)));
  for (const double x : image) {
    expected.push_back(kResult.Integer(kOther.Real(kOther.Integer(2 * kX.Real(x)))));
  }
  EXPECT_EQ(Quantized(build, image, {1, 1, 2, 2}), expected);
}

TEST(RuntimeNodesTest, AnInnerProduct) {
  const Numbers image = Image(6);
  for (const bool has_result : {true, false}) {
    ModelBuilder model;
    model.Domain("com.microsoft").Input("x", {1, 6}).Output("y");
    AddScale(model, "x", kX);
    AddScale(model, "r", kResult);
    model.Node("QuantizeLinear", "q", {"x", "xs", "xz"});
    model.Integers("w", onnx::TensorProto::INT8, {3, 6}, [](int i) { return i * 37 % 201 - 100; });
    model.Floats("ws", {3}, {0.01F, 0.02F, 0.005F});
    model.Integers("wz", onnx::TensorProto::INT8, {3}, 0);
    model.Integers("b", onnx::TensorProto::INT32, {3}, [](int i) { return 300 * i - 500; });
    std::vector<std::string> inputs = {"q", "xs", "xz", "w", "ws", "wz", "b"};
    if (has_result) inputs.insert(inputs.end(), {"rs", "rz"});
    AddInt(RuntimeNode(model, "QGemm", has_result ? "k" : "y", inputs), "transB", 1);
    if (has_result) model.Node("DequantizeLinear", "y", {"k", "rs", "rz"});
    Numbers reals, expected;
    for (const double integer : image) reals.push_back(kX.Real(integer));
    for (int k = 0; k < 3; ++k) {
      double sum = 300 * k - 500;
      for (int i = 0; i < 6; ++i) {
        sum += ((k * 6 + i) * 37 % 201 - 100) * (image[static_cast<std::size_t>(i)] - kX.zero);
      }
      const double real = sum * kX.scale * (k == 0 ? 0.01 : k == 1 ? 0.02 : 0.005);
      expected.push_back(has_result ? kResult.Real(kResult.Integer(real)) : real);
    }
    EXPECT_THAT(RunNetwork(ImportOnnx(model.Bytes(), {}), {{"x", reals}}).at("y"),
                Pointwise(DoubleNear(1e-4), expected));
  }
}

void AddActivation(onnx::NodeProto& node, const std::string& activation,
                   const std::vector<float>& parameters) {
  onnx::AttributeProto& name = *node.add_attribute();
  name.set_name("activation");
  name.set_type(onnx::AttributeProto::STRING);
  name.set_s(activation);
  onnx::AttributeProto& values = *node.add_attribute();
  values.set_name("activation_params");
  values.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : parameters) values.add_floats(value);
}

// A 1x1 convolution with the weight 2 and the bias 1 of -3, 0 and 2: -5, 1 and 5.
TEST(RuntimeNodesTest, FusedConvolutions) {
  struct Activation {
    std::string name;
    std::vector<float> parameters;
    std::function<double(double)> function;
  };
  const std::vector<Activation> activations = {
      {"Relu", {}, [](double x) { return std::max(x, 0.0); }},
      {"Tanh", {}, [](double x) { return std::tanh(x); }},
      {"Sigmoid", {}, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"LeakyRelu", {0.25F}, [](double x) { return x < 0 ? 0.25 * x : x; }},
      {"Clip", {-1, 4}, [](double x) { return std::clamp(x, -1.0, 4.0); }},
      {"HardSigmoid", {0.125F, 0.5F}, [](double x) { return std::clamp(x / 8 + 0.5, 0.0, 1.0); }}};
  for (const Activation& one : activations) {
    for (const bool sum : {false, true}) {
      ModelBuilder model;
      model.Domain("com.microsoft").Input("x", {1, 1, 1, 3}).Output("y");
      model.Floats("w", {1, 1, 1, 1}, {2});
      model.Floats("b", {1}, {1});
      std::vector<std::string> inputs = {"x", "w", "b"};
      if (sum) inputs.emplace_back("x");
      AddActivation(RuntimeNode(model, "FusedConv", "y", inputs), one.name, one.parameters);
      const Numbers x = {-3, 0, 2};
      Numbers expected;
      for (const double element : x) {
        expected.push_back(one.function(2 * element + 1 + (sum ? element : 0)));
      }
      EXPECT_THAT(RunNetwork(ImportOnnx(model.Bytes(), {}), {{"x", x}}).at("y"),
                  Pointwise(DoubleNear(1e-6), expected))
          << one.name;
    }
  }
}

TEST(RuntimeNodesTest, AnUnknownActivationIsNamed) {
  ModelBuilder model;
  model.Domain("com.microsoft").Input("x", {1, 1, 1, 3}).Output("y");
  model.Floats("w", {1, 1, 1, 1}, {2});
  AddActivation(RuntimeNode(model, "FusedConv", "y", {"x", "w"}), "Mystery", {});
  EXPECT_THAT(RefusalOf(model.Bytes()),
              HasSubstr("com.microsoft::FusedConv at y (the activation Mystery)"));
}

}  // namespace
}  // namespace topdnn
