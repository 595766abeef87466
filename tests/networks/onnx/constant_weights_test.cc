// Constants that a network needs as paddings and weights, and constants that are refused.

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

// PyTorch's export of a padding: github.com/ChristopherBrix/vnncomp2022_benchmarks, unet_upsample.
TEST(ConstantsTest, PaddingsThatPyTorchComputesAreRead) {
  ModelBuilder model(11);
  model.Input("x", {1, 1, 1, 2}).Output("y");
  model.Ints("four", {4});
  onnx::NodeProto& zeros = model.Node("ConstantOfShape", "z", {"four"});
  onnx::AttributeProto& value = *zeros.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_int64_data(0);
  model.Ints("p", {0, 1, 1, 0});
  AddInt(model.Node("Concat", "c", {"p", "z"}), "axis", 0);
  model.Ints("pairs", {-1, 2});
  model.Node("Reshape", "c2", {"c", "pairs"});
  model.Ints("back", {-1});
  model.Ints("end", {-std::numeric_limits<std::int64_t>::max()});
  model.Ints("zero", {0});
  model.Node("Slice", "rv", {"c2", "back", "end", "zero", "back"});
  AddInts(model.Node("Transpose", "tr", {"rv"}), "perm", {1, 0});
  model.Node("Reshape", "pp", {"tr", "back"});
  AddInt(model.Node("Cast", "pads", {"pp"}), "to", onnx::TensorProto::INT64);
  model.Floats("v", {}, {9});
  model.Node("Pad", "y", {"x", "pads", "v"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  // One row above, one column behind.
  EXPECT_EQ(network.outputs.front().shape, (Shape{1, 1, 2, 3}));
  EXPECT_THAT(RunNetwork(network, {{"x", {1, 2}}}).at("y"), ElementsAre(9, 9, 9, 1, 2, 9));
}

// A weight normalization: w = g v / |v|, over each output.
TEST(ConstantsTest, NormalizedWeightsAreNamedForTraining) {
  ModelBuilder model;
  model.Input("x", {1, 1, 1, 1}).Output("y");
  model.Floats("v", {2, 1, 1, 2}, {3, 4, 5, 12});
  model.Floats("g", {2, 1, 1, 1}, {10, 26});
  AddInts(model.Node("ReduceL2", "n", {"v"}), "axes", {1, 2, 3});
  model.Node("Div", "d", {"v", "n"});
  model.Node("Mul", "w", {"d", "g"});
  model.Ints("order", {2, 2, 1, 1});
  model.Node("Reshape", "w2", {"w", "order"});
  model.Ints("twice", {1, 2, 1, 1});
  model.Node("Expand", "wide", {"x", "twice"});
  model.Node("Conv", "conv", {"wide", "w2"});
  model.Node("Relu", "y", {"conv"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(RunNetwork(network, {{"x", {1}}}).at("y"),
              Pointwise(DoubleNear(1e-5),
                        std::vector<double>{14, 34}));  // 10 (0.6 + 0.8), 26 (5 + 12) / 13
  EXPECT_THAT(network.computed_parameters,
              ElementsAre(std::pair<const std::string, std::string>("conv", "Mul at w")));
}

TEST(ConstantsTest, ReorderedWeightsAreNotNamed) {
  ModelBuilder model;
  model.Input("x", {1, 2}).Output("y");
  model.Floats("v", {2, 2}, {3, 4, 5, 12});
  model.Node("Transpose", "w", {"v"});
  model.Node("MatMul", "y", {"x", "w"});
  EXPECT_THAT(ImportOnnx(model.Bytes(), {}).computed_parameters, testing::IsEmpty());
}

TEST(ConstantsTest, WhatIsNotDefinedIsRefused) {
  const auto refusal = [](const std::function<void(ModelBuilder&)>& build) {
    ModelBuilder model;
    model.Input("x", {1}).Output("y");
    build(model);
    AddInt(model.Node("Cast", "f", {"k"}), "to", onnx::TensorProto::FLOAT);
    model.Node("Add", "y", {"x", "f"});
    return RefusalOf(model.Bytes());
  };
  EXPECT_THAT(refusal([](ModelBuilder& m) {
                m.Ints("a", {1, 2});
                m.Ints("b", {1, 0});
                m.Node("Div", "k", {"a", "b"});
              }),
              HasSubstr("Div at k (a division of integers by 0)"));
  EXPECT_THAT(refusal([](ModelBuilder& m) {
                m.Ints("a", {1, 2});
                m.Ints("i", {2});
                m.Node("Gather", "k", {"a", "i"});
              }),
              HasSubstr("Gather at k (index 2 of 2 elements)"));
  EXPECT_THAT(refusal([](ModelBuilder& m) {
                m.Ints("a", {std::int64_t{1} << 40});
                m.Node("Mul", "k", {"a", "a"});
              }),
              HasSubstr("f64 is exact up to 2^53"));
  EXPECT_THAT(refusal([](ModelBuilder& m) {
                m.Floats("a", {2, 3});
                m.Node("MatMul", "k", {"a", "a"});
              }),
              HasSubstr("MatMul at k"));
}

// The operands have names of their own where the constant is computed.
TEST(ConstantsTest, AResultMayHaveTheNameOfAnOperand) {
  ModelBuilder model;
  model.Input("x", {1, 2}).Output("y");
  model.Floats("a", {2}, {1, 2});
  model.Floats("b", {2}, {10, 30});
  model.Node("Sub", "input1", {"b", "a"});
  model.Node("Add", "y", {"x", "input1"});
  EXPECT_THAT(RunNetwork(ImportOnnx(model.Bytes(), {}), {{"x", {100, 200}}}).at("y"),
              ElementsAre(109, 228));
}

TEST(ConstantsTest, ANormalizationByComputedConstantsIsNamedForTraining) {
  for (const std::string op_type : {"Mul", "Add"}) {
    ModelBuilder model;
    model.Input("x", {1, 2, 1, 1}).Output("y");
    for (const std::string name : {"scale", "shift", "mean", "variance"}) {
      model.Floats(name, {2}, {1, 2});
    }
    model.Node("BatchNormalization", "norm", {"x", "scale", "shift", "mean", "variance"});
    model.Floats("f", {2, 1, 1}, {3, 5});
    model.Node("Neg", "g", {"f"});
    model.Node(op_type, "product", {"norm", "g"});
    model.Node("Relu", "y", {"product"});
    EXPECT_THAT(ImportOnnx(model.Bytes(), {}).computed_parameters,
                ElementsAre(std::pair<const std::string, std::string>("norm", "Neg at g")));
  }
}

// 2^53 + 1 is no f64.
TEST(ConstantsTest, IntegersThatF64DoesNotHoldAreRefused) {
  const auto refusal = [](const std::string& op_type, const std::vector<std::int64_t>& integers,
                          std::int64_t second) {
    ModelBuilder model;
    model.Input("x", {1}).Output("y");
    model.Ints("a", integers);
    model.Ints("b", {second});
    model.Node(op_type, "k", {"a", "b"});
    AddInt(model.Node("Cast", "f", {"k"}), "to", onnx::TensorProto::FLOAT);
    model.Node("Add", "y", {"x", "f"});
    return RefusalOf(model.Bytes());
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  EXPECT_THAT(refusal("CumSum", {kMost, 1}, 0), HasSubstr("may not be exact"));
  EXPECT_THAT(refusal("Pow", {3}, 34), HasSubstr("may not be exact"));
  EXPECT_THAT(refusal("Pow", {3}, -1), HasSubstr("may not be exact"));
  // (the square root of 3 would be truncated)
  ModelBuilder root;
  root.Input("x", {1}).Output("y");
  root.Ints("a", {3});
  root.Floats("b", {1}, {0.5F});
  root.Node("Pow", "k", {"a", "b"});
  AddInt(root.Node("Cast", "f", {"k"}), "to", onnx::TensorProto::FLOAT);
  root.Node("Add", "y", {"x", "f"});
  EXPECT_THAT(RefusalOf(root.Bytes()), HasSubstr("may not be exact"));
  EXPECT_THAT(refusal("TopK", {kMost + 2, 1}, 1), HasSubstr("reaches 9007199254740994"));
}

}  // namespace
}  // namespace topdnn
