// Nodes on constants alone are computed at import, whatever their operation: each result is
// compared with the definition written here, or with numbers worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
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

using Dims = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

// 2x3 and 3x2, and a vector.
const Dims k23 = {2, 3}, k32 = {3, 2}, k3 = {3};
const std::vector<float> kA = {1, -2, 3, -4, 5, -6}, kB = {2, 4, 8, 1, 0.5F, 16}, kV = {1, 2, 4};

struct ConstantCase {
  std::string op_type;
  // Adds the constants, and the node "k" that computes on them.
  std::function<void(ModelBuilder&)> build;
  Numbers expected;
  bool casts = false;  // the result is not of float
  std::int64_t opset = 13;
};

// The elements of k: what the network adds to 0.
Numbers ComputedConstant(const ConstantCase& one) {
  ModelBuilder model(one.opset);
  model.Input("x", {1}).Output("y");
  one.build(model);
  if (one.casts) AddInt(model.Node("Cast", "f", {"k"}), "to", onnx::TensorProto::FLOAT);
  model.Node("Add", "y", {"x", one.casts ? "f" : "k"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  // A reshape of x, and the addition.
  EXPECT_LE(network.graph.nodes().size(), 2u) << one.op_type;
  EXPECT_EQ(network.graph.nodes().back().op->kind(), "binary") << one.op_type;
  return RunNetwork(network, {{"x", {0}}}).at("y");
}

Numbers Each(const std::vector<float>& values, double (*function)(double)) {
  Numbers result;
  for (const float value : values) result.push_back(function(static_cast<double>(value)));
  return result;
}

ConstantCase Unary(const std::string& op_type, double (*function)(double),
                   const std::vector<float>& values = kA) {
  return {op_type,
          [op_type, values](ModelBuilder& m) {
            m.Floats("a", {static_cast<std::int64_t>(values.size())}, values);
            m.Node(op_type, "k", {"a"});
          },
          Each(values, function)};
}

// a is 2x3; b broadcasts.
ConstantCase Binary(const std::string& op_type, double (*function)(double, double),
                    bool casts = false) {
  Numbers expected;
  for (std::size_t i = 0; i < kA.size(); ++i) {
    expected.push_back(function(static_cast<double>(kA[i]), static_cast<double>(kV[i % 3])));
  }
  return {op_type,
          [op_type](ModelBuilder& m) {
            m.Floats("a", k23, kA);
            m.Floats("b", k3, kV);
            m.Node(op_type, "k", {"a", "b"});
          },
          std::move(expected), casts};
}

// Over the rows of a, 2x3.
ConstantCase Reduction(const std::string& op_type, Numbers expected) {
  return {op_type,
          [op_type](ModelBuilder& m) {
            m.Floats("a", k23, kA);
            if (op_type == "ReduceSum") {
              m.Ints("axes", {1});
              m.Node(op_type, "k", {"a", "axes"});
            } else {
              AddInts(m.Node(op_type, "k", {"a"}), "axes", {1});
            }
          },
          std::move(expected)};
}

// One input of floats, and others as the function adds them.
ConstantCase Of(const std::string& op_type, Numbers expected,
                std::function<void(ModelBuilder&)> build, bool casts = false,
                std::int64_t opset = 13) {
  return {op_type, std::move(build), std::move(expected), casts, opset};
}

std::vector<ConstantCase> UnaryCases() {
  const std::vector<float> positive = {0.25F, 1, 2.5F, 9};
  return {Unary("Sqrt", std::sqrt, positive),
          Unary("Exp", std::exp),
          Unary("Log", std::log, positive),
          Unary("Neg", [](double x) { return -x; }),
          Unary("Abs", std::fabs),
          Unary("Relu", [](double x) { return std::max(x, 0.0); }),
          Unary("Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }),
          Unary("Tanh", std::tanh),
          Unary("Erf", std::erf),
          Unary("Reciprocal", [](double x) { return 1 / x; }),
          Unary("Round", std::nearbyint, {0.5F, 1.5F, -2.5F, 2.4F}),
          Unary("Floor", std::floor, {0.5F, -0.5F}),
          Unary("Ceil", std::ceil, {0.5F, -0.5F}),
          Unary("Sin", std::sin),
          Unary("Softplus", [](double x) { return std::log1p(std::exp(x)); }),
          Unary("Sign", [](double x) { return x < 0   ? -1.0
                                              : x > 0 ? 1.0
                                                      : 0.0; }),
          Unary("Identity", [](double x) { return x; }),
          Unary("LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }),
          Unary("HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); })};
}

std::vector<ConstantCase> BinaryCases() {
  return {Binary("Add", [](double a, double b) { return a + b; }),
          Binary("Sub", [](double a, double b) { return a - b; }),
          Binary("Mul", [](double a, double b) { return a * b; }),
          Binary("Div", [](double a, double b) { return a / b; }),
          Binary("Pow", [](double a, double b) { return std::pow(a, b); }),
          Binary("Max", [](double a, double b) { return std::max(a, b); }),
          Binary("Min", [](double a, double b) { return std::min(a, b); }),
          Binary("Sum", [](double a, double b) { return a + b; }),
          Binary("Mean", [](double a, double b) { return (a + b) / 2; }),
          Binary("PRelu", [](double a, double b) { return a < 0 ? a * b : a; }),
          Binary(
              "Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }, true),
          Binary(
              "Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }, true),
          Binary(
              "GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }, true)};
}

std::vector<ConstantCase> ReductionCases() {
  return {Reduction("ReduceSum", {2, -5}),
          Reduction("ReduceMean", {2.0 / 3, -5.0 / 3}),
          Reduction("ReduceMax", {3, 5}),
          Reduction("ReduceMin", {-2, -6}),
          Reduction("ReduceProd", {-6, 120}),
          Reduction("ReduceL1", {6, 15}),
          Reduction("ReduceL2", {std::sqrt(14), std::sqrt(77)}),
          Reduction("ReduceSumSquare", {14, 77}),
          Reduction("ReduceLogSumExp", {std::log(std::exp(1) + std::exp(-2) + std::exp(3)),
                                        std::log(std::exp(-4) + std::exp(5) + std::exp(-6))})};
}

std::vector<ConstantCase> ProductCases() {
  return {Of("MatMul", {-12.5, 50, 29, -107},
             [](ModelBuilder& m) {
               // {1,-2,3; -4,5,-6} by {2,4; 8,1; 0.5,16}
               m.Floats("a", k23, kA);
               m.Floats("b", k32, {2, 4, 8, 1, 0.5F, 16});
               m.Node("MatMul", "k", {"a", "b"});
             }),
          Of("Gemm", {1 - 12.5, 2 + 50, 1 + 29, 2 - 107},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Floats("b", k32, {2, 4, 8, 1, 0.5F, 16});
               m.Floats("c", {2}, {1, 2});
               m.Node("Gemm", "k", {"a", "b", "c"});
             }),
          Of("Conv", {1 + 2 * 2, 2 + 2 * 3, 3 + 2 * 4},
             [](ModelBuilder& m) {
               m.Floats("a", {1, 1, 1, 4}, {1, 2, 3, 4});
               m.Floats("w", {1, 1, 1, 2}, {1, 2});
               m.Node("Conv", "k", {"a", "w"});
             }),
          Of("MaxPool", {2, 3, 4},
             [](ModelBuilder& m) {
               m.Floats("a", {1, 1, 1, 4}, {1, 2, 3, 4});
               AddInts(m.Node("MaxPool", "k", {"a"}), "kernel_shape", {1, 2});
             }),
          Of("Softmax", {0.25, 0.75},
             [](ModelBuilder& m) {
               m.Floats("a", {1, 2}, {0, std::log(3.0F)});
               m.Node("Softmax", "k", {"a"});
             }),
          Of("InstanceNormalization", {-1, 1, -1, 1}, [](ModelBuilder& m) {
            m.Floats("a", {1, 2, 2}, {2, 4, 10, 30});
            m.Floats("s", {2}, {1, 1});
            m.Floats("b", {2}, {0, 0});
            AddFloat(m.Node("InstanceNormalization", "k", {"a", "s", "b"}), "epsilon", 1e-12F);
          })};
}

void Bools(ModelBuilder& m, const std::string& name, const Dims& dims) {
  m.Integers(name, onnx::TensorProto::BOOL, dims, [](int i) { return i % 2; });
}

// Rows of a, 2x3, and other choices of its elements.
std::vector<ConstantCase> MovingCases() {
  return {Of("Slice", {-2, 3, 5, -6},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Ints("starts", {1});
               m.Ints("ends", {std::numeric_limits<std::int64_t>::max()});
               m.Ints("axes", {1});
               m.Node("Slice", "k", {"a", "starts", "ends", "axes"});
             }),
          Of("Gather", {-4, 5, -6, 1, -2, 3},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Ints("i", {-1, 0});
               AddInt(m.Node("Gather", "k", {"a", "i"}), "axis", 0);
             }),
          Of("GatherND", {-6, 1},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               onnx::TensorProto& i = m.Ints("i", {1, 2, 0, 0});
               i.clear_dims();
               i.add_dims(2);
               i.add_dims(2);
               m.Node("GatherND", "k", {"a", "i"});
             }),
          Of("Concat", {1, -2, 3, 1, -4, 5, -6, 2},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Floats("b", {2, 1}, {1, 2});
               m.Floats("none", {2, 0}, {});
               AddInt(m.Node("Concat", "k", {"a", "none", "b"}), "axis", 1);
             }),
          Of("Expand", {1, 2, 4, 1, 2, 4},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               m.Ints("shape", {2, 3});
               m.Node("Expand", "k", {"a", "shape"});
             }),
          Of(
              "Gather", {2, 0, 1},
              [](ModelBuilder& m) {
                m.Ints("i", {1, 2, 0});
                m.Node("Gather", "k", {"i", "i"});
              },
              true),
          Of("Tile", {1, 2, 4, 1, 2, 4},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               m.Ints("repeats", {2});
               m.Node("Tile", "k", {"a", "repeats"});
             }),
          Of("Pad", {7, 1, 2, 4, 7, 7},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               m.Ints("pads", {1, 2});
               m.Floats("seven", {}, {7});
               m.Node("Pad", "k", {"a", "pads", "seven"});
             }),
          Of("Split", {2, 4},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               m.Ints("lengths", {1, 2});
               onnx::NodeProto& split = m.Node("Split", "first", {"a", "lengths"});
               split.add_output("k");
             }),
          Of("Transpose", {1, -4, -2, 5, 3, -6},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Node("Transpose", "k", {"a"});
             }),
          Of("Where", {2, -2, 8, -4, 0.5, -6},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Floats("b", k23, kB);
               Bools(m, "c", {6});
               m.Ints("shape", {2, 3});
               m.Node("Reshape", "c2", {"c", "shape"});
               m.Node("Where", "k", {"c2", "a", "b"});
             }),
          Of(
              "Not", {1, 0, 1},
              [](ModelBuilder& m) {
                Bools(m, "c", k3);
                m.Node("Not", "k", {"c"});
              },
              true),
          Of(
              "And", {0, 0, 1},
              [](ModelBuilder& m) {
                m.Integers("c", onnx::TensorProto::BOOL, k3, [](int i) { return i > 0 ? 1 : 0; });
                m.Integers("d", onnx::TensorProto::BOOL, k3, [](int i) { return i != 1 ? 1 : 0; });
                m.Node("And", "k", {"c", "d"});
              },
              true),
          Of("ScatterND", {9, 2, 8},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               onnx::TensorProto& i = m.Ints("i", {0, 2});
               i.add_dims(1);
               m.Floats("u", {2}, {9, 8});
               m.Node("ScatterND", "k", {"a", "i", "u"});
             }),
          Of(
              "Trilu", {1, 0, 0, -4, 5, 0},
              [](ModelBuilder& m) {
                m.Floats("a", k23, kA);
                AddInt(m.Node("Trilu", "k", {"a"}), "upper", 0);
              },
              false, 14)};
}

