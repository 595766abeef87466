// Models with several outputs and inputs, with open extents, and with another batch than the file
// fixes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "networks/onnx/export/exporter.h"
#include "networks/onnx/import/importer.h"
#include "networks/planning/planner.h"
#include "tests/networks/onnx/model_builder.h"
#include "tests/networks/onnx/run_model.h"
#include "tests/networks/onnx/sample_graphs.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphNode& node : graph.nodes()) names.push_back(node.name);
  return names;
}

const std::vector<std::string> kBackends = {"reference", "onednn", "openblas", "eigen"};

// A convolution whose result is an output and also the input of other layers: a ReLU that could
// overwrite it, an addition that a convolution could be fused with, and a concatenation that could
// hold it.
ModelBuilder Branches() {
  ModelBuilder model;
  model.Input("x", {0, 1, 1, 2});
  for (const char* name : {"conv", "relu", "sum", "flat", "wide"}) model.Output(name);
  model.Floats("w", {1, 1, 1, 1}, {2});
  model.Floats("v", {1, 1, 1, 1}, {10});
  model.Node("Conv", "conv", {"x", "w"});
  model.Node("Relu", "relu", {"conv"});
  model.Node("Conv", "second", {"x", "v"});
  model.Node("Add", "added", {"second", "conv"});
  model.Node("Relu", "sum", {"added"});
  model.Node("Flatten", "flat", {"conv"});
  AddInt(model.Node("Concat", "wide", {"conv", "relu"}), "axis", 1);
  return model;
}

TEST(SeveralOutputsTest, AreComputedTogetherWithTheirReaders) {
  const ImportedNetwork network = ImportOnnx(Branches().Bytes(), {});
  for (const std::string& backend : kBackends) {
    SCOPED_TRACE(backend);
    const NamedValues outputs = RunNetwork(network, {{"x", {3, -4}}}, backend);
    EXPECT_THAT(outputs.at("conv"), ElementsAre(6, -8));
    EXPECT_THAT(outputs.at("relu"), ElementsAre(6, 0));
    EXPECT_THAT(outputs.at("sum"), ElementsAre(36, 0));
    EXPECT_THAT(outputs.at("flat"), ElementsAre(6, -8));
    EXPECT_THAT(outputs.at("wide"), ElementsAre(6, -8, 6, 0));
  }
  EXPECT_EQ(network.outputs[0].shape, (Shape{1, 1, 1, 2}));
  EXPECT_EQ(network.outputs[3].shape, (Shape{1, 2}));
}

