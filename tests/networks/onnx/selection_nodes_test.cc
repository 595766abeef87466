// Operations of ONNX that choose and compare, on values that the network computes: the node tests
// have constants there. The results are worked out by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "networks/onnx/import/importer.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::vector<double> ResultOf(const ModelBuilder& model, const std::vector<double>& input,
                             const std::string& backend = "onednn") {
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  return RunGraph(network.graph, network.parameters, input, backend);
}

// Neither a NaN nor an infinity that is not chosen reaches the result.
TEST(SelectionNodesTest, WhereChoosesAmongComputedValues) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Floats("zero", {}, {0.0F});
  model.Node("GreaterOrEqual", "positive", {"x", "zero"});
  model.Node("Sqrt", "root", {"x"});
  model.Node("Reciprocal", "inverse", {"x"});
  model.Node("Where", "y", {"positive", "root", "inverse"});
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    EXPECT_EQ(ResultOf(model, {4, -2, 0, -0.5}, backend), (std::vector<double>{2, -0.5, 0, -2}));
  }
}

TEST(SelectionNodesTest, WhereRefusesAChosenConstantThatF32DoesNotRepresent) {
  const auto model = [](std::int64_t number, int chosen) {
    ModelBuilder builder(13);
    builder.Input("x", {1, 4}).Output("y");
    AddInt(builder.Node("ArgMax", "whole", {"x"}), "axis", 1);
    builder.Integers("condition", onnx::TensorProto::BOOL, {1, 2}, chosen);
    builder.Ints("number", {number});
    builder.Node("Where", "y", {"condition", "number", "whole"});
    return builder.Bytes();
  };
  EXPECT_NO_THROW(ImportOnnx(model(16777216, 1), {}));
  EXPECT_NO_THROW(ImportOnnx(model(16777217, 0), {}));
  EXPECT_THAT(RefusalOf(model(16777217, 1)), HasSubstr("16777217 is not exact in f32"));
}

TEST(SelectionNodesTest, BooleansAreCombined) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Floats("one", {}, {1.0F});
  model.Node("Greater", "large", {"x", "one"});
  model.Node("Less", "small", {"x", "one"});
  model.Node("Or", "other", {"large", "small"});
  model.Node("Not", "equal", {"other"});
  model.Node("Xor", "either", {"equal", "large"});
  AddInt(model.Node("Cast", "y", {"either"}), "to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(ResultOf(model, {0, 1, 2, 3}), (std::vector<double>{0, 1, 1, 1}));
}

TEST(SelectionNodesTest, IndicesThatTheNetworkComputesSelect) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  AddInt(model.Node("ArgMax", "best", {"x"}), "axis", 1);
  model.Node("Neg", "values", {"x"});
  AddInt(model.Node("Gather", "y", {"values", "best"}), "axis", 1);
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    EXPECT_EQ(ResultOf(model, {3, 7, 5, 7}, backend), (std::vector<double>{-7})) << backend;
  }
}

TEST(SelectionNodesTest, IntegersThatCouldLoseDigitsAreRefused) {
  const auto model = [](const char* op_type, std::int64_t number, bool from_float = false) {
    ModelBuilder builder(13);
    builder.Input("x", {1, 4}).Output("y");
    if (from_float) {
      AddInt(builder.Node("Cast", "whole", {"x"}), "to", onnx::TensorProto::INT64);
    } else {
      AddInt(builder.Node("ArgMax", "whole", {"x"}), "axis", 1);
    }
    builder.Ints("number", {number});
    builder.Node(op_type, "y", {"whole", "number"});
    return builder.Bytes();
  };
  EXPECT_NO_THROW(ImportOnnx(model("Equal", 16777216), {}));
  EXPECT_THAT(RefusalOf(model("Equal", 16777217)), HasSubstr("16777217 is not exact in f32"));
  EXPECT_NO_THROW(ImportOnnx(model("Mul", 5592405), {}));  // an index is at most 3
  EXPECT_THAT(RefusalOf(model("Mul", 5592406)), HasSubstr("its result may reach 16777218"));
  EXPECT_THAT(RefusalOf(model("Add", 16777214)), HasSubstr("its result may reach 16777217"));
  EXPECT_THAT(RefusalOf(model("Div", 0)), HasSubstr("by 0"));
  EXPECT_THAT(RefusalOf(model("Div", 4194305)), HasSubstr("f32 is exact"));
  EXPECT_THAT(RefusalOf(model("Add", 1, true)), HasSubstr("integers of unknown size"));
  EXPECT_THAT(RefusalOf(model("Pow", 2)), HasSubstr("is of int64: topdnn computes it on float"));
}

