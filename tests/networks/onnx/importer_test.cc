// Networks that exporters write with more nodes than topdnn needs layers, and networks that must be
// refused.

#include "networks/onnx/import/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/conv/conv.h"
#include "kernels/dropout/dropout.h"
#include "kernels/pool/pool.h"
#include "networks/planning/planner.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Kinds(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const GraphNode& node : graph.nodes()) kinds.emplace_back(node.op->kind());
  return kinds;
}

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphNode& node : graph.nodes()) names.push_back(node.name);
  return names;
}

// PyTorch's view(x.size(0), -1), written as arithmetic on the shape.
TEST(ImporterTest, FlatteningByShapeArithmeticAddsNoLayer) {
  ModelBuilder model;
  model.Input("x", {0, 3, 4, 4}).Output("fc");
  model.Floats("w", {2, 3, 3, 3});
  AddInts(model.Node("Conv", "conv", {"x", "w"}), "pads", {1, 1, 1, 1});
  model.Node("Shape", "shape", {"conv"});
  model.Scalar("zero", 0);
  model.Node("Gather", "batch", {"shape", "zero"});
  model.Ints("axes", {0});
  model.Node("Unsqueeze", "batch1", {"batch", "axes"});
  model.Ints("rest", {-1});
  AddInt(model.Node("Concat", "target", {"batch1", "rest"}), "axis", 0);
  model.Node("Reshape", "flat", {"conv", "target"});
  model.Floats("v", {5, 32});
  model.Floats("b", {5});
  AddInt(model.Node("Gemm", "fc", {"flat", "v", "b"}), "transB", 1);
  for (const std::int64_t batch : {1, 6}) {
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {.batch = batch});
    EXPECT_THAT(Names(network.graph), ElementsAre("conv", "fc"));
    EXPECT_THAT(Kinds(network.graph), ElementsAre("conv", "inner_product"));
    EXPECT_EQ(network.graph.shape(0), (Shape{batch, 3, 4, 4}));
    EXPECT_EQ(network.outputs.at(0).shape, (Shape{batch, 5}));
    EXPECT_EQ(network.inputs.front().name, "x");
    EXPECT_EQ(network.outputs.at(0).name, "fc");
    EXPECT_EQ(network.parameters.at("fc/weights").shape(), (Shape{5, 32}));
  }
}