// The only reader of an output could write into its memory: a ReLU, and a convolution that adds its
// result to it and is followed by a ReLU.
TEST(SeveralOutputsTest, KeepTheirMemory) {
  ModelBuilder model;
  model.Input("x", {1, 1, 1, 2}).Output("conv").Output("after").Output("shortcut").Output("y");
  model.Floats("w", {1, 1, 1, 1}, {2});
  model.Floats("v", {1, 1, 1, 1}, {10});
  model.Node("Conv", "conv", {"x", "w"});
  model.Node("Relu", "relu", {"conv"});
  model.Node("Conv", "after", {"relu", "w"});
  model.Node("Conv", "shortcut", {"x", "v"});
  model.Node("Conv", "second", {"x", "w"});
  model.Node("Add", "sum", {"second", "shortcut"});
  model.Node("Relu", "positive", {"sum"});
  model.Node("Conv", "y", {"positive", "w"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
  for (const std::string& backend : kBackends) {
    SCOPED_TRACE(backend);
    const NamedValues outputs = RunNetwork(network, {{"x", {3, -4}}}, backend);
    EXPECT_THAT(outputs.at("conv"), ElementsAre(6, -8));
    EXPECT_THAT(outputs.at("after"), ElementsAre(12, 0));
    EXPECT_THAT(outputs.at("shortcut"), ElementsAre(30, -40));
    EXPECT_THAT(outputs.at("y"), ElementsAre(72, 0));
  }
}

TEST(SeveralOutputsTest, TheUserChooses) {
  const std::string bytes = Branches().Bytes();
  const ImportedNetwork relu = ImportOnnx(bytes, {.outputs = {"relu", "relu"}});
  EXPECT_THAT(Names(relu.graph), ElementsAre("conv", "relu"));
  ASSERT_EQ(relu.outputs.size(), 1u);
  EXPECT_THAT(RunNetwork(relu, {{"x", {3, -4}}}).at("relu"), ElementsAre(6, 0));
  const ImportedNetwork two = ImportOnnx(bytes, {.outputs = {"sum", "conv"}});
  EXPECT_EQ(two.outputs[0].name, "sum");
  EXPECT_EQ(two.outputs[1].name, "conv");
  EXPECT_THAT(RunNetwork(two, {{"x", {3, 4}}}).at("sum"), ElementsAre(36, 48));
  EXPECT_THAT(RefusalOf(bytes, {.outputs = {"second"}}),
              HasSubstr("it has no output second; there are: conv, relu, sum, flat, wide"));
}

// An operation that is not supported does not matter if only outputs that are not chosen need it.
TEST(SeveralOutputsTest, OperationsOfOtherOutputsAreLeftOut) {
  ModelBuilder model = Branches();
  model.Output("strange");
  model.Node("Frobnicate", "strange", {"conv"}).set_domain("com.example");
  EXPECT_THAT(RefusalOf(model.Bytes()),
              AllOf(HasSubstr("com.example::Frobnicate at strange"),
                    HasSubstr("; --onnx-output can choose those of the 6 outputs")));
  EXPECT_THAT(Names(ImportOnnx(model.Bytes(), {.outputs = {"relu"}}).graph),
              ElementsAre("conv", "relu"));
}

TEST(SeveralOutputsTest, AnOutputWithoutALayerIsRefused) {
  ModelBuilder model = Branches();
  model.Output("same");
  model.Node("Identity", "same", {"x"});
  EXPECT_THAT(RefusalOf(model.Bytes()),
              HasSubstr("its output same; choose the others by --onnx-output"));
}

// An integer layer replaces a group of nodes. No value inside the group may be an output.
TEST(SeveralOutputsTest, OfAQuantizedModelKeepTheResult) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(QuantizedModel()));
  for (const char* name : {"relu", "yd", "pool"}) {
    *model.mutable_graph()->add_output() = model.graph().output(0);
    model.mutable_graph()->mutable_output()->rbegin()->set_name(name);
  }
  const std::string bytes = model.SerializeAsString();
  const ImportedNetwork one = ImportOnnx(bytes, {.outputs = {"fc"}});
  const ImportedNetwork all = ImportOnnx(bytes, {});
  std::vector<double> image(72);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i % 13) - 6;
  for (const char* backend : {"reference", "onednn"}) {
    const NamedValues of_all = RunNetwork(all, {{"x", image}}, backend);
    EXPECT_THAT(of_all.at("fc"),
                Pointwise(DoubleNear(1e-4), RunNetwork(one, {{"x", image}}, backend).at("fc")));
    // A dequantized value is a multiple of the scale, 1 / 16, near the value before quantization.
    for (std::size_t i = 0; i < of_all.at("relu").size(); ++i) {
      const double value = of_all.at("yd")[i];
      EXPECT_EQ(value * 16, std::nearbyint(value * 16)) << i;
      EXPECT_NEAR(value, std::min(of_all.at("relu")[i], 255.0 / 16), 1.0 / 32 + 1e-5) << i;
    }
  }
}

TEST(SeveralOutputsTest, TrainingNeedsOne) {
  const ImportedNetwork network = ImportOnnx(Branches().Bytes(), {});
  PlanRequest request;
  request.training = true;
  try {
    MakePlan(network.graph, request);
    ADD_FAILURE() << "which output has the loss?";
  } catch (const PlanError& error) {
    EXPECT_THAT(error.what(), HasSubstr("onnx has 5 outputs, and training needs one"));
  }
}

TEST(SeveralOutputsTest, AreExported) {
  const ImportedNetwork network =
      ImportOnnx(Branches().Bytes(), {.outputs = {"conv", "sum", "wide"}});
  const ImportedNetwork again = ImportOnnx(ExportOnnx(network.graph, network.parameters), {});
  const NamedValues outputs = RunNetwork(again, {{"input", {3, 4}}});
  EXPECT_THAT(outputs.at("conv"), ElementsAre(6, 8));
  EXPECT_THAT(outputs.at("sum"), ElementsAre(36, 48));
  EXPECT_THAT(outputs.at("wide"), ElementsAre(6, 8, 6, 8));
}

// The image is the first input of four dimensions, wherever it stands.
ModelBuilder TwoInputs() {
  ModelBuilder model;
  model.Input("factor", {1, 1}).Input("image", {0, 1, 1, 2}).Input("unused", {3});
  model.Output("y");
  model.Floats("w", {1, 1, 1, 1}, {2});
  model.Node("Conv", "conv", {"image", "w"});
  model.Node("Mul", "y", {"conv", "factor"});
  return model;
}

