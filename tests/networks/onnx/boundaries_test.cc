// Old and new operator sets, local functions, missing domains and tensors without elements.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<double> Result(const ModelBuilder& model, const NamedValues& inputs) {
  return RunNetwork(ImportOnnx(model.Bytes(), {}), inputs).at("y");
}

// The same in each opset: a Conv and a Relu.
TEST(OpsetTest, OperationsThatDidNotChangeAreRead) {
  for (const std::int64_t opset : {6, 7, 23, 24, 25, 26}) {
    ModelBuilder model(opset);
    model.Input("x", {1, 1, 1, 3}).Output("y");
    model.Floats("w", {1, 1, 1, 2}, {1, -2});
    AddInts(model.Node("Conv", "c", {"x", "w"}), "kernel_shape", {1, 2});
    model.Node("Relu", "y", {"c"});
    EXPECT_THAT(Result(model, {{"x", {1, 2, -4}}}), ElementsAre(0, 10)) << opset;
  }
}

TEST(OpsetTest, OtherNumbersAreRefusedWithTheFix) {
  for (const std::int64_t opset : {5, 27}) {
    ModelBuilder model(opset);
    model.Input("x", {1, 4}).Output("y");
    model.Node("Relu", "y", {"x"});
    EXPECT_THAT(RefusalOf(model.Bytes()), AllOf(HasSubstr("6 to 26"), HasSubstr("convert")));
  }
}

TEST(OpsetTest, AnotherDefinitionIsRefusedByName) {
  ModelBuilder model(6);
  model.Input("x", {1, 1, 1, 1}).Output("y");
  AddFloat(model.Node("Upsample", "y", {"x"}), "height_scale", 2);
  EXPECT_THAT(RefusalOf(model.Bytes()),
              HasSubstr("Upsample at y (as opset 6 defines it; topdnn knows its definition from "
                        "opset 7)"));
}

// Before opset 7, `axis` says where the second operand begins in the first.
TEST(OpsetTest, OldBroadcastsBeginAtTheirAxis) {
  for (const bool constant : {true, false}) {
    ModelBuilder model(6);
    model.Input("x", {1, 2, 2}).Output("y");
    std::string factors = "f";
    if (constant) {
      model.Floats("f", {2}, {10, 100});
    } else {
      model.Input("f", {2});
    }
    onnx::NodeProto& product = model.Node("Mul", "y", {"x", "f"});
    AddInt(product, "axis", 1);
    AddInt(product, "broadcast", 1);
    NamedValues inputs = {{"x", {1, 2, 3, 4}}};
    if (!constant) inputs["f"] = {10, 100};
    EXPECT_THAT(Result(model, inputs), ElementsAre(10, 20, 300, 400));
  }
}

TEST(OpsetTest, OldSlopesAreThoseOfChannels) {
  ModelBuilder model(6);
  model.Input("x", {1, 2, 1, 2}).Output("y");
  model.Floats("slope", {2}, {10, 100});
  model.Node("PRelu", "y", {"x", "slope"});
  EXPECT_THAT(Result(model, {{"x", {-1, 2, -3, 4}}}), ElementsAre(-10, 2, -300, 4));
}

TEST(OpsetTest, AMissingDomainIsTheReason) {
  ModelBuilder model;
  model.proto.clear_opset_import();
  model.Domain("com.microsoft").Input("x", {1, 1, 1, 3}).Output("y");
  model.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(model.Bytes()), AllOf(HasSubstr("no version of ONNX's own domain"),
                                              HasSubstr("y (Relu)"), Not(HasSubstr("opset 0"))));
  // It is not missed if no node belongs to it.
  onnx::NodeProto& node = *model.proto.mutable_graph()->mutable_node(0);
  node.set_op_type("FusedConv");
  node.set_domain("com.microsoft");
  node.add_input("w");
  onnx::AttributeProto& activation = *node.add_attribute();
  activation.set_name("activation");
  activation.set_type(onnx::AttributeProto::STRING);
  activation.set_s("Relu");
  model.Floats("w", {1, 1, 1, 1}, {2});
  EXPECT_THAT(Result(model, {{"x", {-1, 0, 3}}}), ElementsAre(0, 0, 6));
}