std::vector<ConstantCase> IndexCases() {
  return {Of("CumSum", {1, 3, 7},
             [](ModelBuilder& m) {
               m.Floats("a", k3, kV);
               m.Scalar("axis", 0);
               m.Node("CumSum", "k", {"a", "axis"});
             }),
          Of("Clip", {1, -2, 2, -2, 2, -2},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Floats("lo", {}, {-2});
               m.Floats("hi", {}, {2});
               m.Node("Clip", "k", {"a", "lo", "hi"});
             }),
          Of("OneHot", {5, 3, 3, 3, 3, 5},
             [](ModelBuilder& m) {
               m.Ints("i", {0, 2});
               m.Scalar("depth", 3);
               m.Floats("off_on", {2}, {3, 5});
               m.Node("OneHot", "k", {"i", "depth", "off_on"});
             }),
          Of("TopK", {3, 1, 5, -4},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               m.Ints("two", {2});
               m.Node("TopK", "k", {"a", "two"}).add_output("places");
             }),
          Of(
              "ArgMax", {2, 1},
              [](ModelBuilder& m) {
                m.Floats("a", k23, kA);
                AddInt(m.Node("ArgMax", "k", {"a"}), "axis", 1);
              },
              true),
          Of(
              "Range", {2, 5, 8},
              [](ModelBuilder& m) {
                m.Scalar("first", 2);
                m.Scalar("limit", 9);
                m.Scalar("step", 3);
                m.Node("Range", "k", {"first", "limit", "step"});
              },
              true),
          Of("EyeLike", {0, 1, 0, 0, 0, 1},
             [](ModelBuilder& m) {
               m.Floats("a", k23, kA);
               AddInt(m.Node("EyeLike", "k", {"a"}), "k", 1);
             }),
          // booleans, which alone take Not
          Of(
              "EyeLike", {0, 1, 1, 1, 0, 1},
              [](ModelBuilder& m) {
                m.Floats("a", k23, kA);
                AddInt(m.Node("EyeLike", "e", {"a"}), "dtype", onnx::TensorProto::BOOL);
                m.Node("Not", "k", {"e"});
              },
              true),
          Of("Resize", {1, 1, 2, 2, 4, 4},
             [](ModelBuilder& m) {
               m.Floats("a", {1, 1, 3}, kV);
               m.Floats("scales", {3}, {1, 1, 2});
               m.Node("Resize", "k", {"a", "", "scales"});
             }),
          Of(
              "LayerNormalization", {-1, 1, -1, 1},
              [](ModelBuilder& m) {
                m.Floats("a", {2, 2}, {2, 4, 10, 30});
                m.Floats("s", {2}, {1, 1});
                AddFloat(m.Node("LayerNormalization", "k", {"a", "s"}), "epsilon", 1e-12F);
              },
              false, 17),
          Of(
              "QuantizeLinear", {127, 0, 2},
              [](ModelBuilder& m) {
                m.Floats("a", k3, {1000, 0.25F, 1});
                m.Floats("s", {}, {0.5F});
                m.Integers("z", onnx::TensorProto::INT8, {}, 0);
                m.Node("QuantizeLinear", "k", {"a", "s", "z"});
              },
              true),
          Of("DequantizeLinear", {-0.5, 0, 0.5},
             [](ModelBuilder& m) {
               m.Integers("q", onnx::TensorProto::UINT8, k3, [](int i) { return i + 9; });
               m.Floats("s", {}, {0.5F});
               m.Integers("z", onnx::TensorProto::UINT8, {}, 10);
               m.Node("DequantizeLinear", "k", {"q", "s", "z"});
             }),
          Of(
              "Mod", {1, 2, 0},
              [](ModelBuilder& m) {
                m.Ints("a", {7, 5, 9});
                m.Ints("b", {3});
                m.Node("Mod", "k", {"a", "b"});
              },
              true)};
}