TEST(SeveralInputsTest, AreReadByTheirNames) {
  const ImportedNetwork network = ImportOnnx(TwoInputs().Bytes(), {});
  EXPECT_EQ(network.inputs.front().name, "image");
  EXPECT_EQ(network.inputs.back().name, "factor");
  for (const std::string& backend : kBackends) {
    EXPECT_THAT(RunNetwork(network, {{"image", {3, -4}}, {"factor", {5}}}, backend).at("y"),
                ElementsAre(30, -40))
        << backend;
  }
  const ImportedNetwork again = ImportOnnx(ExportOnnx(network.graph, network.parameters), {});
  EXPECT_THAT(RunNetwork(again, {{"input", {3, -4}}, {"factor", {5}}}).at("output"),
              ElementsAre(30, -40));
}

// An export names the image "input" and a single output "output".
TEST(SeveralInputsTest, NamesStayDifferent) {
  for (const std::string name : {"input", "output", "conv"}) {
    ModelBuilder model;
    model.Input("image", {1, 1, 1, 2}).Input(name, {1, 1}).Output("y");
    model.Floats("w", {1, 1, 1, 1}, {2});
    model.Node("Conv", name == "conv" ? "conv2" : "conv", {"image", "w"}).set_name("conv");
    model.Node("Mul", "y", {name == "conv" ? "conv2" : "conv", name});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {});
    const ImportedNetwork again = ImportOnnx(ExportOnnx(network.graph, network.parameters), {});
    EXPECT_THAT(
        RunNetwork(again, {{"input", {3, -4}}, {again.inputs.at(1).name, {5}}}).at("output"),
        ElementsAre(30, -40))
        << name;
  }
}

// The only input is named "input", too: a quantization finds the ranges of both by their names.
TEST(SeveralInputsTest, ALayerIsNotNamedLikeTheOnlyInput) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 2, 2}).Output("y");
  model.Node("Relu", "input", {"x"});
  model.Node("Neg", "y", {"input"});
  const Graph graph = ImportOnnx(model.Bytes(), {}).graph;
  EXPECT_EQ(graph.values().front().name, "input");
  EXPECT_THAT(Names(graph), ElementsAre("input_2", "y"));
}

TEST(SeveralInputsTest, ShapesAreSettledByName) {
  const std::string bytes = TwoInputs().Bytes();
  const ImportedNetwork network = ImportOnnx(bytes, {.shapes = {{"image", Shape{3, 1, 1, 2}}}});
  EXPECT_EQ(network.graph.shape(0), (Shape{3, 1, 1, 2}));
  EXPECT_EQ(network.graph.shape(1), (Shape{1, 1}));
  EXPECT_THAT(RefusalOf(bytes, {.shapes = {{"picture", Shape{1}}}}),
              HasSubstr("it has no input picture: its inputs are named factor, image, unused"));
  EXPECT_THAT(RefusalOf(bytes, {.shapes = {{"factor", Shape{1, 2}}}}),
              HasSubstr("input factor is 1x1, not 1x2"));
  EXPECT_THAT(RefusalOf(bytes, {.shapes = {{"factor", Shape{1}}}}),
              HasSubstr("input factor has 2 dimensions, not 1"));
  EXPECT_THAT(RefusalOf(bytes, {.shapes = {{"image", Shape{1, 1, 1, 2}}}, .shapes_of_all = true}),
              HasSubstr("input factor is needed: give --input factor=FILE.npy"));
  EXPECT_THAT(RefusalOf(bytes, {.shapes = {{"image", Shape{3, 1, 1, 2}}}, .batch = 2}),
              HasSubstr("input image is given as 3x1x1x2, and the batch as 2"));
}

// A factor for all images stays one number with another batch, also in an export.
TEST(SeveralInputsTest, ASingleNumberHasNoBatch) {
  ModelBuilder model = TwoInputs();
  model.proto.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(1);
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {.batch = 3});
  EXPECT_EQ(network.graph.shape(0), (Shape{3, 1, 1, 2}));
  EXPECT_EQ(network.graph.shape(1), (Shape{1, 1}));
  const std::string exported = ExportOnnx(network.graph, network.parameters);
  EXPECT_EQ(ImportOnnx(exported, {.batch = 2}).graph.shape(1), (Shape{1, 1}));
  EXPECT_EQ(ImportOnnx(exported, {.batch = 2}).graph.shape(0), (Shape{2, 1, 1, 2}));
}