// Places in a grid of three columns, as detectors compute them.
TEST(SelectionNodesTest, ArithmeticOnIndices) {
  ModelBuilder model(13);
  model.Input("x", {1, 6}).Output("y");
  model.Ints("k", {6});
  onnx::NodeProto& top = model.Node("TopK", "values", {"x", "k"});
  top.add_output("places");
  model.Ints("columns", {3});
  model.Node("Div", "row", {"places", "columns"});
  model.Node("Mod", "column", {"places", "columns"});
  model.Ints("ten", {-10});
  model.Node("Mul", "tens", {"row", "ten"});
  AddInt(model.Node("Cast", "short", {"tens"}), "to", onnx::TensorProto::INT32);
  AddInt(model.Node("Cast", "short_column", {"column"}), "to", onnx::TensorProto::INT32);
  model.Node("Sub", "both", {"short", "short_column"});
  AddInt(model.Node("Cast", "y", {"both"}), "to", onnx::TensorProto::FLOAT);
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    EXPECT_EQ(ResultOf(model, {9, 7, 8, 4, 6, 5}, backend),
              (std::vector<double>{0, -2, -1, -11, -12, -10}))
        << backend;
  }
}

// x has the rows (1, 2) and (3, 4); its product with its transpose is (5, 11), (11, 25).
TEST(SelectionNodesTest, ProductsOfTwoComputedMatrices) {
  for (const bool gemm : {true, false}) {
    ModelBuilder model(13);
    model.Input("x", {2, 2}).Output("y");
    model.Node("Neg", "negative", {"x"});
    if (gemm) {
      onnx::NodeProto& product = model.Node("Gemm", "y", {"x", "negative", "x"});
      AddInt(product, "transB", 1);
      AddFloat(product, "alpha", -2);
      AddFloat(product, "beta", 0.5F);
    } else {
      model.Node("Transpose", "turned", {"negative"});
      model.Node("MatMul", "y", {"x", "turned"});
    }
    const std::vector<double> expected =
        gemm ? std::vector<double>{10.5, 23, 23.5, 52} : std::vector<double>{-5, -11, -11, -25};
    for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
      EXPECT_EQ(ResultOf(model, {1, 2, 3, 4}, backend), expected) << backend;
    }
  }
}

// A constant A, as stored (K, M) or (M, K).
TEST(SelectionNodesTest, AGemmOfAConstantByAComputedMatrix) {
  for (const bool transposed : {true, false}) {
    ModelBuilder model(13);
    model.Input("x", {2, 3}).Output("y");
    model.Floats("a", {2, 2}, {1, 2, 3, 4});
    model.Node("Neg", "b", {"x"});
    AddInt(model.Node("Gemm", "y", {"a", "b"}), "transA", transposed ? 1 : 0);
    // The rows of A are (1, 3) and (2, 4), or (1, 2) and (3, 4).
    const std::vector<double> expected = transposed ? std::vector<double>{-1, -3, -11, -2, -4, -16}
                                                    : std::vector<double>{-1, -2, -8, -3, -4, -18};
    EXPECT_EQ(ResultOf(model, {1, 0, 2, 0, 1, 3}), expected);
  }
}

// Scores of three images; the third one's label is ignored. The losses are log(1 + e) - 1,
// 2 (log(1 + e) - 0) and 0, and the weights 1, 2 and 0.
TEST(SelectionNodesTest, ALossWithComputedLabels) {
  ModelBuilder model(13);
  model.Input("x", {3, 3}).Output("y");
  model.Ints("label_start", {2});
  model.Ints("label_end", {3});
  model.Ints("scores_start", {0});
  model.Ints("scores_end", {2});
  model.Ints("axis", {1});
  model.Node("Slice", "column", {"x", "label_start", "label_end", "axis"});
  model.Node("Slice", "scores", {"x", "scores_start", "scores_end", "axis"});
  AddInt(model.Node("Cast", "numbers", {"column"}), "to", onnx::TensorProto::INT64);
  model.Ints("rows", {3});
  model.Node("Reshape", "labels", {"numbers", "rows"});
  model.Floats("weights", {2}, {1, 2});
  onnx::NodeProto& loss =
      model.Node("SoftmaxCrossEntropyLoss", "y", {"scores", "labels", "weights"});
  AddInt(loss, "ignore_index", 7);
  const double log_sum = std::log(1 + std::exp(1.0));
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    const std::vector<double> result = ResultOf(model, {1, 0, 0, 1, 0, 1, 5, 9, 7}, backend);
    ASSERT_EQ(result.size(), 1U);
    EXPECT_NEAR(result[0], (log_sum - 1 + 2 * log_sum) / 3, 1e-6) << backend;
  }
}