// Of int64. f32 does not distinguish 2^25 and 2^25 + 1.
ConstantCase OfIntegers(const std::string& op_type, const std::vector<std::int64_t>& integers,
                        const std::vector<std::int64_t>& second, Numbers expected) {
  return Of(
      op_type, std::move(expected),
      [=](ModelBuilder& m) {
        m.Ints("a", integers);
        if (!second.empty()) m.Ints("b", second);
        m.Scalar("seven", 7);
        std::vector<std::string> inputs = {"a"};
        if (!second.empty()) inputs.emplace_back("b");
        if (op_type == "Pad") inputs.emplace_back("seven");
        m.Node(op_type, "k", inputs);
      },
      true);
}

std::vector<ConstantCase> IntegerCases() {
  return {OfIntegers("Pad", {1, 3}, {1, 1}, {7, 1, 3, 7}),
          OfIntegers("CumSum", {1, 3, 5}, {0}, {1, 4, 9}),
          OfIntegers("Pow", {2, -3}, {5, 3}, {32, -27}),
          OfIntegers("ArgMax", {33554432, 1, 33554433}, {}, {2}),
          OfIntegers("ArgMin", {-33554432, 1, -33554433}, {}, {2}),
          OfIntegers("TopK", {3, 5, 4}, {2}, {5, 4})};
}