onnx::NodeProto& FunctionNode(onnx::FunctionProto& function, const std::string& op_type,
                              const std::string& input, const std::string& output) {
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type(op_type);
  node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::FunctionProto& AddFunction(ModelBuilder& model, const std::string& name) {
  onnx::FunctionProto& function = *model.proto.add_functions();
  function.set_name(name);
  function.set_domain("my");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(13);
  return function;
}

// The value q of the function is another one than the model's.
TEST(FunctionTest, CallsAreReplacedByTheNodes) {
  ModelBuilder model(15);
  model.Domain("my").Input("x", {1, 3}).Output("y");
  onnx::FunctionProto& act = AddFunction(model, "Act");
  FunctionNode(act, "Relu", "a", "q");
  FunctionNode(act, "Neg", "q", "b");
  onnx::FunctionProto& twice = AddFunction(model, "Twice");
  FunctionNode(twice, "Act", "a", "q").set_domain("my");
  onnx::NodeProto& leaky = FunctionNode(twice, "LeakyRelu", "q", "b");
  onnx::AttributeProto& alpha = *leaky.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  twice.add_attribute("slope");
  model.Node("Act", "q", {"x"}).set_domain("my");
  onnx::NodeProto& call = model.Node("Twice", "z", {"x"});
  call.set_domain("my");
  AddFloat(call, "slope", 0.5F);
  model.Node("Sub", "y", {"q", "z"});
  // -relu(x) - leaky(-relu(x)) = -relu(x) + relu(x) / 2
  EXPECT_THAT(Result(model, {{"x", {-4, 0, 6}}}), ElementsAre(0, 0, -3));
}

// A default of an attribute is field 11 of the function, which ONNX 1.12 does not know.
TEST(FunctionTest, AttributesHaveDefaults) {
  for (const bool given : {false, true}) {
    ModelBuilder model(15);
    model.Domain("my").Input("x", {1, 2}).Output("y");
    onnx::FunctionProto& leak = AddFunction(model, "Leak");
    onnx::AttributeProto& alpha = *FunctionNode(leak, "LeakyRelu", "a", "b").add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(onnx::AttributeProto::FLOAT);
    alpha.set_ref_attr_name("slope");
    onnx::AttributeProto slope;
    slope.set_name("slope");
    slope.set_type(onnx::AttributeProto::FLOAT);
    slope.set_f(0.5F);
    const std::string bytes = slope.SerializeAsString();
    constexpr char kFieldElevenOfBytes = 11 << 3 | 2;
    leak.ParseFromString(leak.SerializeAsString() + kFieldElevenOfBytes +
                         static_cast<char>(bytes.size()) + bytes);
    onnx::NodeProto& call = model.Node("Leak", "y", {"x"});
    call.set_domain("my");
    if (given) AddFloat(call, "slope", 0.25F);
    EXPECT_THAT(Result(model, {{"x", {-4, 6}}}), ElementsAre(given ? -1 : -2, 6));
  }
}

TEST(FunctionTest, ACircleIsRefused) {
  ModelBuilder model;
  model.Domain("my").Input("x", {1, 3}).Output("y");
  onnx::FunctionProto& act = AddFunction(model, "Act");
  FunctionNode(act, "Act", "a", "b").set_domain("my");
  model.Node("Act", "y", {"x"}).set_domain("my");
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("function my::Act calls itself"));
}

// One call makes two, and those make two each: 2^40 nodes.
TEST(FunctionTest, CallsThatMultiplyAreRefused) {
  ModelBuilder model;
  model.Domain("my").Input("x", {1, 3}).Output("y");
  for (int i = 0; i < 40; ++i) {
    onnx::FunctionProto& function = AddFunction(model, "F" + std::to_string(i));
    const std::string next = i == 39 ? "Relu" : "F" + std::to_string(i + 1);
    for (const auto& [from, to] : {std::pair("a", "q"), std::pair("q", "b")}) {
      onnx::NodeProto& node = FunctionNode(function, next, from, to);
      if (i < 39) node.set_domain("my");
    }
  }
  model.Node("F0", "y", {"x"}).set_domain("my");
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("too many others"));
}