// Two inputs with one batch, which is open or fixed, and extents of one name.
TEST(SeveralInputsTest, ShareTheBatchAndNamedExtents) {
  for (const std::int64_t batch : {0, 1}) {
    ModelBuilder model;
    model.Input("a", {batch, 1, 2, 0}).Input("b", {batch, 1, 2, 0}).Output("y");
    model.Node("Add", "y", {"a", "b"});
    const ImportedNetwork network =
        ImportOnnx(model.Bytes(), {.shapes = {{"a", Shape{4, 1, 2, 3}}}});
    EXPECT_EQ(network.graph.shape(1), (Shape{4, 1, 2, 3}));
  }
}

TEST(OpenExtentsTest, TheMessageNamesTheOptions) {
  ModelBuilder model;
  model.Input("x", {0, 3, 0, 8}).Output("y");
  model.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(model.Bytes()),
              HasSubstr("input x: dimension 2 is open; give the height and width by --size, or "
                        "give its shape by --input-shape x=Nx3xHx8"));
  ModelBuilder without;
  without.Input("x", {1}).Output("y");
  without.proto.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  without.Node("Relu", "y", {"x"});
  EXPECT_THAT(RefusalOf(without.Bytes()), HasSubstr("give its shape by --input-shape x=NxCxHxW"));
  EXPECT_EQ(ImportOnnx(without.Bytes(), {.shapes = {{"x", Shape{1, 2, 3, 4}}}}).graph.shape(0),
            (Shape{1, 2, 3, 4}));
}

TEST(OpenExtentsTest, InputsAreCheckedAgainstTheGivenShape) {
  ModelBuilder model;
  model.Input("image", {0, 3, 0, 8}).Output("y");
  model.Node("Relu", "y", {"image"});
  EXPECT_THAT(RefusalOf(model.Bytes()), HasSubstr("input image: dimension 2 is open"));
  EXPECT_EQ(ImportOnnx(model.Bytes(), {.input = Shape{5, 3, 7, 8}}).graph.shape(0),
            (Shape{5, 3, 7, 8}));
  EXPECT_THAT(RefusalOf(model.Bytes(), {.input = Shape{5, 4, 7, 8}}),
              HasSubstr("image is 5x3x7x8, not 5x4x7x8"));
  model.Input("second", {1});
  model.Node("Relu", "z", {"second"});
  EXPECT_THAT(RefusalOf(model.Bytes(), {.shapes = {{"third", Shape{1}}}}),
              HasSubstr("it has no input third: its inputs are named image, second"));
}

TEST(OpenExtentsTest, AreSettledByTheOptions) {
  const auto with_dims = [](const std::vector<std::int64_t>& dims) {
    ModelBuilder model;
    model.Input("x", dims).Output("y");
    model.Node("GlobalAveragePool", "y", {"x"});
    return model.Bytes();
  };
  const auto shape_of = [](const std::string& bytes, const ImportOptions& options) {
    return ImportOnnx(bytes, options).graph.shape(0);
  };
  const std::string open = with_dims({0, 3, 0, 0});
  EXPECT_EQ(shape_of(open, {.open_batch = 5, .open_size = 7}), (Shape{5, 3, 7, 7}));
  EXPECT_EQ(shape_of(with_dims({0, 3, 9, 0}), {.open_size = 7}), (Shape{1, 3, 9, 7}));
  EXPECT_EQ(shape_of(with_dims({4, 3, 9, 9}), {.open_batch = 5}), (Shape{4, 3, 9, 9}));
  EXPECT_EQ(shape_of(with_dims({4, 3, 9, 9}), {.batch = 2, .open_batch = 5}), (Shape{2, 3, 9, 9}));
  EXPECT_THAT(RefusalOf(open), HasSubstr("dimension 2 is open; give the height and width"));
  EXPECT_THAT(RefusalOf(with_dims({1, 3, 9, 9}), {.open_size = 7}), HasSubstr("leave --size out"));
  EXPECT_THAT(RefusalOf(with_dims({1, 0, 9, 9}), {.open_size = 7}),
              HasSubstr("dimension 1 is open; give its shape by --input-shape x=1xCx9x9"));
}

// The model fixes its batch at 1, and so does the shape of its Reshape.
TEST(FixedBatchTest, AReshapeOfEachImageFollowsAnotherBatch) {
  for (const std::vector<std::int64_t>& target :
       std::vector<std::vector<std::int64_t>>{{1, 2, 2}, {1, -1, 2}}) {
    ModelBuilder model;
    model.Input("x", {1, 4}).Output("y");
    model.Ints("shape", target);
    model.Node("Reshape", "matrix", {"x", "shape"});
    AddInts(model.Node("Transpose", "y", {"matrix"}), "perm", {0, 2, 1});
    const ImportedNetwork network = ImportOnnx(model.Bytes(), {.batch = 2});
    EXPECT_EQ(network.outputs[0].shape, (Shape{2, 2, 2}));
    EXPECT_THAT(RunNetwork(network, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}}).at("y"),
                ElementsAre(1, 3, 2, 4, 5, 7, 6, 8));
  }
}