TEST(ConstantsTest, EveryOperationIsComputed) {
  for (const auto& cases : {UnaryCases(), BinaryCases(), ReductionCases(), ProductCases(),
                            MovingCases(), IndexCases(), IntegerCases()}) {
    for (const ConstantCase& one : cases) {
      SCOPED_TRACE(one.op_type);
      Numbers result;
      EXPECT_NO_THROW(result = ComputedConstant(one));
      EXPECT_THAT(result, Pointwise(DoubleNear(1e-5), one.expected));
    }
  }
}

// The extents of a large image, whose number f32 does not represent, and the ends of int64.
TEST(ConstantsTest, IntegersAreExactBeyondF32) {
  const ConstantCase product = Of(
      "Mul", {5},
      [](ModelBuilder& m) {
        m.Ints("a", {33554433});  // 2^25 + 1
        m.Ints("b", {3});
        m.Node("Mul", "p", {"a", "b"});
        m.Ints("c", {100663294});  // 3 * a - 5
        m.Node("Sub", "k", {"p", "c"});
      },
      true);
  EXPECT_THAT(ComputedConstant(product), ElementsAre(5));
  const ConstantCase ends = Of("Slice", {2, 4}, [](ModelBuilder& m) {
    m.Floats("a", k3, kV);
    m.Ints("one", {1});
    m.Ints("last", {std::numeric_limits<std::int64_t>::max()});
    AddInt(m.Node("Concat", "both", {"one", "last"}), "axis", 0);
    m.Ints("second", {1});
    m.Node("Gather", "end", {"both", "second"});
    m.Node("Slice", "k", {"a", "one", "end"});
  });
  EXPECT_THAT(ComputedConstant(ends), ElementsAre(2, 4));
}

}  // namespace
}  // namespace topdnn