// TensorFlow's form: MatMul and Add, a bias named after the product, (C, 1, 1) biases of
// convolutions.
TEST(ImporterTest, BiasesThatAreAddedAreAbsorbed) {
  ModelBuilder model;
  model.Input("x", {1, 2, 3, 3}).Output("logits");
  model.Floats("w", {4, 2, 1, 1});
  model.Node("Conv", "conv", {"x", "w"});
  model.Floats("cb", {4, 1, 1}, {1, 2, 3, 4});
  model.Node("Add", "biased", {"cb", "conv"});
  AddInt(model.Node("Flatten", "flat", {"biased"}), "axis", 1);
  model.Floats("m", {36, 3});
  model.Node("MatMul", "product", {"flat", "m"});
  onnx::NodeProto& constant = model.Node("Constant", "mb", {});
  auto& value = *constant.add_attribute();
  value.set_name("value_floats");
  value.set_type(onnx::AttributeProto::FLOATS);
  for (const float v : {10.F, 20.F, 30.F}) value.add_floats(v);
  model.Node("Add", "logits", {"product", "mb"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(Names(network.graph), ElementsAre("conv", "product"));
  EXPECT_THAT(network.parameters.at("conv/bias").values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(network.parameters.at("product/bias").values<float>(), ElementsAre(10, 20, 30));
  // (36, 3) as stored; the operation has (3, 36).
  const ModelBuilder& built = model;
  const auto* stored =
      reinterpret_cast<const float*>(built.proto.graph().initializer(2).raw_data().data());
  const auto weights = network.parameters.at("product/weights").values<float>();
  for (std::size_t i = 0; i < 36; ++i) {
    for (std::size_t o = 0; o < 3; ++o) EXPECT_EQ(weights[o * 36 + i], stored[i * 3 + o]);
  }
}

TEST(ImporterTest, ABiasWithAnotherReaderStaysALayer) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("sum");
  model.Floats("m", {4, 4});
  model.Node("MatMul", "product", {"x", "m"});
  model.Floats("b", {4});
  model.Node("Add", "biased", {"product", "b"});
  model.Node("Add", "sum", {"biased", "product"});
  EXPECT_THAT(Kinds(ImportOnnx(model.Bytes(), {}).graph),
              ElementsAre("inner_product", "bias", "add"));
}

TEST(ImporterTest, FactorsOfAGemmBecomePartOfTheWeights) {
  ModelBuilder model;
  model.Input("x", {2, 2}).Output("y");
  model.Floats("w", {2, 1}, {3, 5});
  model.Floats("c", {1}, {7});
  onnx::NodeProto& gemm = model.Node("Gemm", "y", {"x", "w", "c"});
  AddFloat(gemm, "alpha", 2);
  AddFloat(gemm, "beta", 0.5F);
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(network.parameters.at("y/weights").values<float>(), ElementsAre(6, 10));
  EXPECT_THAT(RunGraph(network.graph, network.parameters, {1, 1, 1, 2}), ElementsAre(19.5, 29.5));
}

TEST(ImporterTest, APadBecomesPartOfTheNextWindow) {
  const auto pads = [](ModelBuilder& model, std::vector<std::int64_t> amounts) {
    model.Ints("pads", amounts);
    model.Node("Pad", "pad", {"r", "pads"});
  };
  ModelBuilder conv;
  conv.Input("x", {1, 2, 5, 5}).Output("conv");
  conv.Node("Relu", "r", {"x"});
  pads(conv, {0, 0, 1, 2, 0, 0, 3, 4});
  conv.Floats("w", {2, 2, 3, 3});
  AddInts(conv.Node("Conv", "conv", {"pad", "w"}), "pads", {1, 0, 0, 0});
  const ImportedNetwork convolved = ImportOnnx(conv.Bytes(), {});
  const auto& extents = dynamic_cast<const ConvOp&>(*convolved.graph.nodes().back().op).extents();
  EXPECT_EQ(extents.pad_top, 2);
  EXPECT_EQ(extents.pad_left, 2);
  EXPECT_EQ(extents.pad_bottom, 3);
  EXPECT_EQ(extents.pad_right, 4);

  // A maximum that includes zeros is the maximum over the image only after a ReLU.
  for (const bool relu : {true, false}) {
    ModelBuilder pool;
    pool.Input("x", {1, 1, 4, 4}).Output("pool");
    pool.Node(relu ? "Relu" : "Identity", "r", {"x"});
    pads(pool, {0, 0, 1, 1, 0, 0, 1, 1});
    AddInts(pool.Node("MaxPool", "pool", {"pad"}), "kernel_shape", {3, 3});
    const ImportedNetwork network = ImportOnnx(pool.Bytes(), {});
    EXPECT_THAT(Kinds(network.graph), ElementsAre(relu ? "relu" : "slice", "pool"));
    // The windows at the edges have a 0 of the padding.
    std::vector<double> expected(16, 0.0);
    for (const std::size_t inner : {5, 6, 9, 10}) expected[inner] = relu ? 0 : -5;
    EXPECT_EQ(RunGraph(network.graph, network.parameters, std::vector<double>(16, -5.0)), expected);
  }

  // No window of a convolution contains padding of 2.
  ModelBuilder twos;
  twos.Input("x", {1, 1, 1, 1}).Output("conv");
  twos.Node("Identity", "r", {"x"});
  pads(twos, {0, 0, 0, 1, 0, 0, 0, 0});
  AddFloat(*twos.proto.mutable_graph()->mutable_node(1), "value", 2);
  twos.Floats("w", {1, 1, 1, 2}, {10, 1});
  twos.Node("Conv", "conv", {"pad", "w"});
  const ImportedNetwork of_twos = ImportOnnx(twos.Bytes(), {});
  EXPECT_THAT(RunGraph(of_twos.graph, of_twos.parameters, {7}), ElementsAre(27));

  ModelBuilder average;
  average.Input("x", {1, 1, 2, 2}).Output("pool");
  average.Node("Identity", "r", {"x"});
  pads(average, {0, 0, 1, 1, 0, 0, 0, 0});
  AddInts(average.Node("AveragePool", "pool", {"pad"}), "kernel_shape", {3, 3});
  const ImportedNetwork averaged = ImportOnnx(average.Bytes(), {});
  EXPECT_THAT(RunGraph(averaged.graph, averaged.parameters, {9, 9, 9, 9}), ElementsAre(4));
}

TEST(ImporterTest, ClipsFromZeroBecomeRelus) {
  const auto kind = [](std::int64_t opset, float lowest, float highest) {
    ModelBuilder model(opset);
    model.Input("x", {1, 8}).Output("y");
    if (opset < 11) {
      onnx::NodeProto& clip = model.Node("Clip", "y", {"x"});
      AddFloat(clip, "min", lowest);
      AddFloat(clip, "max", highest);
    } else {
      model.Floats("min", {}, {lowest});
      model.Floats("max", {}, {highest});
      model.Node("Clip", "y", {"x", "min", "max"});
    }
    return Kinds(ImportOnnx(model.Bytes(), {}).graph).front();
  };
  for (const std::int64_t opset : {10, 13}) {
    EXPECT_EQ(kind(opset, 0, 6), "bounded_relu");
    EXPECT_EQ(kind(opset, -1, 6), "clip");
    EXPECT_EQ(kind(opset, 0, std::numeric_limits<float>::infinity()), "relu");
  }
}

// Global average pooling as PyTorch's mean(), a Squeeze, and a detour over NHWC that moves only
// dimensions of extent 1.
TEST(ImporterTest, NodesThatOnlyChangeTheShapeAddNoLayer) {
  ModelBuilder model(11);
  model.Input("x", {2, 3, 4, 4}).Output("y");
  onnx::NodeProto& mean = model.Node("ReduceMean", "mean", {"x"});
  AddInts(mean, "axes", {-1, 2});
  AddInts(model.Node("Transpose", "nhwc", {"mean"}), "perm", {0, 2, 3, 1});
  AddInts(model.Node("Squeeze", "squeezed", {"nhwc"}), "axes", {1, 2});
  model.Node("Identity", "same", {"squeezed"});
  model.Floats("w", {3, 2});
  model.Node("MatMul", "y", {"same", "w"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(Kinds(network.graph), ElementsAre("pool", "inner_product"));

  ModelBuilder real;
  real.Input("x", {2, 3, 4, 4}).Output("y");
  AddInts(real.Node("Transpose", "y", {"x"}), "perm", {0, 2, 3, 1});
  EXPECT_THAT(Kinds(ImportOnnx(real.Bytes(), {}).graph), ElementsAre("transpose"));
}

TEST(ImporterTest, UnusedNodesAreDroppedAndUnnamedOnesGetAName) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("y");
  model.Node("LSTM", "unused", {"x"});
  model.Node("Relu", "y0", {"x"}).clear_name();
  model.Node("Relu", "y1", {"y0"}).set_name("twice");
  model.Node("Relu", "y", {"y1"}).set_name("twice");
  EXPECT_THAT(Names(ImportOnnx(model.Bytes(), {}).graph),
              ElementsAre("Relu_1", "twice", "twice_2"));
}

TEST(ImporterTest, TrainingUsesTheLogitsBeforeASoftmax) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("p");
  model.Floats("w", {4, 3});
  model.Node("MatMul", "logits", {"x", "w"});
  AddInt(model.Node("Softmax", "p", {"logits"}), "axis", 1);
  EXPECT_THAT(Kinds(ImportOnnx(model.Bytes(), {}).graph), ElementsAre("inner_product", "softmax"));
  EXPECT_THAT(Kinds(ImportOnnx(model.Bytes(), {.drop_final_softmax = true}).graph),
              ElementsAre("inner_product"));
}

// One message with all problems, so that the user can fix them together.
TEST(ImporterTest, AllUnsupportedNodesAreListed) {
  ModelBuilder model;
  model.Input("x", {1, 2, 4, 4}).Output("sum");
  model.Node("Det", "det1", {"x"});
  model.Node("Det", "det2", {"det1"});
  model.Floats("w", {2, 2, 1, 1, 1});
  model.Node("Conv", "conv3d", {"x", "w"});
  model.Node("Frobnicate", "custom", {"conv3d"}).set_domain("com.example");
  AddInts(model.Node("MaxPool", "pool", {"x"}), "kernel_shape", {9, 9});
  model.Node("Sum", "sum", {"det2", "custom", "pool"});
  EXPECT_THAT(RefusalOf(model.Bytes()),
              AllOf(HasSubstr("Det at det1, det2 (not among topdnn's operations)"),
                    HasSubstr("com.example::Frobnicate at custom"), HasSubstr("Conv at conv3d"),
                    HasSubstr("MaxPool at pool (")));
}

// Training needs the gradients of a layer's sources only if an earlier layer has trained
// parameters.
TEST(ImporterTest, ALayerWithoutABackwardPassIsTrainedAroundOrRefused) {
  for (const bool at_the_input : {true, false}) {
    ModelBuilder model;
    model.Input("x", {2, 4}).Output("y");
    model.Floats("mean", {4});
    model.Floats("w", {4, 3});
    model.Floats("offset", {2, 3});
    model.Node("Sub", "centred", {"x", "mean"});
    model.Node("MatMul", at_the_input ? "y" : "product", {"centred", "w"});
    if (!at_the_input) model.Node("Sub", "y", {"product", "offset"});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    PlanRequest request;
    request.backend = "openblas";
    request.training = true;
    if (at_the_input) {
      const auto plan = MakePlan(network.graph, request);
      EXPECT_THAT(plan->parameters(), testing::SizeIs(2));
      continue;
    }
    try {
      MakePlan(network.graph, request);
      ADD_FAILURE() << "a gradient is missing";
    } catch (const PlanError& error) {
      EXPECT_STREQ(error.what(),
                   "layer y (binary/sub2x3_by2x3_constant) has no backward pass: use the "
                   "network for inference alone");
    }
  }
}

TEST(ImporterTest, ProductsAndSumsPerChannelJoinABatchNormalization) {
  for (const bool second_reader : {false, true}) {
    ModelBuilder model;
    model.Input("x", {1, 2, 1, 1}).Output("y");
    for (const std::string name : {"scale", "shift", "mean"}) model.Floats(name, {2}, {1, 2});
    model.Floats("variance", {2}, {3, 15});
    AddFloat(model.Node("BatchNormalization", "norm", {"x", "scale", "shift", "mean", "variance"}),
             "epsilon", 1);
    model.Floats("factors", {2, 1, 1}, {3, 5});
    model.Node("Mul", "product", {"factors", "norm"});
    model.Floats("added", {1, 2, 1, 1}, {10, 20});
    model.Node("Add", "sum", {"product", "added"});
    model.Node("Add", "y", {"sum", second_reader ? "norm" : "x"});
    if (second_reader) {
      EXPECT_THAT(Kinds(ImportOnnx(model.Bytes(), {}).graph),
                  ElementsAre("batchnorm", "binary", "bias", "add"));
      continue;
    }
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    EXPECT_THAT(Kinds(network.graph), ElementsAre("batchnorm", "add"));
    // x = (5, 10): (3 * (1 * 4 / 2 + 1) + 10 + 5, 5 * (2 * 8 / 4 + 2) + 20 + 10).
    EXPECT_THAT(RunGraph(network.graph, network.parameters, {5, 10}), ElementsAre(24, 60));
  }
}

// (4) * (1, 1) is (1, 4).
TEST(ImporterTest, AProductOfConstantsBroadcastsOneElement) {
  for (const bool swapped : {false, true}) {
    ModelBuilder model;
    model.Input("x", {1, 4}).Output("y");
    model.Floats("a", {4}, {1, 2, 3, 4});
    model.Floats("b", {1, 1}, {10});
    if (swapped) {
      model.Node("Mul", "product", {"b", "a"});
    } else {
      model.Node("Mul", "product", {"a", "b"});
    }
    model.Node("Add", "y", {"x", "product"});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    EXPECT_THAT(RunGraph(network.graph, network.parameters, {1, 1, 1, 1}),
                ElementsAre(11, 21, 31, 41));
  }
}

// Channels of two groups in turns, as ShuffleNet writes it. The weights of the second model are a
// constant of equal elements that is larger than any shape.
TEST(ImporterTest, AChannelShuffleIsTwoReshapesAndATranspose) {
  ModelBuilder model;
  model.Input("x", {1, 4, 1, 2}).Output("y");
  model.Ints("split", {1, 2, 2, 1, 2});
  model.Ints("joined", {1, 4, 1, 2});
  model.Node("Reshape", "groups", {"x", "split"});
  AddInts(model.Node("Transpose", "turned", {"groups"}), "perm", {0, 2, 1, 3, 4});
  model.Node("Reshape", "shuffled", {"turned", "joined"});
  model.Node("Relu", "y", {"shuffled"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  EXPECT_THAT(Kinds(network.graph), ElementsAre("flatten", "transpose", "relu"));
  EXPECT_THAT(RunGraph(network.graph, network.parameters, {1, 2, 3, 4, 5, 6, 7, 8}),
              ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));

  ModelBuilder large;
  large.Input("x", {1, 512}).Output("y");
  large.Ints("shape", {300, 512});
  large.Node("ConstantOfShape", "w", {"shape"});
  AddInt(large.Node("Gemm", "y", {"x", "w"}), "transB", 1);
  const ImportedNetwork product = ImportOnnx(large.Bytes(), {});
  EXPECT_EQ(product.parameters.at("y/weights").desc().shape, (Shape{300, 512}));
}

// The versions of operators that ONNX's change log has for opset 18.
TEST(ImporterTest, SinceOpset18TheAxesAreInputs) {
  ModelBuilder pad(18);
  pad.Input("x", {1, 2, 5, 5}).Output("conv");
  pad.Ints("pads", {2, 1, 4, 3});
  pad.Ints("axes", {-1, 2});
  pad.Node("Pad", "pad", {"x", "pads", "", "axes"});
  pad.Floats("w", {2, 2, 3, 3});
  pad.Node("Conv", "conv", {"pad", "w"});
  const ImportedNetwork padded = ImportOnnx(pad.Bytes(), {});
  const auto& extents = dynamic_cast<const ConvOp&>(*padded.graph.nodes().back().op).extents();
  EXPECT_EQ(extents.pad_left, 2);
  EXPECT_EQ(extents.pad_top, 1);
  EXPECT_EQ(extents.pad_right, 4);
  EXPECT_EQ(extents.pad_bottom, 3);
  pad.Ints("one", {1});
  *pad.proto.mutable_graph()->mutable_node(0)->mutable_input(3) = "one";
  EXPECT_THAT(RefusalOf(pad.Bytes()), HasSubstr("4 pads for 1 dimensions"));

  ModelBuilder mean(18);
  mean.Input("x", {1, 2, 1, 2}).Output("mean");
  mean.Ints("axes", {1});
  AddInt(mean.Node("ReduceMean", "mean", {"x", "axes"}), "keepdims", 0);
  const ImportedNetwork reduced = ImportOnnx(mean.Bytes(), {});
  EXPECT_THAT(RunGraph(reduced.graph, reduced.parameters, {1, 2, 5, 8}), ElementsAre(3, 5));

  ModelBuilder resize(18);
  resize.Input("x", {1, 1, 1, 2}).Output("y");
  resize.Floats("scales", {2}, {1.0F, 2.0F});
  onnx::NodeProto& larger = resize.Node("Resize", "y", {"x", "", "scales"});
  AddInts(larger, "axes", {2, 3});
  const ImportedNetwork resized = ImportOnnx(resize.Bytes(), {});
  EXPECT_THAT(RunGraph(resized.graph, resized.parameters, {1, 2}), ElementsAre(1, 1, 2, 2));
  auto& policy = *larger.add_attribute();
  policy.set_name("keep_aspect_ratio_policy");
  policy.set_type(onnx::AttributeProto::STRING);
  policy.set_s("not_larger");
  const ImportedNetwork by_scale = ImportOnnx(resize.Bytes(), {});  // the policy is for sizes
  EXPECT_THAT(RunGraph(by_scale.graph, by_scale.parameters, {1, 2}), ElementsAre(1, 1, 2, 2));
}

// In f32 1e200 would become infinity.
TEST(ImporterTest, DoubleIsRefused) {
  ModelBuilder input;
  input.Input("x", {1, 4}).Output("y");
  input.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::DOUBLE);
  input.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(input.Bytes()), HasSubstr("input x: of double"));

  ModelBuilder cast;
  cast.Input("x", {1, 4}).Output("y");
  AddInt(cast.Node("Cast", "wide", {"x"}), "to", onnx::TensorProto::DOUBLE);
  cast.Node("Relu", "y", {"wide"});
  EXPECT_THAT(RefusalOf(cast.Bytes()), HasSubstr("Cast at wide (a cast to double"));

  for (const char* op_type : {"MatMul", "Add"}) {
    ModelBuilder weights;
    weights.Input("x", {4, 4}).Output("y");
    onnx::TensorProto& tensor = weights.Floats("w", {4, 4});
    tensor.set_data_type(onnx::TensorProto::DOUBLE);
    tensor.clear_raw_data();
    for (int i = 0; i < 16; ++i) tensor.add_double_data(1e200);
    weights.Node(op_type, "y", {"x", "w"});
    EXPECT_THAT(RefusalOf(weights.Bytes()), HasSubstr(std::string(op_type) + " at y (of double"));
  }
}

// Programs that edit models append nodes, even if earlier nodes read their results.
TEST(ImporterTest, NodesMayBeInAnyOrder) {
  const auto model_of = [](bool sorted) {
    ModelBuilder model;
    model.Input("x", {1, 2, 4, 4}).Output("y");
    model.Floats("w", {2, 2, 3, 3});
    model.Node("Conv", "conv", {"x", "w"});
    model.Node("Relu", "relu", {"conv"});
    model.Node("Add", "sum", {"relu", "conv"});
    model.Node("Flatten", "y", {"sum"});
    if (!sorted) {
      auto& nodes = *model.proto.mutable_graph()->mutable_node();
      nodes.SwapElements(0, 3);
      nodes.SwapElements(1, 2);
    }
    return model.Bytes();
  };
  const std::vector<double> input(32, 0.25);
  std::vector<double> results[2];
  for (const bool sorted : {false, true}) {
    const ImportedNetwork network = ImportOnnx(model_of(sorted), {});
    EXPECT_THAT(Names(network.graph), ElementsAre("conv", "relu", "sum"));
    results[sorted ? 1 : 0] = RunGraph(network.graph, network.parameters, input);
  }
  EXPECT_EQ(results[0], results[1]);
}

// Inference drops nothing, but the output still needs separate memory.
TEST(ImporterTest, ALoneDropoutCopies) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("z");
  model.Node("Dropout", "y", {"x"});
  model.Node("Dropout", "z", {"y"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  for (const char* backend : {"reference", "onednn", "openblas", "eigen"}) {
    EXPECT_THAT(RunGraph(network.graph, network.parameters, {1, -2, 3, 4}, backend),
                ElementsAre(1, -2, 3, 4))
        << backend;
  }
}

}  // namespace
}  // namespace topdnn