// The first extent of the Reshape is 2, not the batch of the file, so it does not change.
TEST(FixedBatchTest, AReshapeToOtherRowsStays) {
  ModelBuilder model;
  model.Input("x", {1, 4}).Output("y");
  model.Ints("shape", {2, -1});
  model.Node("Reshape", "rows", {"x", "shape"});
  model.Node("Relu", "y", {"rows"});
  EXPECT_EQ(ImportOnnx(model.Bytes(), {.batch = 4}).outputs[0].shape, (Shape{2, 8}));
}

// The first extent is the channels here, so the images would be mixed.
TEST(FixedBatchTest, AReshapeThatMixesImagesIsRefused) {
  ModelBuilder model;
  model.Input("x", {1, 4, 1, 2}).Output("y");
  AddInts(model.Node("Transpose", "turned", {"x"}), "perm", {1, 0, 2, 3});
  model.Ints("shape", {1, 8});
  model.Node("Reshape", "flat", {"turned", "shape"});
  model.Node("Relu", "y", {"flat"});
  EXPECT_THAT(RefusalOf(model.Bytes(), {.batch = 4}),
              HasSubstr("4x4x1x2 reshaped to 1x8, which has another size"));
}

// The extent is twice the batch: 2 with one image. It is not the file's batch, which is also 2.
TEST(FixedBatchTest, AShapeThatIsComputedFromTheBatchStays) {
  ModelBuilder model;
  model.Input("x", {2, 4}).Output("y");
  model.Node("Shape", "shape", {"x"});
  model.Ints("zero", {0});
  model.Ints("two", {2});
  model.Ints("rest", {-1});
  model.Node("Gather", "batch", {"shape", "zero"});
  model.Node("Mul", "twice", {"batch", "two"});
  AddInt(model.Node("Concat", "target", {"twice", "rest"}), "axis", 0);
  model.Node("Reshape", "flat", {"x", "target"});
  model.Node("Relu", "y", {"flat"});
  EXPECT_EQ(ImportOnnx(model.Bytes(), {.batch = 1}).outputs[0].shape, (Shape{2, 2}));
}

TEST(FixedBatchTest, ImagesThatAreResizedToSizesFollowAnotherBatch) {
  ModelBuilder model;
  model.Input("x", {1, 1, 1, 2}).Output("y");
  model.Ints("sizes", {1, 1, 1, 4});
  model.Node("Resize", "y", {"x", "", "", "sizes"});
  const ImportedNetwork network = ImportOnnx(model.Bytes(), {.batch = 2});
  EXPECT_EQ(network.outputs[0].shape, (Shape{2, 1, 1, 4}));
  EXPECT_THAT(RunNetwork(network, {{"x", {1, 2, 3, 4}}}).at("y"),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
}

// They would select and replace elements of the file's one image alone.
TEST(FixedBatchTest, ConstantIndicesOfTheFilesImagesAreRefused) {
  for (const std::string op_type : {"GatherElements", "GatherND", "ScatterElements", "ScatterND"}) {
    ModelBuilder model;
    model.Input("x", {1, 2}).Output("y");
    onnx::TensorProto& indices = model.Ints("indices", {0, 1});
    indices.clear_dims();
    for (const std::int64_t extent : {1, 2}) indices.add_dims(extent);
    const bool scatters = op_type[0] == 'S';
    model.Floats("updates", op_type == "ScatterND" ? std::vector<std::int64_t>{1}
                                                   : std::vector<std::int64_t>{1, 2});
    std::vector<std::string> inputs = {"x", "indices"};
    if (scatters) inputs.emplace_back("updates");
    onnx::NodeProto& node = model.Node(op_type, "y", inputs);
    if (op_type.ends_with("Elements")) AddInt(node, "axis", 1);
    EXPECT_NO_THROW(ImportOnnx(model.Bytes(), {})) << op_type;
    EXPECT_THAT(RefusalOf(model.Bytes(), {.batch = 2}),
                HasSubstr("indices of 1x2 are for the batch of 1"))
        << op_type;
  }
}

}  // namespace
}  // namespace topdnn