// The lists of a node's attributes are copied for each call.
TEST(FunctionTest, CallsThatCopyMuchAreRefused) {
  ModelBuilder model;
  model.Domain("my").Input("x", {1, 3}).Output("y");
  onnx::FunctionProto& function = AddFunction(model, "F");
  AddInts(FunctionNode(function, "Relu", "a", "b"), "big",
          std::vector<std::int64_t>(std::size_t{1} << 20, 1));
  for (int i = 0; i < 40; ++i) {
    model.Node("F", "v" + std::to_string(i), {i == 0 ? "x" : "v" + std::to_string(i - 1)})
        .set_domain("my");
  }
  model.Node("Neg", "y", {"v39"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("copy more than 256 MiB of attributes"));
}

// An overload is a field that ONNX 1.12 does not know; one of two must not win.
TEST(FunctionTest, TwoOfOneNameAreRefused) {
  ModelBuilder model;
  model.Domain("my").Input("x", {1, 3}).Output("y");
  FunctionNode(AddFunction(model, "F"), "Relu", "a", "b");
  FunctionNode(AddFunction(model, "F"), "Neg", "a", "b");
  model.Node("F", "y", {"x"}).set_domain("my");
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("function my::F: there are two of this name"));
}

// Each of them divides by extents.
TEST(EmptyTensorTest, OperationsOnRowsRefuseIt) {
  struct Case {
    const char* op_type;
    std::vector<std::int64_t> dims;
    std::vector<std::string> others = {};
  };
  for (const Case& one :
       {Case{"Softmax", {0, 3}}, Case{"LogSoftmax", {0, 3}}, Case{"Hardmax", {0, 3}},
        Case{"Compress", {2, 0}, {"flags"}}, Case{"ReverseSequence", {0, 1, 2}, {"lengths"}},
        Case{"GroupNormalization", {0, 1, 2}, {"scale", "scale"}},
        Case{"NegativeLogLikelihoodLoss", {0, 2}, {"labels"}},
        Case{"SoftmaxCrossEntropyLoss", {0, 2}, {"labels"}}}) {
    ModelBuilder model(12);
    model.Input("x", {1, 3}).Output("y");
    model.Floats("empty", one.dims, {});
    model.Integers("flags", onnx::TensorProto::BOOL, {2}, 1);
    model.Ints("lengths", {0});
    model.Ints("labels", {});
    model.Floats("scale", {1}, {1});
    std::vector<std::string> inputs = {"empty"};
    inputs.insert(inputs.end(), one.others.begin(), one.others.end());
    onnx::NodeProto& node = model.Node(one.op_type, "e", inputs);
    if (one.others.empty()) AddInt(node, "axis", 1);
    if (node.op_type() == "Compress") AddInt(node, "axis", 0);
    if (node.op_type() == "GroupNormalization") AddInt(node, "num_groups", 1);
    model.Node("Add", "y", {"x", "e"});
    EXPECT_NE(RefusalOf(model.Bytes()), "") << one.op_type;
  }
}

TEST(EmptyTensorTest, AConcatenationOfEmptyOnesAddsTheirExtents) {
  ModelBuilder model;
  model.Input("x", {1, 8}).Output("y");
  model.Floats("none", {0, 4}, {});
  AddInt(model.Node("Concat", "both", {"none", "none"}), "axis", 1);
  AddInt(model.Node("Concat", "all", {"x", "both"}), "axis", 0);
  model.Node("Neg", "y", {"all"});
  EXPECT_EQ(Result(model, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}}).size(), 8u);
}

// Names that print alike would be compared with each other.
TEST(InputTest, ManyNamesThatPrintAlike) {
  ModelBuilder model;
  model.Output("y");
  constexpr int kInputs = 3000, kMostTerms = 250;
  std::vector<std::string> sums;
  for (int first = 0; first < kInputs; first += kMostTerms) {
    std::vector<std::string> names;
    for (int i = first; i < first + kMostTerms; ++i) {
      names.push_back({static_cast<char>(1 + i % 8), static_cast<char>(1 + i / 8 % 8),
                       static_cast<char>(1 + i / 64 % 8), static_cast<char>(14 + i / 512)});
      model.Input(names.back(), {1});
    }
    sums.push_back("s" + std::to_string(first));
    model.Node("Sum", sums.back(), names);
  }
  model.Node("Sum", "y", sums);
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_EQ(network.inputs.size(), static_cast<std::size_t>(kInputs));
}