// An integer is exact in f32 up to 16,777,216, so 1 more than that is refused, whatever computed
// it.
TEST(SelectionNodesTest, ResultsOfOtherSizesThanTheirOperandsAreNotTakenAsExact) {
  const auto model = [](const std::string& middle) {
    ModelBuilder builder(13);
    builder.Input("x", {1, 2}).Output("y");
    AddInt(builder.Node("ArgMax", "index", {"x"}), "axis", 1);
    if (middle == "Clip") {
      builder.Scalar("low", 16777216);
      builder.Node("Clip", "changed", {"index", "low"});
    } else {
      AddInt(builder.Node("Cast", "real", {"index"}), "to", onnx::TensorProto::FLOAT);
      builder.Floats("large", {}, {16777216});
      if (middle == "Pow") {
        builder.Node("Pow", "function", {"large", "real"});
      } else {
        builder.Node(middle, "function", {"real"});
      }
      AddInt(builder.Node("Cast", "changed", {"function"}), "to", onnx::TensorProto::INT64);
    }
    builder.Ints("more", {1});
    builder.Node("Add", "y", {"changed", "more"});
    return builder.Bytes();
  };
  for (const char* middle : {"Clip", "Exp", "Sigmoid", "Sqrt", "HardSigmoid"}) {
    EXPECT_THAT(RefusalOf(model(middle)), HasSubstr("y (")) << middle;
  }
  EXPECT_NO_THROW(ImportOnnx(model("Neg"), {}));
}

TEST(SelectionNodesTest, OneHotHasTheTypeOfItsValues) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  AddInt(model.Node("ArgMax", "index", {"x"}), "axis", 1);
  model.Scalar("depth", 3);
  model.Integers("off_on", onnx::TensorProto::BOOL, {2}, [](int i) { return i; });
  model.Node("OneHot", "chosen", {"index", "depth", "off_on"});
  model.Node("Not", "others", {"chosen"});
  AddInt(model.Node("Cast", "y", {"others"}), "to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(ResultOf(model, {1, 5, 2}), (std::vector<double>{1, 0, 1}));
}

TEST(SelectionNodesTest, AResultThatIsNotComputedIsRefusedByItsNode) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 2, 2}).Output("y");
  onnx::NodeProto& pool = model.Node("MaxPool", "pool", {"x"});
  AddInts(pool, "kernel_shape", {2, 2});
  pool.add_output("places");
  AddInt(model.Node("Cast", "y", {"places"}), "to", onnx::TensorProto::FLOAT);
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("MaxPool at pool (its result 1)"));
}

// Opset 21: without a zero point, the attribute has the type of the integers.
TEST(SelectionNodesTest, QuantizeLinearHasTheTypeOfItsAttribute) {
  for (const bool integers : {false, true}) {
    ModelBuilder model(21);
    model.Input("x", {1, 3}).Output("y");
    model.Floats("scale", {}, {0.5F});
    AddInt(model.Node("QuantizeLinear", "q", {"x", "scale"}), "output_dtype",
           onnx::TensorProto::INT8);
    if (integers) {
      AddInt(model.Node("Cast", "y", {"q"}), "to", onnx::TensorProto::FLOAT);
    } else {
      model.Node("DequantizeLinear", "y", {"q", "scale"});
    }
    EXPECT_EQ(ResultOf(model, {-13.5, 13.5, 100}), integers
                                                       ? (std::vector<double>{-27, 27, 127})
                                                       : (std::vector<double>{-13.5, 13.5, 63.5}));
  }
}

TEST(SelectionNodesTest, BeforeOpset11ANegativeIndexIsNoneOfOneHot) {
  for (const std::int64_t opset : {9, 11}) {
    ModelBuilder model(opset);
    model.Input("x", {1, 2}).Output("y");
    AddInt(model.Node("Cast", "index", {"x"}), "to", onnx::TensorProto::INT64);
    model.Scalar("depth", 3);
    model.Floats("off_on", {2}, {0, 1});
    model.Node("OneHot", "y", {"index", "depth", "off_on"});
    EXPECT_EQ(ResultOf(model, {-1, 1}), (std::vector<double>{0, 0, opset == 9 ? 0.0 : 1.0,  //
                                                             0, 1, 0}));
  }
}

TEST(SelectionNodesTest, TheFirstResultMayBeLeftOut) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  onnx::NodeProto& split = model.Node("Split", "", {"x"});
  split.add_output("half");
  AddInt(split, "axis", 1);
  model.Ints("k", {2});
  model.Node("TopK", "", {"half", "k"}).add_output("places");
  AddInt(model.Node("Cast", "y", {"places"}), "to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(ResultOf(model, {9, 8, 1, 7}), (std::vector<double>{1, 0}));
}

}  // namespace
}  // namespace topdnn