TEST(EmptyTensorTest, AConcatenationIgnoresIt) {
  ModelBuilder model;
  model.Input("x", {1, 3}).Output("y");
  model.Floats("none", {1, 0}, {});
  model.Node("Relu", "r", {"x"});
  AddInt(model.Node("Concat", "c", {"r", "none"}), "axis", 1);
  model.Node("Neg", "y", {"c"});
  EXPECT_THAT(Result(model, {{"x", {1, -2, 3}}}), ElementsAre(-1, 0, -3));
}

TEST(EmptyTensorTest, AnInputBesideOneIsTheResult) {
  ModelBuilder model;
  model.Input("x", {1, 3, 1, 1}).Output("y");
  model.Floats("none", {1, 0, 1, 1}, {});
  AddInt(model.Node("Concat", "y", {"x", "none"}), "axis", 1);
  EXPECT_THAT(Result(model, {{"x", {1, -2, 3}}}), ElementsAre(1, -2, 3));
}

TEST(EmptyTensorTest, ASliceWithoutElementsIsOne) {
  ModelBuilder model;
  model.Input("x", {1, 3}).Output("y");
  model.Ints("end", {5});
  model.Ints("one", {1});
  model.Ints("three", {3});
  model.Node("Slice", "none", {"x", "three", "end", "one"});
  AddInt(model.Node("Concat", "y", {"x", "none", "x"}), "axis", 1);
  EXPECT_THAT(Result(model, {{"x", {1, -2, 3}}}), ElementsAre(1, -2, 3, 1, -2, 3));
}

TEST(SingleElementTest, ReductionsRunOnEachBackend) {
  for (const std::string op_type : {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                                    "ReduceMean", "ReduceSumSquare"}) {
    ModelBuilder model;
    model.Input("x", {2, 2, 1, 1}).Output("y");
    onnx::NodeProto& node = model.Node(op_type, "y", {"x"});
    AddInts(node, "axes", {2, 3});
    AddInt(node, "keepdims", 0);
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    const bool norm = op_type == "ReduceL1" || op_type == "ReduceL2";
    const bool square = op_type == "ReduceSumSquare";
    for (const std::string backend : {"reference", "onednn", "eigen", "openblas"}) {
      const double three = square ? 9 : norm ? 3 : -3;
      EXPECT_THAT(RunNetwork(network, {{"x", {1, -3, 0, 2}}}, backend).at("y"),
                  ElementsAre(1, three, 0, square ? 4 : 2))
          << op_type << " on " << backend;
    }
  }
}

// github.com/onnx/onnx/issues/6103: only the reduction is left out.
TEST(ReductionTest, OverNoAxesItIsTheFunctionOfEachElement) {
  const std::vector<std::pair<std::string, std::vector<double>>> cases = {
      {"ReduceL1", {3, 1}},   {"ReduceL2", {3, 1}},         {"ReduceSumSquare", {9, 1}},
      {"ReduceSum", {-3, 1}}, {"ReduceLogSumExp", {-3, 1}}, {"ReduceMean", {-3, 1}},
      {"ReduceMax", {-3, 1}}};
  const auto model_of = [](const std::string& op_type) {
    ModelBuilder model(18);
    model.Input("x", {1, 2}).Output("y");
    model.Node("Neg", "negative", {"x"});
    AddInt(model.Node(op_type, "y", {"negative"}), "noop_with_empty_axes", 1);
    return model;
  };
  for (const auto& [op_type, expected] : cases) {
    EXPECT_EQ(Result(model_of(op_type), {{"x", {3, -1}}}), expected) << op_type;
  }
  EXPECT_THAT(Result(model_of("ReduceLogSum"), {{"x", {-8, -1}}}),
              ElementsAre(testing::DoubleNear(std::log(8.0), 1e-6), 0));
}

}  // namespace
}  // namespace topdnn
